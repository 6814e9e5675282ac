/**
 * Owns: cutting a stream of bytes into lines in constant memory.
 * Invariants: a line longer than the bound comes in several pieces, in order; the concatenation of
 * all pieces plus one newline per piece marked `ends` is the input; nothing is kept beyond the bound.
 */

/** A line, or a part of one that is too long to be held whole. Valid until the next push. */
export interface Piece {
  readonly bytes: Buffer;
  /** The line starts with this piece. */
  readonly starts: boolean;
  /** The newline came after this piece (it is not in `bytes`). */
  readonly ends: boolean;
}

const NEWLINE = 0x0a;
const NOTHING = Buffer.alloc(0);

export class LineSplitter {
  readonly #maxBytes: number;
  /** The unfinished line; own memory, never a view into a pushed chunk. */
  #rest: Buffer = NOTHING;
  #inLine = false;

  constructor(maxBytes = 256 * 1024) {
    this.#maxBytes = maxBytes;
  }

  /** Whether the input so far ends within a line. */
  get isWithinLine(): boolean {
    return this.#inLine || this.#rest.length > 0;
  }

  *push(chunk: Buffer): Generator<Piece> {
    let from = 0;
    for (;;) {
      const newline = chunk.indexOf(NEWLINE, from);
      if (newline < 0) break;
      yield this.#piece(chunk.subarray(from, newline), true);
      from = newline + 1;
    }
    const tail = chunk.subarray(from);
    if (tail.length === 0) return;
    if (this.#rest.length + tail.length > this.#maxBytes) yield this.#piece(tail, false);
    else this.#rest = Buffer.concat([this.#rest, tail]);
  }

  /** What came after the last newline, if anything; the splitter is empty afterwards. */
  end(): Piece | undefined {
    const piece = this.#rest.length > 0 ? this.#piece(NOTHING, false) : undefined;
    this.#inLine = false;
    return piece;
  }

  #piece(bytes: Buffer, ends: boolean): Piece {
    const whole = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const starts = !this.#inLine;
    this.#rest = NOTHING;
    this.#inLine = !ends;
    return { bytes: whole, starts, ends };
  }
}
