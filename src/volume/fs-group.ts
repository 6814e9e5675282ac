/**
 * Owns: giving a volume to the pod's fsGroup (spec: volumes.md §6): children before their parent,
 * group and mode bits; symbolic links change their own group and lead nowhere.
 * Invariant: it runs before a container uses the volume, so nobody swaps entries meanwhile.
 */
import type { Stats } from 'node:fs';
import { chmod, lchown, lstat, readdir } from 'node:fs/promises';

export interface FsGroupOptions {
  readonly gid: number;
  /** The agent keeps the content; the group may only read it. */
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
  /** Told of every entry that could not be changed; the others are changed all the same. */
  readonly onError: (path: string, error: unknown) => void;
}

const SETGID = 0o2000;

export async function applyFsGroup(dir: string, options: FsGroupOptions): Promise<void> {
  await applyTo(Buffer.from(dir), options);
}

async function applyTo(path: Buffer, options: FsGroupOptions): Promise<void> {
  options.signal.throwIfAborted();
  try {
    const stats = await lstat(path);
    if (stats.isDirectory()) {
      for (const name of await readdir(path, { encoding: 'buffer' })) {
        await applyTo(Buffer.concat([path, SLASH, name]), options);
      }
    }
    await change(path, stats, options);
  } catch (error) {
    options.signal.throwIfAborted();
    options.onError(path.toString(), error);
  }
}

const SLASH = Buffer.from('/');

async function change(path: Buffer, stats: Stats, options: FsGroupOptions): Promise<void> {
  await lchown(path, stats.uid, options.gid);
  if (stats.isSymbolicLink()) return;
  // chown has taken setuid and setgid away from files; the mode from before brings them back.
  const access = options.readOnly ? 0o440 : 0o660;
  const search = stats.isDirectory() ? 0o110 | SETGID : 0;
  await chmod(path, (stats.mode & 0o7777) | access | search);
}
