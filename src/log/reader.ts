/**
 * Owns: reading a container's log: its end or all of it, once or for as long as the container runs,
 * across rotation. Spec: gc-logs-images.md §3.2.
 * Invariants: constant memory whatever the size of file and lines; the sink is awaited, so a slow
 * reader slows the reading and nothing piles up; no line is cut, repeated or left out by a rotation.
 * Unlike the kubelet: a follower that fell behind by one rotation reads the rotated file first.
 */
import type { FileHandle } from 'node:fs/promises';
import { codeOf } from '../util/errors.ts';
import { LogWatch, type FollowOptions } from './follow.ts';
import { LogFormatter, type FormatOptions } from './formatter.ts';
import { LineSplitter, type Piece } from './line-splitter.ts';
import { identify, rotatedFiles, successor, type LogFile } from './rotated.ts';
import { openRegular, tailStart } from './tail.ts';

export interface ReadLogOptions extends FormatOptions {
  /** Only the last so many lines of the file as it is now. */
  readonly tailLines?: number;
  /** The output ends after so many bytes. */
  readonly limitBytes?: number;
  /** Go on while the container runs. */
  readonly follow?: FollowOptions;
}

/** Takes the next bytes of the output; resolves when more may come. The bytes are the sink's to keep. */
export type LogSink = (bytes: Buffer) => Promise<void> | void;

interface NextFile extends LogFile {
  /** The newest rotated file that is older than this one. */
  readonly olderThan: string;
}

const CHUNK = 64 * 1024;
const LAST_LINE_MS = 10;
const LAST_LINE_TRIES = 20;

/**
 * Resolves at the end of the file, or when following and the container has ended.
 * Throws IsletError `not-found` when the file is missing, the signal's reason when aborted.
 */
export async function readLogs(
  path: string,
  options: ReadLogOptions,
  sink: LogSink,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (options.tailLines === 0 && !options.follow) return;
  // Watching begins before the first byte is read: no change falls between the two.
  const watch = options.follow && new LogWatch(path, options.follow);
  const reading = new Reading(path, options, sink, signal);
  try {
    await reading.open();
    if (watch) await reading.follow(watch);
    else await reading.toEnd();
    await reading.finish();
  } finally {
    watch?.close();
    await reading.close();
  }
}

class Reading {
  readonly #path: string;
  readonly #options: ReadLogOptions;
  readonly #sink: LogSink;
  readonly #signal: AbortSignal;
  readonly #chunk = Buffer.allocUnsafeSlow(CHUNK);
  readonly #splitter = new LineSplitter();
  readonly #formatter: LogFormatter;
  #handle: FileHandle | undefined;
  #identity = '';
  /**
   * The newest rotated file known to be older than the open one. By name: the inode of a file that was
   * deleted soon belongs to a new one.
   */
  #olderThan = '';
  #position = 0;
  #left: number;

  constructor(path: string, options: ReadLogOptions, sink: LogSink, signal: AbortSignal) {
    this.#path = path;
    this.#options = options;
    this.#sink = sink;
    this.#signal = signal;
    this.#formatter = new LogFormatter(options);
    this.#left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  async open(): Promise<void> {
    this.#handle = await openLog(this.#path);
    const { dev, ino, size } = await this.#handle.stat();
    this.#identity = `${dev}:${ino}`;
    if (this.#options.follow) {
      const rotated = await rotatedFiles(this.#path);
      const others = rotated.filter((file) => file.identity !== this.#identity);
      this.#olderThan = others.at(-1)?.path ?? '';
    }
    const lines = this.#options.tailLines ?? Number.POSITIVE_INFINITY;
    this.#position = await tailStart(this.#handle, size, lines);
  }

  async close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async follow(watch: LogWatch): Promise<void> {
    while (this.#left > 0) {
      const ended = watch.ended();
      await this.toEnd();
      const next = await this.#next(ended);
      if (next) await this.#switchTo(next);
      else if (ended) return;
      else await watch.changed(this.#signal);
    }
  }

  /** Reads the open file up to its present end. */
  async toEnd(): Promise<void> {
    while (this.#handle && this.#left > 0) {
      this.#signal.throwIfAborted();
      const { bytesRead } = await this.#handle.read(this.#chunk, 0, CHUNK, this.#position);
      if (bytesRead === 0) return;
      this.#position += bytesRead;
      await this.#emit(this.#splitter.push(this.#chunk.subarray(0, bytesRead)));
    }
  }

  /** A last line without its newline: a container cut off in the middle of writing. */
  async finish(): Promise<void> {
    const rest = this.#splitter.end();
    if (rest) await this.#emit([rest]);
  }

  /**
   * The file to go on with. An empty new log is not yet it: until the runtime has written there, it
   * may still write to the old one.
   */
  async #next(ended: boolean): Promise<NextFile | undefined> {
    const current = await identify(this.#path);
    if (current?.identity === this.#identity) {
      if (current.size < this.#position) this.#restart(); // truncated in place
      return undefined;
    }
    const rotated = await rotatedFiles(this.#path);
    const younger = rotated.filter((file) => file.path > this.#olderThan);
    const next = successor(this.#identity, younger, current);
    if (!next || (next === current && next.size === 0 && !ended)) return undefined;
    const before = next === current ? younger : younger.slice(0, younger.indexOf(next));
    return { ...next, olderThan: before.at(-1)?.path ?? this.#olderThan };
  }

  async #switchTo(next: NextFile): Promise<void> {
    // Opened before the last of the old one is read: a slow reader must not lose it meanwhile.
    const handle = await openIfThere(next.path);
    if (!handle) return; // rotated again: the next round looks afresh
    try {
      const { dev, ino } = await handle.stat();
      if (`${dev}:${ino}` !== next.identity) return await handle.close();
      await this.#toEndOfLine();
      await this.finish();
    } catch (error) {
      await handle.close();
      throw error;
    }
    await this.close();
    this.#handle = handle;
    this.#identity = next.identity;
    this.#olderThan = next.olderThan;
    this.#position = 0;
  }

  /** The runtime may still be writing the last line of the old file. */
  async #toEndOfLine(): Promise<void> {
    const { follow } = this.#options;
    for (let tries = 0; tries < LAST_LINE_TRIES; tries++) {
      await this.toEnd();
      if (!follow || !this.#splitter.isWithinLine) return;
      await follow.clock.sleep(LAST_LINE_MS, this.#signal);
    }
  }

  #restart(): void {
    this.#position = 0;
    this.#splitter.end();
  }

  async #emit(pieces: Iterable<Piece>): Promise<void> {
    const parts: Buffer[] = [];
    for (const piece of pieces) this.#formatter.format(piece, parts);
    const bytes = Buffer.concat(parts).subarray(0, this.#left);
    this.#left -= bytes.length;
    if (bytes.length > 0) await this.#sink(bytes);
  }
}

/** For a moment in each rotation there is no log under its path: what it was until then has the answer. */
async function openLog(path: string): Promise<FileHandle> {
  const handle = await openIfThere(path);
  if (handle) return handle;
  const newest = (await rotatedFiles(path)).at(-1);
  return (newest && (await openIfThere(newest.path))) ?? openRegular(path);
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await openRegular(path);
  } catch (error) {
    if (codeOf(error) === 'not-found') return undefined;
    throw error;
  }
}
