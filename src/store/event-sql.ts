/**
 * Owns: the rows of the event journal and the SQL that reads, writes and prunes them.
 * Leaves to others: repeats, numbering and what is still in memory (events.ts).
 */
import type Database from 'better-sqlite3';
import type { EventType } from '../api/event.ts';

export interface JournalEntry {
  /** Stays with the row; rises with each new row. */
  id: number;
  /** Rises with each new row and each repeat. */
  revision: number;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
  /** '' when the event is about the whole object. */
  fieldPath: string;
  type: EventType;
  reason: string;
  message: string;
  count: number;
  /** Wall milliseconds of the first and the last occurrence. */
  firstMs: number;
  lastMs: number;
}

export interface JournalFilter {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  /** Only rows with a greater id: what is new since. */
  readonly sinceId?: number;
  /** Only rows with a greater revision: what is new or was repeated since. */
  readonly sinceRevision?: number;
  /** Most entries, the latest ones. */
  readonly limit?: number;
}

const COLUMNS = `id, revision, kind, namespace, name, uid, field_path AS fieldPath, type, reason, message,
  count, first_at AS firstMs, last_at AS lastMs`;

export class JournalSql {
  readonly #upsert: Database.Statement;
  readonly #list: Database.Statement;
  readonly #since: Database.Statement;
  readonly #highest: Database.Statement;
  readonly #pruneCount: Database.Statement;
  readonly #pruneAge: Database.Statement;

  constructor(db: Database.Database) {
    this.#upsert = db.prepare(
      `INSERT INTO event (id, revision, kind, namespace, name, uid, field_path, type, reason, message,
         count, first_at, last_at)
       VALUES (@id, @revision, @kind, @namespace, @name, @uid, @fieldPath, @type, @reason, @message,
         @count, @firstMs, @lastMs)
       ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, count = excluded.count,
         last_at = excluded.last_at`,
    );
    // The journal is bounded and read by people only: a scan is cheaper than an index on each write.
    this.#list = db.prepare(
      `SELECT ${COLUMNS} FROM event
       WHERE (@namespace IS NULL OR namespace = @namespace) AND (@name IS NULL OR name = @name)
         AND (@uid IS NULL OR uid = @uid) AND id > @sinceId AND revision > @sinceRevision
       ORDER BY revision DESC LIMIT @limit`,
    );
    this.#since = db.prepare(
      `SELECT * FROM (SELECT ${COLUMNS} FROM event WHERE last_at >= ? ORDER BY revision DESC LIMIT ?)
       ORDER BY revision`,
    );
    this.#highest = db.prepare(
      'SELECT coalesce(max(id), 0) AS id, coalesce(max(revision), 0) AS revision FROM event',
    );
    this.#pruneCount = db.prepare(
      `DELETE FROM event WHERE revision <=
         (SELECT revision FROM event ORDER BY revision DESC LIMIT 1 OFFSET ?)`,
    );
    this.#pruneAge = db.prepare('DELETE FROM event WHERE last_at < ?');
  }

  upsert(entry: JournalEntry): void {
    this.#upsert.run({
      ...entry,
      firstMs: Math.round(entry.firstMs),
      lastMs: Math.round(entry.lastMs),
    });
  }

  /** Latest first. */
  list(filter: JournalFilter): JournalEntry[] {
    return this.#list.all({
      namespace: filter.namespace ?? null,
      name: filter.name ?? null,
      uid: filter.uid ?? null,
      sinceId: filter.sinceId ?? 0,
      sinceRevision: filter.sinceRevision ?? 0,
      limit: filter.limit ?? -1,
    }) as JournalEntry[];
  }

  /** The latest `limit` rows that occurred at or after `wallMs`, oldest first. */
  since(wallMs: number, limit: number): JournalEntry[] {
    return this.#since.all(wallMs, limit) as JournalEntry[];
  }

  highest(): { id: number; revision: number } {
    return this.#highest.get() as { id: number; revision: number };
  }

  prune(keep: number, beforeMs: number): void {
    this.#pruneCount.run(keep);
    this.#pruneAge.run(Math.round(beforeMs));
  }
}

export function matches(filter: JournalFilter, entry: JournalEntry): boolean {
  return (
    (filter.namespace === undefined || entry.namespace === filter.namespace) &&
    (filter.name === undefined || entry.name === filter.name) &&
    (filter.uid === undefined || entry.uid === filter.uid) &&
    entry.id > (filter.sinceId ?? 0) &&
    entry.revision > (filter.sinceRevision ?? 0)
  );
}
