/**
 * Owns: the shape of the database, as numbered steps. Step N brings a database from version N-1 to N.
 * Invariants: a step that was released is never changed, only followed by another; there is no way
 * back. A database of a newer islet is not touched: `migrate` reports it as corrupt and the caller
 * sets it aside, because losing history is cheaper than guessing at it (design.md, promise 1).
 */
import type Database from 'better-sqlite3';
import { IsletError } from '../util/errors.ts';

/** Times are wall milliseconds; keys are TEXT and tables WITHOUT ROWID, so one row is one page access. */
const STEPS: readonly string[] = [
  `CREATE TABLE last_good (
     file TEXT PRIMARY KEY, digest TEXT NOT NULL, content BLOB NOT NULL, seen_at INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE first_seen (
     uid TEXT PRIMARY KEY, seen_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE pod (
     uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL, finished TEXT
   ) STRICT;
   CREATE TABLE restart (
     uid TEXT NOT NULL, container TEXT NOT NULL, count INTEGER NOT NULL,
     delay_ms INTEGER NOT NULL, last_restart INTEGER, PRIMARY KEY (uid, container)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE event (
     id INTEGER PRIMARY KEY, revision INTEGER NOT NULL,
     kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, field_path TEXT NOT NULL,
     type TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL,
     count INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE image (
     ref TEXT PRIMARY KEY, last_used INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  'ALTER TABLE restart ADD COLUMN ended INTEGER',
  `CREATE TABLE image_access (
     image TEXT PRIMARY KEY, access TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE image_pulling (
     name TEXT PRIMARY KEY
   ) STRICT, WITHOUT ROWID;`,
  `CREATE TABLE image_source (
     image TEXT PRIMARY KEY, name TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE registry (
     host TEXT PRIMARY KEY, answered_at INTEGER NOT NULL, reachable INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  `CREATE TABLE eviction (
     uid TEXT PRIMARY KEY, strikes INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
];

/** Brings the database up to this islet's version; throws IsletError `corrupt` for a newer one. */
export function migrate(db: Database.Database): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > STEPS.length) {
    const known = String(STEPS.length);
    throw new IsletError(
      'corrupt',
      `database version ${version} is newer than this islet knows (${known})`,
    );
  }
  STEPS.slice(version).forEach((sql, i) => {
    db.transaction(() => {
      db.exec(sql);
      db.pragma(`user_version = ${version + i + 1}`);
    })();
  });
}
