/**
 * Owns: reading what the command line calls a manifest, which may be a pipe or a device.
 * Invariant: of what is no regular file no more is read than the first byte that is too much, because a
 * device may never end.
 */
import fs from 'node:fs';
import { MAX_BYTES } from './text.ts';

/** Throws what the system says of a file that cannot be read. */
export function readWhole(file: string): Buffer {
  const handle = fs.openSync(file, 'r');
  try {
    if (fs.fstatSync(handle).isFile()) return fs.readFileSync(handle);
    const bytes = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    while (length < bytes.length) {
      const read = fs.readSync(handle, bytes, length, bytes.length - length, null);
      if (read === 0) break;
      length += read;
    }
    return bytes.subarray(0, length);
  } finally {
    fs.closeSync(handle);
  }
}
