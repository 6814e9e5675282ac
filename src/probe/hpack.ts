/**
 * Owns: the two header blocks (RFC 7541) of a quick health check: the one that asks, and whether the one that ends
 * the answer says `grpc-status: 0`. Pure.
 * Invariant: both sides use no dynamic table, so a block means the same whatever came before it.
 */

/** Places in the static table. */
const POST = 3;
const SCHEME_HTTP = 6;
const AUTHORITY = 1;
const PATH = 4;
const CONTENT_TYPE = 31;
const USER_AGENT = 58;
const LAST_STATIC = 61;

/** POST of `path` to `authority`, as gRPC wants it; all literals without indexing. */
export function requestHeaders(authority: string, path: string, userAgent: string): Buffer {
  return Buffer.concat([
    Buffer.from([0x80 | POST, 0x80 | SCHEME_HTTP]),
    ...[integer(PATH, 4), text(path)],
    ...[integer(AUTHORITY, 4), text(authority)],
    ...[integer(CONTENT_TYPE, 4), text('application/grpc')],
    ...[integer(0, 4), text('te'), text('trailers')],
    ...[integer(USER_AGENT, 4), text(userAgent)],
  ]);
}

/** With `bits` bits of the first byte, the others 0. */
function integer(value: number, bits: number): Buffer {
  const most = (1 << bits) - 1;
  if (value < most) return Buffer.from([value]);
  const bytes = [most];
  let rest = value - most;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([integer(bytes.length, 7), bytes]);
}

// There is one way to write a text plainly, and one with the Huffman code: both are compared as they are.
const STATUS_NAMES = [text('grpc-status'), Buffer.from('889acac8b21234da8f', 'hex')];
const ZEROES = [text('0'), Buffer.from('8107', 'hex')];

/** False also for what is no header block, and for one that needs a dynamic table. */
export function saysStatusOk(block: Buffer): boolean {
  const reader = new BlockReader(block);
  let isOk = false;
  while (reader.isWell && !reader.isAtEnd) {
    const kind = reader.peek();
    if ((kind & 0x80) !== 0) {
      reader.index(7); // a whole entry of the static table, where no status of gRPC is
    } else if ((kind & 0xe0) === 0x20) {
      reader.integer(5); // the size of the dynamic table
    } else {
      const index = reader.index((kind & 0x40) !== 0 ? 6 : 4);
      const name = index === 0 ? reader.text() : undefined;
      const value = reader.text();
      if (name === undefined || !STATUS_NAMES.some((one) => one.equals(name))) continue;
      if (!ZEROES.some((one) => one.equals(value))) return false;
      isOk = true;
    }
  }
  return isOk && reader.isWell;
}

/** Over any bytes: it reads nothing past the end, and always moves on. */
class BlockReader {
  /** Nothing was cut off or too large, and nothing lies beyond the static table. */
  isWell = true;
  readonly #block: Buffer;
  #at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#block.length;
  }

  peek(): number {
    return this.#block[this.#at] ?? 0;
  }

  index(bits: number): number {
    const value = this.integer(bits);
    if (value > LAST_STATIC) this.isWell = false;
    return value;
  }

  /** The low `bits` bits of this byte; when all are set, three more bytes at the most. */
  integer(bits: number): number {
    const most = (1 << bits) - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let shift = 0; shift < 21; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    this.isWell = false;
    return value;
  }

  /** As it is written: its length, plain or in the Huffman code, and its bytes. */
  text(): Buffer {
    const start = this.#at;
    const length = this.integer(7);
    this.#at += length;
    if (this.#at > this.#block.length) this.isWell = false;
    return this.#block.subarray(start, this.#at);
  }

  #byte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) this.isWell = false;
    return byte ?? 0;
  }
}
