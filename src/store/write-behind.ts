/**
 * Owns: the connection between the records in memory and the database on disk.
 *
 *            open ok                    write fails: disk               damaged
 *   closed ───────────► on disk ──────────────────────► memory only   on disk ──► set aside, new file,
 *                          ▲                                  │                    all rows again
 *                          └──── retry after RETRY_MS ────────┘
 *
 * Invariants: memory is the truth while the agent runs and the database is its mirror, so a write that
 * fails is not lost: the record stays dirty and is written later. Nothing here throws for the disk's
 * sake (design.md, promise 2); trouble is said once per turn of the state, not once per write.
 * Leaves to others: rows and SQL (the records), when the agent starts and stops.
 */
import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { Wakeup } from '../util/wakeup.ts';
import { closeQuietly, isOutOfRoom, openDatabase, troubleOf } from './database.ts';
import { setAside } from './set-aside.ts';

/** A table that mirrors itself to the database. */
export interface StoredRecord {
  /** Whether memory holds something that the database does not. */
  readonly dirty: boolean;
  /** A new connection: prepare statements, and take the rows that memory does not know yet. */
  attach(db: Database.Database): void;
  /** Inside a transaction: writes what is dirty. */
  write(): void;
  /** The transaction was committed: nothing is dirty now. */
  written(): void;
  /** The database was lost: everything in memory is dirty. */
  rewrite(): void;
}

/** `now`: in this call. `prompt`: in this call unless events flood. `soon`, `late`: gathered. */
export type Urgency = 'now' | 'prompt' | 'soon' | 'late';

export type StoreNotice =
  | { kind: 'recovered'; reason: string; setAside: string | undefined }
  | { kind: 'memory-only'; reason: string }
  | { kind: 'on-disk-again' };

export interface WriteBehindDeps {
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly notify: (notice: StoreNotice) => void;
}

/** A status of a crash-looping pod changes three times within seconds: one write for all. */
const SOON_MS = 5_000;
/** Repeat counts of events, image use. */
const LATE_MS = 30_000;
const RETRY_MS = 10_000;
/** At the start a predecessor that is just ending may still hold the lock; later nobody is waited for. */
const PREDECESSOR_MS = 1_000;
/** `prompt` writes: this many at once, one more every SOON_MS; 40 pods starting stay below 1 MiB. */
const PROMPT_BURST = 30;

export class WriteBehind {
  readonly #deps: WriteBehindDeps;
  readonly #records: StoredRecord[] = [];
  readonly #wakeup = new Wakeup();
  #db: Database.Database | undefined;
  #closed = false;
  #busyMs = 0;
  #inode: bigint | undefined;
  /** Why nothing is written at present; undefined while on disk. */
  #trouble: string | undefined;
  #retryAt = 0;
  #dueAt = Infinity;
  #promptTokens = PROMPT_BURST;
  #promptAt: number;

  constructor(deps: WriteBehindDeps) {
    this.#deps = deps;
    this.#promptAt = deps.clock.monotonic();
  }

  /** Why islet runs from memory, or undefined while it writes to the disk. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  add(record: StoredRecord): void {
    this.#records.push(record);
  }

  /** First opening; rows come into memory. Afterwards `touch` and `flush` keep the mirror. */
  open(): void {
    this.#busyMs = PREDECESSOR_MS;
    this.#attempt(() => this.#connect());
    this.#busyMs = 0;
  }

