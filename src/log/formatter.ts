/**
 * Owns: turning lines of a log file into what the reader of a log sees: messages, joined where the
 * runtime split them, optionally with their time, filtered by time and stream.
 * Leaves to others: reading files (reader.ts), cutting lines (line-splitter.ts).
 * Spec: gc-logs-images.md §3.2. Lines that are no log lines are skipped and counted.
 */
import { fixedWidthTimestamp, parseCriLine, timestampMs, type LogStream } from './cri-line.ts';
import type { Piece } from './line-splitter.ts';

export interface FormatOptions {
  /** Lines older than this many milliseconds since 1970 are left out. */
  readonly sinceMs?: number;
  /** Prefix each line with its time, nine digits of fraction, and a space. */
  readonly timestamps?: boolean;
  /** Only this stream; both when absent. */
  readonly stream?: LogStream;
}

/** What becomes of the further pieces of a line that is too long to be held whole. */
type Continuation = 'none' | 'skip' | 'full' | 'partial';

const NEWLINE = Buffer.from('\n');

export class LogFormatter {
  readonly #options: FormatOptions;
  #continuation: Continuation = 'none';
  /** The next message starts a line of the output. */
  #atLineStart = true;
  #skipped = 0;

  constructor(options: FormatOptions) {
    this.#options = options;
  }

  /** How many lines were no log lines. */
  get skipped(): number {
    return this.#skipped;
  }

  /** Appends the output of one piece to `out`; the buffers may be views into the piece. */
  format(piece: Piece, out: Buffer[]): void {
    if (!piece.starts) {
      this.#goOn(piece, out);
      return;
    }
    if (piece.bytes.length === 0 && piece.ends) return;
    const line = parseCriLine(piece.bytes);
    if (!line) this.#skipped++;
    if (!line || !this.#wanted(line.timestamp, line.stream)) {
      this.#continuation = piece.ends ? 'none' : 'skip';
      return;
    }
    if (this.#atLineStart && this.#options.timestamps) {
      out.push(Buffer.from(`${fixedWidthTimestamp(line.timestamp)} `));
    }
    this.#emit(line.message, line.partial ? 'partial' : 'full', piece.ends, out);
  }

  #goOn(piece: Piece, out: Buffer[]): void {
    const kind = this.#continuation;
    if (kind === 'full' || kind === 'partial') this.#emit(piece.bytes, kind, piece.ends, out);
    if (piece.ends) this.#continuation = 'none';
  }

  #emit(message: Buffer, kind: 'full' | 'partial', ends: boolean, out: Buffer[]): void {
    const newline = ends && kind === 'full';
    if (message.length > 0) out.push(message);
    if (newline) out.push(NEWLINE);
    this.#atLineStart = newline;
    this.#continuation = ends ? 'none' : kind;
  }

  #wanted(timestamp: string, stream: LogStream): boolean {
    const { sinceMs, stream: only } = this.#options;
    if (only !== undefined && only !== stream) return false;
    return sinceMs === undefined || !(timestampMs(timestamp) < sinceMs);
  }
}
