/**
 * Owns: getting a damaged database out of the way without destroying it.
 * Invariants: the write-ahead log and shared memory file go with their database, under one time stamp;
 * no more than KEEP sets stay, because a failing disk damages again and again and must not be filled.
 */
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const KEEP = 3;
const COMPANIONS = ['', '-wal', '-shm'];

/**
 * Renames `path` and its companions to `<path>.damaged-<UTC time>[-n]` and returns the new name of the
 * database. `wallMs` is the time in the name. Throws the file system's error when the rename fails.
 */
export function setAside(path: string, wallMs: number): string {
  const stamp = new Date(wallMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const base = `${path}.damaged-${stamp}`;
  const sameTime = damagedSets(path).filter((name) => name.startsWith(basename(base)));
  const last = sameTime.at(-1)?.slice(basename(base).length + 1);
  const target = last === undefined ? base : `${base}-${Number(last || 1) + 1}`;
  for (const suffix of COMPANIONS) {
    try {
      renameSync(path + suffix, target + suffix);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  prune(path);
  return target;
}

function prune(path: string): void {
  for (const name of damagedSets(path).slice(0, -KEEP)) {
    for (const suffix of COMPANIONS) rmSync(join(dirname(path), name + suffix), { force: true });
  }
}

/** Names of the databases that were set aside, oldest first. */
function damagedSets(path: string): string[] {
  const prefix = `${basename(path)}.damaged-`;
  const names = readdirSync(dirname(path)).filter((name) => name.startsWith(prefix));
  return names
    .filter((name) => !/-(wal|shm)$/.test(name))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}
