/**
 * Owns: the newest content of each manifest file that was accepted, so that a file which turns
 * invalid while the agent is down still has its pods afterwards (design.md, promise 2).
 * Invariant: content of up to KEEP_BYTES stays in memory and survives even a database damaged mid-run;
 * larger content is on disk only.
 */
import { MirroredTable, type TableSpec } from './table.ts';
import type { WriteBehind } from './write-behind.ts';

export interface LastGoodManifest {
  /** Absolute path. */
  readonly file: string;
  /** Digest of the content, made by the file source. */
  readonly digest: string;
  readonly content: Uint8Array;
  /** Wall milliseconds at which the content was accepted. */
  readonly seenAt: number;
}

/** Without the content, which may be large. */
export type LastGoodEntry = Omit<LastGoodManifest, 'content'>;

interface Row extends LastGoodEntry {
  readonly content: Uint8Array | undefined;
}

const KEEP_BYTES = 64 * 1024;

const SPEC: TableSpec<Row> = {
  select: `SELECT file, digest, seen_at,
             CASE WHEN length(content) <= ${KEEP_BYTES} THEN content END AS content FROM last_good`,
  upsert: `INSERT INTO last_good (file, digest, content, seen_at) VALUES (?, ?, ?, ?)
           ON CONFLICT (file) DO UPDATE SET digest = excluded.digest, content = excluded.content,
             seen_at = excluded.seen_at`,
  remove: 'DELETE FROM last_good WHERE file = ?',
  fromRow: (row) => {
    const file = String(row['file']);
    const content = row['content'] instanceof Uint8Array ? row['content'] : undefined;
    return [file, { file, digest: String(row['digest']), content, seenAt: Number(row['seen_at']) }];
  },
  toParams: (file, row) => row.content && [file, row.digest, asBuffer(row.content), row.seenAt],
  toKeyParams: (file) => [file],
  settled: (row) =>
    row.content && row.content.byteLength > KEEP_BYTES ? { ...row, content: undefined } : row,
};

export class LastGoodManifests {
  readonly #table = new MirroredTable(SPEC);
  readonly #store: WriteBehind;

  constructor(store: WriteBehind) {
    this.#store = store;
    store.add(this.#table);
  }

  put(manifest: LastGoodManifest): void {
    if (this.#table.get(manifest.file)?.digest === manifest.digest) return;
    this.#table.set(manifest.file, { ...manifest });
    this.#store.touch('now');
  }

  get(file: string): LastGoodManifest | undefined {
    const row = this.#table.get(file);
    if (!row) return undefined;
    const content = row.content ?? this.#readContent(file);
    return content && { ...row, content };
  }

  /** In byte order of the path. */
  all(): LastGoodEntry[] {
    const rows = [...this.#table.entries()].map(([, { file, digest, seenAt }]) => ({
      file,
      digest,
      seenAt,
    }));
    return rows.sort((a, b) => Buffer.compare(Buffer.from(a.file), Buffer.from(b.file)));
  }

  delete(file: string): void {
    if (this.#table.delete(file)) this.#store.touch('now');
  }

  #readContent(file: string): Uint8Array | undefined {
    const row = this.#store.read((db) =>
      db.prepare('SELECT content FROM last_good WHERE file = ?').pluck().get(file),
    );
    return row instanceof Uint8Array ? row : undefined;
  }
}

/** SQLite binds Buffers only. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
