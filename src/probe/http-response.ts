/**
 * Owns: reading an HTTP/1 answer as its bytes come in: status, Location, the beginning of the body, and
 * whether it is whole. Pure. A client of Node reads more than a probe wants to know and costs twice as
 * much, with hundreds of probes a second.
 * Invariants: the bytes may be cut anywhere; what is kept is bounded, whatever is sent.
 *
 *   head ─┬─▶ head (after 1xx)
 *         ├─▶ sized ─────────────────────────────────────────────▶ done
 *         ├─▶ chunk-size ─▶ chunk-data ─▶ chunk-end ─▶ chunk-size
 *         │        └─(size 0)─▶ trailer ─────────────────────────▶ done
 *         └─▶ until-end ──(end of stream)────────────────────────▶ done
 */
import { MAX_OUTPUT_BYTES } from './model.ts';

/** The answer is not HTTP, or is cut off. The message is that of the kubelet's client. */
export class BadAnswer extends Error {}

const MAX_HEAD_BYTES = 256 * 1024;
const STATUS_LINE = /^HTTP\/1\.\d (\d{3})(?: |$)/;
const LF = 10;

type LineState = 'head' | 'chunk-size' | 'chunk-end' | 'trailer';
type State = LineState | 'sized' | 'chunk-data' | 'until-end' | 'done';

export class HttpAnswer {
  /** 0 until the head has been read. */
  status = 0;
  location: string | undefined;
  #state: State = 'head';
  /** The line that is not whole yet; latin1, as header bytes are. */
  #line = '';
  #headBytes = 0;
  #contentLength: number | undefined;
  #chunked = false;
  /** Bytes still to come of the sized body or the chunk. */
  #left = 0;
  #bodyBytes = 0;
  readonly #body: Buffer[] = [];

  /** The head has been read: `status` and `location` are there. */
  get hasHead(): boolean {
    return this.#state !== 'head';
  }

  /** Nothing more is wanted: the answer is whole, or as much of its body is there as is read. */
  get isDone(): boolean {
    return this.#state === 'done' || this.#bodyBytes >= MAX_OUTPUT_BYTES;
  }

  body(): string {
    return Buffer.concat(this.#body).toString('utf8', 0, MAX_OUTPUT_BYTES);
  }

  /**
   * Takes the next bytes, which may be overwritten afterwards.
   * @throws BadAnswer
   */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.isDone) at = this.#step(bytes, at);
  }

  /**
   * The other side has nothing more to send.
   * @throws BadAnswer when the answer is not whole
   */
  end(): void {
    if (this.isDone) return;
    if (this.#state === 'until-end') this.#state = 'done';
    else throw new BadAnswer(this.hasHead || this.#headBytes > 0 ? 'unexpected EOF' : 'EOF');
  }

  /** Returns where to go on. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
      case 'chunk-size':
      case 'chunk-end':
      case 'trailer': {
        const end = bytes.indexOf(LF, at);
        this.#keepLine(bytes, at, end < 0 ? bytes.length : end);
        if (end < 0) return bytes.length;
        const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
        this.#line = '';
        this.#takeLine(this.#state, line);
        return end + 1;
      }
      case 'sized':
      case 'chunk-data':
        return this.#takeSized(bytes, at);
      case 'until-end':
        this.#keepBody(bytes, at, bytes.length);
        return bytes.length;
      case 'done':
        return bytes.length;
    }
  }

  #keepLine(bytes: Buffer, from: number, to: number): void {
    this.#headBytes += to - from;
    if (this.#headBytes > MAX_HEAD_BYTES) throw new BadAnswer('server response headers too long');
    this.#line += bytes.toString('latin1', from, to);
  }

  #takeLine(state: LineState, line: string): void {
    if (state === 'trailer') {
      if (line === '') this.#state = 'done';
    } else if (state === 'chunk-end') {
      if (line !== '') throw new BadAnswer('malformed chunked encoding');
      this.#state = 'chunk-size';
    } else if (state === 'chunk-size') this.#startChunk(line);
    else if (this.status === 0) this.#takeStatus(line);
    else if (line === '') this.#endHead();
    else this.#takeHeader(line);
  }

  #takeStatus(line: string): void {
    const status = STATUS_LINE.exec(line)?.[1];
    if (status === undefined) {
      throw new BadAnswer(`malformed HTTP response ${JSON.stringify(line.slice(0, 64))}`);
    }
    this.status = Number(status);
  }

  #takeHeader(line: string): void {
    if (line.startsWith(' ') || line.startsWith('\t')) return; // goes on with the value before
    const colon = line.indexOf(':');
    if (colon <= 0) throw new BadAnswer('malformed MIME header line');
    const value = line.slice(colon + 1).trim();
    switch (line.slice(0, colon).toLowerCase()) {
      case 'content-length':
        if (!/^\d{1,15}$/.test(value)) throw new BadAnswer(`bad Content-Length "${value}"`);
        this.#contentLength = Number(value);
        break;
      case 'transfer-encoding':
        this.#chunked = value.toLowerCase() === 'chunked';
        break;
      case 'location':
        this.location ??= Buffer.from(value, 'latin1').toString();
    }
  }

  #endHead(): void {
    const { status } = this;
    if (status >= 100 && status < 200 && status !== 101) {
      this.status = 0; // something was announced; the answer is still to come
      return;
    }
    if (status === 101 || status === 204 || status === 304) this.#state = 'done';
    else if (this.#chunked) this.#state = 'chunk-size';
    else if (this.#contentLength === undefined) this.#state = 'until-end';
    else {
      this.#left = this.#contentLength;
      this.#state = this.#left === 0 ? 'done' : 'sized';
    }
  }

  #startChunk(line: string): void {
    const size = /^\s*([0-9a-fA-F]{1,8})\s*(?:;|$)/.exec(line)?.[1];
    if (size === undefined) throw new BadAnswer('invalid byte in chunk length');
    const length = Number.parseInt(size, 16);
    this.#headBytes = 0;
    this.#left = length;
    this.#state = length === 0 ? 'trailer' : 'chunk-data';
  }

  #takeSized(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#keepBody(bytes, at, end);
    this.#left -= end - at;
    if (this.#left > 0) return end;
    this.#state = this.#state === 'sized' ? 'done' : 'chunk-end';
    return end;
  }

  #keepBody(bytes: Buffer, from: number, to: number): void {
    const end = Math.min(to, from + MAX_OUTPUT_BYTES - this.#bodyBytes);
    this.#bodyBytes += end - from;
    // Only what is shown is copied: the body of a redirect that is not followed.
    if (this.status >= 300 && this.status < 400)
      this.#body.push(Buffer.from(bytes.subarray(from, end)));
  }
}
