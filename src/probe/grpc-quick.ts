/**
 * Owns: one connection to a server and frequent health checks on it, one at a time, in plain HTTP/2 frames over a
 * socket: of the protocol just what an answer of SERVING needs. A check costs two fifths of one on a
 * kept connection of Node's HTTP/2, whose objects for each stream are the price.
 * Invariants: the only answer that is given is `true`, for a whole HealthCheckResponse of SERVING and trailers that
 * say `grpc-status: 0`; anything else, however well formed, closes the connection and is `false`, for the full
 * client (grpc-session.ts) to ask again. What is read and kept is bounded, whatever is sent.
 *
 *   we    preface SETTINGS · HEADERS DATA             HEADERS DATA …
 *   they  SETTINGS ─▶ we acknowledge · HEADERS DATA HEADERS(end) …
 *
 * We allow no dynamic table, so header blocks can be read without remembering any. No window has to be moved: both
 * sides send far less on one connection than its first window holds.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { GrpcTarget } from './grpc-session.ts';
import { HEALTH_CHECK } from './grpc-session.ts';
import { frame, healthStatus, unframe } from './health-message.ts';
import { requestHeaders, saysStatusOk } from './hpack.ts';

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PUSH_PROMISE = 5;
const PING = 6;
const GOAWAY = 7;
const CONTINUATION = 9;

const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;

const FRAME_HEAD = 9;
/** Of a frame with its head. Peers may send twice as much; no part of a health check is near that. */
const MAX_FRAME_BYTES = 8 * 1024;
const MAX_ANSWER_BYTES = 1024;
/** Less than the first window of a connection, for what is taken, and, with MAX_QUICK_SERVICE, for what is sent. */
const MAX_CONNECTION_BYTES = 48 * 1024;
const MAX_CONNECTION_CHECKS = 40;
/** Characters of a service that is asked about in this way; a longer name is for the full client. */
export const MAX_QUICK_SERVICE = 256;

const INITIAL_WINDOW_SIZE = 4;
/** HEADER_TABLE_SIZE and ENABLE_PUSH are 0. */
const OUR_SETTINGS = Buffer.from([0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
const HELLO = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frameOf(SETTINGS, 0, OUR_SETTINGS),
]);
const SETTINGS_ACK = frameOf(SETTINGS, ACK, Buffer.alloc(0));
const EMPTY = Buffer.alloc(0);

export class QuickConnection {
  readonly address: string;
  /** The other side has spoken HTTP/2. */
  isConnected = false;
  /** How many checks have gone well. */
  successes = 0;
  readonly #socket: Socket;
  /** HEADERS and DATA of a check; each time with the number of its stream. */
  readonly #request: Buffer;
  readonly #dataBytes: number;
  #stream = -1;
  #isClosed = false;
  #received = 0;
  /** The beginning of a frame that is not whole. */
  #rest: Buffer = EMPTY;
  /** The message of the answer, as far as it has come. */
  #body: Buffer = EMPTY;
  /** There while a check is under way. */
  #settle: ((isServing: boolean) => void) | undefined;

  /** `readBuffer` may serve many connections: it is empty again before anything else is read. */
  constructor(target: GrpcTarget, message: Buffer, userAgent: string, readBuffer: Buffer) {
    const { host, port, address } = target;
    this.address = address;
    const data = frame(message);
    this.#dataBytes = data.length;
    this.#request = Buffer.concat([
      frameOf(HEADERS, END_HEADERS, requestHeaders(address, HEALTH_CHECK, userAgent)),
      frameOf(DATA, END_STREAM, data),
    ]);
    const callback = (length: number): boolean => {
      this.#read(readBuffer.subarray(0, length));
      return true;
    };
    this.#socket = connect({ host, port, noDelay: true, onread: { buffer: readBuffer, callback } });
    const close = (): void => this.close();
    this.#socket.on('error', close).on('end', close).on('close', close);
  }

  /** Whether another check may be tried on it. */
  get isUsable(): boolean {
    return !this.#isClosed && this.successes < MAX_CONNECTION_CHECKS;
  }

  /** Whether the server is SERVING; false: ask in another way. Rejects with the reason of the signal only. */
  check(signal: AbortSignal): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    this.#stream += 2;
    this.#body = EMPTY;
    this.#request.writeUInt32BE(this.#stream, 5);
    this.#request.writeUInt32BE(this.#stream, this.#request.length - this.#dataBytes - 4);
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.#settle = undefined;
        this.close();
        reject(signal.reason as Error);
      };
      this.#settle = (isServing) => {
        this.#settle = undefined;
        signal.removeEventListener('abort', stop);
        resolve(isServing);
      };
      signal.addEventListener('abort', stop, { once: true });
      this.#socket.write(this.#stream > 1 ? this.#request : Buffer.concat([HELLO, this.#request]));
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rest = EMPTY;
    this.#socket.destroy();
    this.#settle?.(false);
  }

  #read(chunk: Buffer): void {
    this.#received += chunk.length;
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let isGood = this.#received <= MAX_CONNECTION_BYTES;
    while (isGood && bytes.length >= FRAME_HEAD) {
      const end = FRAME_HEAD + bytes.readUIntBE(0, 3);
      isGood = end <= MAX_FRAME_BYTES;
      if (!isGood || end > bytes.length) break;
      const stream = bytes.readUInt32BE(5) & 0x7fffffff;
      const payload = bytes.subarray(FRAME_HEAD, end);
      isGood = this.#takeFrame(bytes[3] ?? 0, bytes[4] ?? 0, stream, payload);
      bytes = bytes.subarray(end);
    }
    if (!isGood) this.close();
    else this.#rest = bytes.length === 0 ? EMPTY : Buffer.from(bytes);
  }

  /** Whether it was understood. */
  #takeFrame(type: number, flags: number, stream: number, payload: Buffer): boolean {
    if (!this.isConnected && type !== SETTINGS) return false;
    const isOurs = this.#settle !== undefined && stream === this.#stream;
    switch (type) {
      case DATA:
        this.#body = Buffer.concat([this.#body, payload]);
        return isOurs && flags === 0 && this.#body.length <= MAX_ANSWER_BYTES;
      case HEADERS:
        if (flags === END_HEADERS) return isOurs && this.#body.length === 0;
        return isOurs && flags === (END_HEADERS | END_STREAM) && this.#takeEnd(payload);
      case SETTINGS:
        return (flags & ACK) !== 0 || this.#takeSettings(payload);
      case PING:
        if (payload.length !== 8) return false;
        if ((flags & ACK) === 0) this.#socket.write(frameOf(PING, ACK, payload));
        return true;
      case RST_STREAM:
        return this.#settle === undefined; // of a check that is over
      case PUSH_PROMISE:
      case GOAWAY:
      case CONTINUATION:
        return false;
      default:
        return true;
    }
  }

  #takeSettings(payload: Buffer): boolean {
    if (payload.length % 6 !== 0) return false;
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== INITIAL_WINDOW_SIZE) continue;
      if (payload.readUInt32BE(at + 2) < this.#dataBytes) return false;
    }
    this.isConnected = true;
    this.#socket.write(SETTINGS_ACK);
    return true;
  }

  #takeEnd(trailers: Buffer): boolean {
    const message = unframe(this.#body);
    if (!message || healthStatus(message) !== 'SERVING' || !saysStatusOk(trailers)) return false;
    this.successes++;
    this.#settle?.(true);
    return true;
  }
}

function frameOf(type: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  return Buffer.concat([head, payload]);
}
