/**
 * Owns: the mark that a volume of a pod is set up. It lies beside the volume, so it lives as long as the
 * pod, whatever becomes of the agent.
 */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from './volume-error.ts';

export function isMarked(metaDir: string): Promise<boolean> {
  return exists(markerOf(metaDir));
}

export async function mark(metaDir: string): Promise<void> {
  await mkdir(metaDir, { recursive: true, mode: 0o750 });
  await writeFile(markerOf(metaDir), '', { mode: 0o640 });
}

/** Whether anything is there; symbolic links are followed. */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

function markerOf(metaDir: string): string {
  return join(metaDir, 'ready');
}
