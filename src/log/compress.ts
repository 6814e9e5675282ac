/**
 * Owns: compressing a rotated log in place: `<f>` becomes `<f>.gz` by way of `<f>.tmp`
 * (spec: gc-logs-images.md §3.1, step 4).
 * Invariants: constant memory whatever the size; at every moment the log is there whole, as the
 * original or as the copy; a failure or an abort leaves the original and no copy.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

/** Rejects with the error of the file system, or with the signal's reason. */
export async function compressLog(file: string, signal: AbortSignal): Promise<void> {
  const { createGzip } = await import('node:zlib'); // rarely needed
  const temporary = `${file}.tmp`;
  try {
    const { mode } = await stat(file);
    const out = createWriteStream(temporary, { mode: 0o600 });
    await pipeline(createReadStream(file), createGzip(), out, { signal });
    await chmod(temporary, mode & 0o7777);
    await rename(temporary, `${file}.gz`);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await rm(file, { force: true });
}
