/**
 * Owns: the event journal: what islet decided about its pods and why (design.md, promise 5).
 * Invariants: the same event of the same object within WINDOW_MS raises `count` and the last time of
 * its row; `revision` rises with every new row and every repeat, so it orders the journal whatever the
 * wall clock does. A new row is written at once, repeats are gathered. Memory holds the last RECENT
 * rows for the comparison, and what is not on disk yet (at most UNWRITTEN rows, oldest given up first).
 * Leaves to others: who says what (everyone above), how it is shown (cli/, server/).
 */
import type Database from 'better-sqlite3';
import type { EventRecorder, EventTarget, EventType } from '../api/event.ts';
import type { Clock } from '../util/clock.ts';
import { type JournalEntry, type JournalFilter, JournalSql, matches } from './event-sql.ts';
import type { StoredRecord, WriteBehind } from './write-behind.ts';

export interface EventLimits {
  /** Most rows kept. */
  readonly maxEvents: number;
  readonly maxAgeMs: number;
}

export interface EventJournalDeps {
  readonly store: WriteBehind;
  readonly clock: Clock;
  readonly limits: EventLimits;
}

const WINDOW_MS = 60 * 60_000;
const RECENT = 256;
const UNWRITTEN = 1_000;
/** Rows are pruned once per this many new ones: a batch costs one scan. */
const PRUNE_EVERY = 64;
/** The API's own bound of an event message. */
const MAX_MESSAGE = 1024;

interface Recent {
  readonly entry: JournalEntry;
  /** Monotonic milliseconds of the last occurrence: the window does not follow clock jumps. */
  lastAt: number;
}

export class EventJournal implements EventRecorder, StoredRecord {
  readonly #deps: EventJournalDeps;
  /** By `keyOf`, least recently seen first. */
  readonly #recent = new Map<string, Recent>();
  readonly #unwritten = new Map<number, JournalEntry>();
  #sql: JournalSql | undefined;
  #nextId = 1;
  #nextRevision = 1;
  #sincePrune = 0;

  constructor(deps: EventJournalDeps) {
    this.#deps = deps;
    deps.store.add(this);
  }

  event(target: EventTarget, type: EventType, reason: string, message: string): void {
    this.add(target, type, reason, message, this.#deps.clock.wall());
  }

  /** As `event`, with the wall milliseconds at which it happened. */
  add(target: EventTarget, type: EventType, reason: string, message: string, wallMs: number): void {
    const now = this.#deps.clock.monotonic();
    const text = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message;
    const key = keyOf(target.uid, target.fieldPath ?? '', type, reason, text);
    const known = this.#recent.get(key);
    const revision = this.#nextRevision++;
    if (known && now - known.lastAt < WINDOW_MS) {
      Object.assign(known.entry, { revision, count: known.entry.count + 1, lastMs: wallMs });
      known.lastAt = now;
      this.#remember(key, known);
      this.#keepUnwritten(known.entry);
      this.#deps.store.touch('late');
      return;
    }
    const { kind, namespace, name, uid } = target;
    const entry: JournalEntry = {
      ...{ id: this.#nextId++, revision, kind, namespace, name, uid },
      ...{ fieldPath: target.fieldPath ?? '', type, reason, message: text },
      ...{ count: 1, firstMs: wallMs, lastMs: wallMs },
    };
    this.#remember(key, { entry, lastAt: now });
    this.#keepUnwritten(entry);
    this.#sincePrune++;
    this.#deps.store.touch('prompt');
  }

  /** In order of revision, the latest last; `limit` counts from the latest. */
  list(filter: JournalFilter = {}): JournalEntry[] {
    const byId = new Map<number, JournalEntry>();
    const sql = this.#sql;
    const stored = this.#deps.store.read(() => sql?.list(filter));
    const known = stored ?? [...this.#recent.values()].map((recent) => recent.entry);
    for (const entry of known) byId.set(entry.id, entry);
    for (const entry of this.#unwritten.values()) byId.set(entry.id, entry);
    const all = [...byId.values()].filter((entry) => matches(filter, entry));
    all.sort((a, b) => a.revision - b.revision);
    const limit = filter.limit ?? all.length;
    return all.slice(Math.max(0, all.length - limit)).map((entry) => ({ ...entry }));
  }

  get dirty(): boolean {
    return this.#unwritten.size > 0;
  }

  attach(db: Database.Database): void {
    const sql = new JournalSql(db);
    const stored = sql.highest();
    // Rows made before the first connection got numbers that the database may have used already.
    if (!this.#sql) this.#renumber(stored);
    this.#nextId = Math.max(this.#nextId, stored.id + 1);
    this.#nextRevision = Math.max(this.#nextRevision, stored.revision + 1);
    this.#sql = sql;
    if (this.#recent.size > 0) return;
    const { wall, monotonic } = {
      wall: this.#deps.clock.wall(),
      monotonic: this.#deps.clock.monotonic(),
    };
    for (const entry of sql.since(wall - WINDOW_MS, RECENT)) {
      const age = Math.max(0, wall - entry.lastMs);
      this.#recent.set(entryKey(entry), { entry, lastAt: monotonic - age });
    }
  }

  write(): void {
    for (const entry of this.#unwritten.values()) this.#sql?.upsert(entry);
    if (this.#sincePrune < PRUNE_EVERY) return;
    const { limits, clock } = this.#deps;
    this.#sql?.prune(limits.maxEvents, clock.wall() - limits.maxAgeMs);
  }

  written(): void {
    this.#unwritten.clear();
    if (this.#sincePrune >= PRUNE_EVERY) this.#sincePrune = 0;
  }

  rewrite(): void {
    for (const { entry } of this.#recent.values()) this.#unwritten.set(entry.id, entry);
  }

  #remember(key: string, recent: Recent): void {
    this.#recent.delete(key);
    this.#recent.set(key, recent);
    if (this.#recent.size <= RECENT) return;
    for (const oldest of this.#recent.keys()) {
      this.#recent.delete(oldest);
      break;
    }
  }

  #keepUnwritten(entry: JournalEntry): void {
    this.#unwritten.set(entry.id, entry);
    if (this.#unwritten.size <= UNWRITTEN) return;
    for (const oldest of this.#unwritten.keys()) {
      this.#unwritten.delete(oldest);
      break;
    }
  }

  #renumber(above: { id: number; revision: number }): void {
    const entries = [...this.#unwritten.values()];
    this.#unwritten.clear();
    for (const entry of entries) {
      Object.assign(entry, { id: entry.id + above.id, revision: entry.revision + above.revision });
      this.#unwritten.set(entry.id, entry);
    }
    this.#nextId += above.id;
    this.#nextRevision += above.revision;
  }
}

function keyOf(...parts: string[]): string {
  return parts.join('\0');
}

function entryKey(entry: JournalEntry): string {
  return keyOf(entry.uid, entry.fieldPath, entry.type, entry.reason, entry.message);
}
