/**
 * Owns: one SQLite connection: how it is opened, checked and tuned, and what its errors mean.
 * Invariant: a Database returned by `openDatabase` passed `quick_check` and has the current version.
 * Leaves to others: what to do about trouble (write-behind.ts), the rows (one file a record).
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { IsletError, codeOf, messageOf } from '../util/errors.ts';
import { migrate } from './migrations.ts';

/**
 * - `damaged`: the file is no usable database; a new one has to be made.
 * - `disk`: the disk is full, failing, read-only or away, or another process has the database; the same
 *   write may succeed later.
 */
export type Trouble = 'damaged' | 'disk';

/**
 * Why these settings:
 * - locking_mode EXCLUSIVE, before the first access: one agent owns the file, and WAL then needs no
 *   `-shm` mapping, so a full disk cannot end the agent with SIGBUS.
 * - WAL with synchronous NORMAL: a commit is consistent after a power cut but costs no fsync; the last
 *   commits may be lost, which is history only. The fsync comes with the checkpoint.
 * - wal_autocheckpoint 256 pages and journal_size_limit 1 MiB bound the log on the disk.
 * - cache_size 512 KiB instead of 16 MB: the live rows are in memory anyway (table.ts).
 * - mmap_size 0: a damaged disk gives an error code instead of SIGBUS. temp_store MEMORY: a sort must
 *   not fail because /tmp is full.
 */
const PRAGMAS = [
  'locking_mode = EXCLUSIVE',
  'journal_mode = WAL',
  'synchronous = NORMAL',
  'wal_autocheckpoint = 256',
  'journal_size_limit = 1048576',
  'cache_size = -512',
  'mmap_size = 0',
  'temp_store = MEMORY',
];

/**
 * Opens or makes the database at `path`; throws (see `troubleOf`) when it cannot be used, e.g. because
 * another process has it locked for longer than `busyMs`, for which this call blocks. `prepare`
 * makes the statements of the records: SQL that does not fit the tables is as good as a damaged file.
 */
export function openDatabase(
  path: string,
  busyMs: number,
  prepare: (db: Database.Database) => void,
): Database.Database {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const db = new Database(path, { timeout: busyMs });
  try {
    for (const pragma of PRAGMAS) db.pragma(pragma);
    const verdict = String(db.pragma('quick_check(1)', { simple: true }));
    if (verdict !== 'ok') throw new IsletError('corrupt', `quick_check of ${path}: ${verdict}`);
    migrate(db);
    prepare(db);
    return db;
  } catch (error) {
    closeQuietly(db);
    if ((error as { code?: unknown }).code !== 'SQLITE_ERROR') throw error;
    throw new IsletError('corrupt', `${path} is no database of islet: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

export function closeQuietly(db: Database.Database): void {
  try {
    db.close();
  } catch {
    // What could not be written stays pending in memory; the handle is gone either way.
  }
}

/** What an error of SQLite or the file system means for the store; undefined: a defect of islet. */
export function troubleOf(error: unknown): Trouble | undefined {
  if (codeOf(error) === 'corrupt') return 'damaged';
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return undefined;
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return 'damaged';
  return /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|BUSY|LOCKED|PERM|AUTH|NOMEM|PROTOCOL)/.test(code) ||
    /^E[A-Z0-9]+$/.test(code)
    ? 'disk'
    : undefined;
}

/** Whether the error leaves the connection usable: a write that found no room was rolled back. */
export function isOutOfRoom(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'SQLITE_FULL';
}
