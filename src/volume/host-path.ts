/**
 * Owns: what a hostPath volume asks of its path before it is used (spec: volumes.md §4). The path
 * itself is mounted; nothing is made below the pod's directory, and no ownership is changed.
 * Unlike the kubelet: checked before every start of a container, not once for the pod: where a socket is
 * missing for a moment, a runtime that is asked all the same makes a directory in its place.
 */
import type { Stats } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import type { HostPathSource, HostPathType } from '../api/volume.ts';
import { IsletError, unreachable } from '../util/errors.ts';
import { errnoOf } from './volume-error.ts';

/** Makes the path where its type says so. Throws with upstream's message when it is something else. */
export async function setUpHostPath(source: HostPathSource): Promise<void> {
  const { path } = source;
  if (path.split('/').includes('..')) {
    throw new IsletError('invalid', `invalid HostPath \`${path}\`: must not contain '..'`);
  }
  const type = source.type ?? '';
  if (type === '') return;
  const found = await statOf(path);
  if (found === undefined && (await make(type, path))) return;
  if (found === undefined || !matches(type, found)) {
    throw new IsletError('invalid', `hostPath type check failed: ${path} is not a ${NOUN[type]}`);
  }
}

const NOUN: Record<Exclude<HostPathType, ''>, string> = {
  DirectoryOrCreate: 'directory',
  Directory: 'directory',
  FileOrCreate: 'file',
  File: 'file',
  Socket: 'socket file',
  CharDevice: 'character device',
  BlockDevice: 'block device',
};

/** Symbolic links are followed; what cannot be reached counts as missing. */
async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function make(type: Exclude<HostPathType, ''>, path: string): Promise<boolean> {
  if (type === 'DirectoryOrCreate') {
    await mkdir(path, { recursive: true, mode: 0o755 });
    return true;
  }
  if (type !== 'FileOrCreate') return false;
  // The parent directory must be there: a typo must not make a tree.
  const handle = await open(path, 'a', 0o644);
  await handle.close();
  return true;
}

function matches(type: Exclude<HostPathType, ''>, stats: Stats): boolean {
  switch (type) {
    case 'DirectoryOrCreate':
    case 'Directory':
      return stats.isDirectory();
    case 'FileOrCreate':
    case 'File':
      return stats.isFile();
    case 'Socket':
      return stats.isSocket();
    case 'CharDevice':
      return stats.isCharacterDevice();
    case 'BlockDevice':
      return stats.isBlockDevice();
    default:
      return unreachable(type);
  }
}
