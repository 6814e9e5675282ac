/**
 * Owns: the end of a file, found by reading backwards in blocks, whatever the size of the file.
 * Leaves to others: what the lines mean (cri-line.ts).
 */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { IsletError, messageOf } from '../util/errors.ts';
import { LineSplitter } from './line-splitter.ts';
import { LogFormatter } from './formatter.ts';

const NEWLINE = 0x0a;
const BLOCK = 16 * 1024;

/**
 * Opens a regular file for reading; never waits on a pipe that somebody put in its place.
 * Throws IsletError `not-found` or `failed`.
 */
export async function openRegular(path: string): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const code = missing ? 'not-found' : 'failed';
    throw new IsletError(code, `opening ${path}: ${messageOf(cause)}`, { cause });
  }
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new IsletError('failed', `reading ${path}: it is not a regular file`);
}

/**
 * The offset at which the last `lines` lines start, counting newline characters as the kubelet does
 * (spec: gc-logs-images.md §3.2): an unfinished last line comes on top of them.
 * Looks back no further than `floor`, and then answers that.
 */
export async function tailStart(
  handle: FileHandle,
  size: number,
  lines: number,
  floor = 0,
): Promise<number> {
  if (!Number.isFinite(lines)) return floor;
  const block = Buffer.allocUnsafe(Math.min(BLOCK, Math.max(size, 1)));
  let seen = 0;
  for (let right = size; right > floor;) {
    const left = Math.max(floor, right - block.length);
    const read = await readFully(handle, block.subarray(0, right - left), left);
    for (let at = read; at > 0;) {
      at = block.subarray(0, at).lastIndexOf(NEWLINE);
      if (at < 0) break;
      if (seen === lines) return left + at + 1;
      seen++;
    }
    right = left;
  }
  return floor;
}

export interface TailOptions {
  /** At most so many lines; all when absent. */
  readonly lines?: number;
  /** At most so many bytes, the last ones. */
  readonly bytes: number;
}

/** The end of any file as text, as it stands. Throws IsletError `not-found` or `failed`. */
export async function tailFile(path: string, options: TailOptions): Promise<string> {
  const handle = await openRegular(path);
  try {
    const { size } = await handle.stat();
    const lines = options.lines ?? Number.POSITIVE_INFINITY;
    const start = await tailStart(handle, size, lines, Math.max(0, size - options.bytes));
    const bytes = Buffer.allocUnsafe(size - start);
    return bytes.toString('utf8', 0, await readFully(handle, bytes, start));
  } finally {
    await handle.close();
  }
}

/**
 * The messages of the last `lines` lines of a container's log, and of those the last `bytes` bytes:
 * the termination message of `FallbackToLogsOnError`.
 */
export async function tailLog(path: string, options: TailOptions): Promise<string> {
  const handle = await openRegular(path);
  try {
    const { size } = await handle.stat();
    const lines = options.lines ?? Number.POSITIVE_INFINITY;
    // A bound on memory that does not depend on how long the lines are: room for the bytes asked for
    // and for the time, stream and tags of more than a thousand lines.
    const floor = Math.max(0, size - 64 * 1024 - 4 * options.bytes);
    const start = await tailStart(handle, size, lines, floor);
    const bytes = Buffer.allocUnsafe(size - start);
    const content = bytes.subarray(0, await readFully(handle, bytes, start));
    return lastBytes(messagesOf(content), options.bytes);
  } finally {
    await handle.close();
  }
}

function messagesOf(content: Buffer): Buffer {
  const splitter = new LineSplitter();
  const formatter = new LogFormatter({});
  const out: Buffer[] = [];
  for (const piece of splitter.push(content)) formatter.format(piece, out);
  const rest = splitter.end();
  if (rest) formatter.format(rest, out);
  return Buffer.concat(out);
}

function lastBytes(bytes: Buffer, most: number): string {
  return bytes.toString('utf8', Math.max(0, bytes.length - most));
}

async function readFully(handle: FileHandle, into: Buffer, position: number): Promise<number> {
  let read = 0;
  while (read < into.length) {
    const { bytesRead } = await handle.read(into, read, into.length - read, position + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return read;
}
