/**
 * Owns: giving a volume to the pod's fsGroup (spec: volumes.md §6): children before their parent,
 * group and mode bits; symbolic links change their own group and lead nowhere.
 * Invariants: everything is reached relative to the directory it was found in, without following links:
 * a container that shares the volume and swaps entries meanwhile gives away nothing but its own. What is
 * as it should be is not touched.
 */
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { chmod, chown, lchown, lstat, open, readdir, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { IsletError } from '../util/errors.ts';

export interface FsGroupOptions {
  readonly gid: number;
  /** The agent keeps the content; the group may only read it. */
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
  /** Told of every entry that could not be changed; the others are changed all the same. */
  readonly onError: (path: string, error: unknown) => void;
  /** Called for every entry that has been looked at. */
  readonly onEntry?: () => void;
}

const SETGID = 0o2000;
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** open(2) only to have a handle on the place, whatever kind of file it is. */
const O_PATH = 0o10000000;
/** Each level holds a directory open. */
const DEEPEST = 500;

export async function applyFsGroup(dir: string, options: FsGroupOptions): Promise<void> {
  await applyTo(Buffer.from(dir), dir, 0, options);
}

/** Whether the root looks as it does after `applyFsGroup`: what `OnRootMismatch` goes by. */
export async function rootBelongsToGroup(
  dir: string,
  { gid, readOnly }: Pick<FsGroupOptions, 'gid' | 'readOnly'>,
): Promise<boolean> {
  const stats = await stat(dir);
  return stats.isDirectory() && belongs(stats, gid, readOnly);
}

/** `path` may lead through a handle; `shown` is for people. */
async function applyTo(
  path: Buffer,
  shown: string,
  depth: number,
  options: FsGroupOptions,
): Promise<void> {
  options.signal.throwIfAborted();
  try {
    const stats = await lstat(path);
    if (stats.isDirectory()) await applyToDir(path, shown, depth, options);
    else if (!belongs(stats, options.gid, options.readOnly))
      await applyToFile(path, stats, options);
    options.onEntry?.();
  } catch (error) {
    options.signal.throwIfAborted();
    options.onError(shown, error);
  }
}

async function applyToDir(
  path: Buffer,
  shown: string,
  depth: number,
  options: FsGroupOptions,
): Promise<void> {
  if (depth > DEEPEST) throw new IsletError('failed', 'directories are nested too deep');
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const below = Buffer.from(`/proc/self/fd/${handle.fd}/`);
    for (const name of await readdir(below, { encoding: 'buffer' })) {
      await applyTo(
        Buffer.concat([below, name]),
        `${shown}/${name.toString()}`,
        depth + 1,
        options,
      );
    }
    await change(handle, options);
  } finally {
    await handle.close();
  }
}

async function applyToFile(path: Buffer, stats: Stats, options: FsGroupOptions): Promise<void> {
  if (stats.isSymbolicLink()) {
    await lchown(path, stats.uid, options.gid);
    return;
  }
  const handle = await open(path, O_PATH | O_NOFOLLOW);
  try {
    await change(handle, options);
  } finally {
    await handle.close();
  }
}

async function change(handle: FileHandle, { gid, readOnly }: FsGroupOptions): Promise<void> {
  const stats = await handle.stat();
  if (stats.isSymbolicLink() || belongs(stats, gid, readOnly)) return;
  // A handle on a place takes neither fchown nor fchmod; through its path in /proc it is meant itself.
  const place = `/proc/self/fd/${handle.fd}`;
  await chown(place, stats.uid, gid);
  // chown has taken setuid and setgid away from files; the mode from before brings them back.
  await chmod(place, (stats.mode & 0o7777) | bitsOf(stats, readOnly));
}

function belongs(stats: Stats, gid: number, readOnly: boolean): boolean {
  const bits = bitsOf(stats, readOnly);
  return stats.gid === gid && (stats.mode & bits) === bits;
}

function bitsOf(stats: Stats, readOnly: boolean): number {
  if (stats.isSymbolicLink()) return 0;
  return (readOnly ? 0o440 : 0o660) | (stats.isDirectory() ? 0o110 | SETGID : 0);
}
