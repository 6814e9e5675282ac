/**
 * Owns: deleting a directory tree that a container may have filled with anything: names that are no
 * text, directories deeper than a path can be long, millions of entries.
 * Invariants: links are removed, not followed; nothing on another file system than the directory's own
 * is touched (spec: volumes.md §2). Safe to repeat and to cut off.
 * Leaves to others: unmounting first; a bind mount of the same file system cannot be told from here.
 */
import type { Dir, Dirent, Stats } from 'node:fs';
import { lstat, opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { IsletError } from '../util/errors.ts';
import { errnoOf } from './volume-error.ts';

interface Removal {
  readonly top: Buffer;
  readonly device: number;
  readonly signal: AbortSignal;
  /** Numbers the directories that were moved up. */
  moved: number;
}

/** Well below PATH_MAX, whatever the next name. */
const LONG_PATH_BYTES = 2048;
/** How often entries may appear while a directory is emptied, before it is somebody at work. */
const MOST_PASSES = 100;

/** A missing directory is a success. */
export async function removeTree(dir: string, signal: AbortSignal): Promise<void> {
  const stats = await lstatIfThere(Buffer.from(dir));
  if (stats === undefined) return;
  const top = Buffer.from(dir);
  await removeDir(top, { top, device: stats.dev, signal, moved: 0 });
}

async function removeDir(path: Buffer, removal: Removal): Promise<void> {
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    await emptyDir(path, removal);
    try {
      await rmdir(path);
      return;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return;
      // Directories that were moved up arrive while the top is being read.
      if (errnoOf(error) !== 'ENOTEMPTY') throw error;
    }
  }
  throw new IsletError('failed', `removing ${path.toString()}: it is filled faster than emptied`);
}

async function emptyDir(path: Buffer, removal: Removal): Promise<void> {
  for await (const entry of await openDir(path)) {
    removal.signal.throwIfAborted();
    const name = entry.name as unknown as Buffer;
    await removeEntry(Buffer.concat([path, SLASH, name]), removal);
  }
}

const SLASH = Buffer.from('/');

/** Names as bytes: the types of Node do not know that opendir can give them. */
function openDir(path: Buffer): Promise<Dir & AsyncIterable<Dirent>> {
  return opendir(path, { encoding: 'buffer' as BufferEncoding, bufferSize: 64 });
}

async function removeEntry(path: Buffer, removal: Removal): Promise<void> {
  const stats = await lstatIfThere(path);
  if (stats === undefined) return;
  if (stats.dev !== removal.device) {
    throw new IsletError('failed', `removing ${path.toString()}: it is on another file system`);
  }
  if (!stats.isDirectory()) {
    await unlink(path);
  } else if (path.length > LONG_PATH_BYTES) {
    const name = Buffer.from(`/.islet-moved-${removal.moved++}`);
    await rename(path, Buffer.concat([removal.top, name]));
  } else {
    await removeDir(path, removal);
  }
}

async function lstatIfThere(path: Buffer): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
