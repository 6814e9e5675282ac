/**
 * Owns: how full the file system of a directory is.
 */
import { stat, statfs } from 'node:fs/promises';
import type { NodeFsStats } from './model.ts';

/** undefined when the directory is not there or cannot be asked. */
export async function readFileSystem(
  directory: string,
  timeMs: number,
): Promise<NodeFsStats | undefined> {
  try {
    const [fs, { dev }] = await Promise.all([statfs(directory), stat(directory)]);
    return {
      timeMs,
      // What an ordinary user can still write; the rest is kept for root.
      available: fs.bavail * fs.bsize,
      capacity: fs.blocks * fs.bsize,
      used: (fs.blocks - fs.bfree) * fs.bsize,
      inodes: fs.files,
      inodesFree: fs.ffree,
      inodesUsed: fs.files - fs.ffree,
      device: dev,
      mountpoint: directory,
    };
  } catch {
    return undefined;
  }
}
