/**
 * Owns: what a directory takes up on its disk, as du says it: blocks, not lengths; a file with several
 * names once; no symbolic link followed; nothing of another file system that is mounted within.
 * Invariants: what vanishes on the way is left out; few files are asked about at once, so that the
 * thread pool stays free for others; an abort ends it soon.
 */
import { lstat, opendir } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import path from 'node:path';

export interface DiskUse {
  /** Bytes of blocks. */
  readonly used: number;
  /** Files and directories, the top one included. */
  readonly inodesUsed: number;
}

export interface DirectoryUse extends DiskUse {
  /** The parts of it that directories directly below take. */
  readonly parts: ReadonlyMap<string, DiskUse>;
}

const BLOCK_BYTES = 512;
const AT_ONCE = 8;

/** Resolves to undefined when there is no such directory. */
export async function walkDirectory(
  directory: string,
  signal: AbortSignal,
): Promise<DirectoryUse | undefined> {
  const top = await statOf(directory);
  if (!top?.isDirectory()) return undefined;
  const seen = new Set<string>();
  const own = new Tally(top);
  const parts = new Map<string, Tally>();
  // Depth first, so that the list of what is still to be read stays short.
  const open: { directory: string; tally: Tally }[] = [{ directory, tally: own }];
  for (let at = open.pop(); at; at = open.pop()) {
    const { tally } = at;
    for await (const batch of batches(at.directory, signal)) {
      for (const [name, stat] of batch) {
        if (stat.dev !== top.dev || !isFirst(stat, seen)) continue;
        if (!stat.isDirectory()) tally.add(stat);
        else {
          const below = tally === own ? new Tally(stat) : tally;
          if (tally === own) parts.set(name, below);
          else tally.add(stat);
          open.push({ directory: path.join(at.directory, name), tally: below });
        }
      }
    }
  }
  for (const part of parts.values()) own.include(part);
  return { used: own.used, inodesUsed: own.inodesUsed, parts };
}

/** What one file takes; undefined when it is not there. */
export async function fileUse(file: string): Promise<DiskUse | undefined> {
  const stat = await statOf(file);
  return stat && new Tally(stat);
}

class Tally implements DiskUse {
  used: number;
  inodesUsed = 1;

  constructor(first: Stats) {
    this.used = first.blocks * BLOCK_BYTES;
  }

  add(stat: Stats): void {
    this.used += stat.blocks * BLOCK_BYTES;
    this.inodesUsed += 1;
  }

  include(other: DiskUse): void {
    this.used += other.used;
    this.inodesUsed += other.inodesUsed;
  }
}

async function* batches(
  directory: string,
  signal: AbortSignal,
): AsyncGenerator<[string, Stats][], void, undefined> {
  signal.throwIfAborted();
  const dir = await opendir(directory).catch(() => undefined);
  if (dir === undefined) return;
  let names: string[] = [];
  try {
    for await (const { name } of dir) {
      if (names.push(name) < AT_ONCE) continue;
      yield await statAll(directory, names);
      signal.throwIfAborted();
      names = [];
    }
  } catch (error) {
    if (signal.aborted) throw error;
    // Removed while it was read.
  }
  yield await statAll(directory, names);
}

async function statAll(directory: string, names: readonly string[]): Promise<[string, Stats][]> {
  const stats = await Promise.all(names.map((name) => statOf(path.join(directory, name))));
  return names.flatMap((name, i) => {
    const stat = stats[i];
    return stat ? [[name, stat] as [string, Stats]] : [];
  });
}

function isFirst(stat: Stats, seen: Set<string>): boolean {
  if (stat.nlink < 2 || stat.isDirectory()) return true;
  const before = seen.size;
  return seen.add(String(stat.ino)).size > before;
}

function statOf(file: string): Promise<Stats | undefined> {
  return lstat(file).catch(() => undefined);
}
