/**
 * Owns: the bind mount that stands for a sub path of a volume (spec: volumes.md §7).
 * Invariant: whatever containers do to the volume meanwhile, what is mounted lies within it: every
 * component is opened relative to the one before, without following links, through /proc/self/fd, which
 * gives Node what openat(2) gives others.
 */
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  open,
  realpath,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { IsletError } from '../util/errors.ts';
import { mountAt } from './mount-table.ts';
import type { Mounter } from './mounter.ts';
import { errnoOf } from './volume-error.ts';

/** open(2) only to have a handle on the place: works on files of every kind and opens none of them. */
const O_PATH = 0o10000000;
const PLACE = O_PATH | constants.O_NOFOLLOW;

export interface SubPathRequest {
  /** Root of the volume on the host. */
  readonly volumePath: string;
  /** Relative, already expanded. */
  readonly subPath: string;
  /** What is made and given to the runtime. */
  readonly target: string;
}

/** Makes the directories of the sub path that are missing; throws when it would leave the volume. */
export async function createSubPath(request: SubPathRequest): Promise<void> {
  const { volumePath, subPath } = request;
  refuseWayOut(subPath);
  const root = await realpath(volumePath);
  if ((await resolveIfThere(join(root, subPath))) === undefined) await createMissing(root, subPath);
}

/** The sub path is there; throws when it leads out of the volume. */
export async function bindSubPath(
  request: SubPathRequest,
  mounter: Mounter,
  signal: AbortSignal,
): Promise<void> {
  const { volumePath, subPath, target } = request;
  refuseWayOut(subPath);
  const root = await realpath(volumePath);
  const handle = await openBeneath(root, await realpath(join(root, subPath)));
  try {
    const stats = await handle.stat();
    if (await isBound(target, stats, mounter, signal)) return;
    await makeTarget(target, stats);
    await mounter.bind(`/proc/${process.pid}/fd/${handle.fd}`, target, signal);
  } finally {
    await handle.close();
  }
}

function refuseWayOut(subPath: string): void {
  if (!isAbsolute(subPath) && !subPath.split('/').includes('..')) return;
  throw new IsletError('invalid', `sub path ${JSON.stringify(subPath)} leads out of its volume`);
}

async function resolveIfThere(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes the directories of `subPath` that are missing, with the mode of the volume's root. */
async function createMissing(root: string, subPath: string): Promise<void> {
  const names = subPath.split('/').filter((name) => name !== '' && name !== '.');
  const mode = (await stat(root)).mode & 0o7777;
  let there = root;
  while (names[0] !== undefined) {
    const next = await resolveIfThere(join(there, names[0]));
    if (next === undefined) break;
    there = next;
    names.shift();
  }
  let parent = await openBeneath(root, there);
  try {
    for (const name of names) {
      const isNew = await makeEntry(parent, name);
      const made = await openEntry(parent, name, join(root, subPath));
      await parent.close();
      parent = made;
      // Not with mkdir: the umask would take from it, and setgid needs chmod.
      if (isNew) await chmod(`/proc/self/fd/${parent.fd}`, mode);
    }
  } finally {
    await parent.close();
  }
}

/** A handle on `path`, which is free of links and lies within `root`; both checked on the way. */
async function openBeneath(root: string, path: string): Promise<FileHandle> {
  const inner = relative(root, path);
  if (inner === '..' || inner.startsWith('../') || isAbsolute(inner)) {
    throw new IsletError('invalid', `${path} is outside of the volume ${root}`);
  }
  let handle = await open(root, PLACE);
  try {
    for (const name of inner.split('/').filter((part) => part !== '')) {
      const next = await openEntry(handle, name, path);
      await handle.close();
      handle = next;
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** False when somebody was faster: another container with the same sub path, or a link that leads nowhere. */
async function makeEntry(parent: FileHandle, name: string): Promise<boolean> {
  try {
    await mkdir(`/proc/self/fd/${parent.fd}/${name}`, 0o750);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function openEntry(parent: FileHandle, name: string, shown: string): Promise<FileHandle> {
  const handle = await open(`/proc/self/fd/${parent.fd}/${name}`, PLACE);
  if (!(await handle.stat()).isSymbolicLink()) return handle;
  await handle.close();
  throw new IsletError('invalid', `unexpected symlink found ${shown}`);
}

/** Whether the target shows just this file or directory already; other mounts there are taken away. */
async function isBound(
  target: string,
  wanted: Stats,
  mounter: Mounter,
  signal: AbortSignal,
): Promise<boolean> {
  const resolved = await resolveIfThere(target);
  if (resolved === undefined) return false;
  while (mountAt(await mounter.list(), resolved) !== undefined) {
    const found = await stat(target);
    if (found.dev === wanted.dev && found.ino === wanted.ino) return true;
    await mounter.unmount(target, true, signal);
  }
  return false;
}

async function makeTarget(target: string, source: Stats): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  await removeOtherKind(target, source);
  if (source.isDirectory()) await mkdir(target, { recursive: true, mode: 0o750 });
  else await writeFile(target, '', { mode: 0o640, flag: 'a' });
}

/** A file was where now is a directory, or the other way round. Nothing is mounted there. */
async function removeOtherKind(target: string, source: Stats): Promise<void> {
  const found = await lstat(target).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined || found.isDirectory() === source.isDirectory()) return;
  await (found.isDirectory() ? rmdir(target) : unlink(target));
}