  /** A record changed in memory. */
  touch(urgency: Urgency): void {
    const now = this.#deps.clock.monotonic();
    const due = now + this.#delayOf(urgency, now);
    if (due < this.#dueAt) {
      this.#dueAt = due;
      this.#wakeup.poke();
    }
    if (this.#dueAt <= now) this.flush();
  }

  /** Writes what is pending; false when it stays pending. `force` does not wait for the next retry. */
  flush(force = false): boolean {
    if (this.#closed) return false;
    const now = this.#deps.clock.monotonic();
    if (this.#trouble !== undefined && now < this.#retryAt && !force) {
      this.#dueAt = this.#retryAt;
      return false;
    }
    if (!this.#attempt(() => this.#commit())) return false;
    this.#recoverFromTrouble();
    this.#dueAt = Infinity;
    return true;
  }

  /** Runs `read` on the database; undefined when there is none to read from. */
  read<T>(read: (db: Database.Database) => T): T | undefined {
    if (!this.#db) return undefined;
    let result: T | undefined;
    // After a repair there is a new connection to read from.
    const ok = this.#attempt(() => void (result = read(this.#db ?? this.#connect())));
    return ok ? result : undefined;
  }

  /** Writes what falls due until the signal aborts; sleeps as long as nothing is pending. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted && !this.#closed) {
      try {
        await this.#wakeup.wait(clock, this.#dueAt - clock.monotonic(), signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      if (clock.monotonic() >= this.#dueAt) this.flush();
    }
  }

  close(): void {
    this.flush(true);
    this.#closed = true;
    const db = this.#db;
    this.#db = undefined;
    // Closing the last connection checkpoints and removes the write-ahead log.
    if (db) closeQuietly(db);
  }

  #delayOf(urgency: Urgency, now: number): number {
    switch (urgency) {
      case 'now':
        return 0;
      case 'prompt':
        return this.#takeToken(now) ? 0 : SOON_MS;
      case 'soon':
        return SOON_MS;
      case 'late':
        return LATE_MS;
    }
  }

  #takeToken(now: number): boolean {
    const earned = Math.floor((now - this.#promptAt) / SOON_MS);
    if (earned > 0) {
      this.#promptTokens = Math.min(PROMPT_BURST, this.#promptTokens + earned);
      this.#promptAt += earned * SOON_MS;
    }
    if (this.#promptTokens === 0) return false;
    this.#promptTokens--;
    return true;
  }

  /** Runs `action`; repairs a damaged database and tries once more; false when the disk says no. */
  #attempt(action: () => void): boolean {
    for (let repaired = false; ; repaired = true) {
      try {
        action();
        return true;
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble === undefined) throw error;
        if (trouble === 'disk' || repaired || !this.#repair(error)) {
          this.#giveUpForNow(error);
          return false;
        }
      }
    }
  }

  #connect(): Database.Database {
    const open = this.#db;
    if (open && this.#inode === inodeOf(this.#deps.path)) return open;
    if (open) {
      // Somebody removed or replaced the file: what SQLite writes now would go nowhere.
      this.#drop();
      this.#markAllDirty();
      this.#deps.logger.error('the database file was removed while islet ran; it is made again', {
        path: this.#deps.path,
      });
    }
    const db = openDatabase(this.#deps.path, this.#busyMs, (fresh) => {
      for (const record of this.#records) record.attach(fresh);
    });
    this.#inode = inodeOf(this.#deps.path);
    this.#db = db;
    return db;
  }

  #commit(): void {
    const db = this.#connect();
    const dirty = this.#records.filter((record) => record.dirty);
    if (dirty.length === 0) return;
    db.transaction(() => dirty.forEach((record) => record.write()))();
    dirty.forEach((record) => record.written());
  }

  #repair(cause: unknown): boolean {
    const { path, clock, logger, notify } = this.#deps;
    const reason = messageOf(cause);
    this.#drop();
    this.#markAllDirty();
    this.#dueAt = clock.monotonic();
    this.#wakeup.poke();
    try {
      const aside = setAside(path, clock.wall());
      logger.error('the database is damaged; it was set aside and a new one is made', {
        path,
        setAside: aside,
        reason,
      });
      notify({ kind: 'recovered', reason, setAside: aside });
      return true;
    } catch (error) {
      logger.error('the database is damaged and cannot be set aside', { path, reason, err: error });
      return false;
    }
  }

  #drop(): void {
    if (this.#db) closeQuietly(this.#db);
    this.#db = undefined;
  }

  #markAllDirty(): void {
    for (const record of this.#records) record.rewrite();
  }

  #giveUpForNow(error: unknown): void {
    const { clock, logger, notify, path } = this.#deps;
    // A connection that met an I/O error may have a half-read log: start afresh next time. A full disk
    // leaves it sound, and the events in it can still be listed.
    if (!isOutOfRoom(error)) this.#drop();
    this.#retryAt = clock.monotonic() + RETRY_MS;
    this.#dueAt = this.#retryAt;
    this.#wakeup.poke();
    const reason = messageOf(error);
    if (this.#trouble === undefined) {
      logger.error('the database cannot be written; islet runs from memory and tries again', {
        path,
        reason,
      });
      notify({ kind: 'memory-only', reason });
    }
    this.#trouble = reason;
  }

  #recoverFromTrouble(): void {
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.#deps.logger.info('the database is written again', { path: this.#deps.path });
    this.#deps.notify({ kind: 'on-disk-again' });
  }
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
