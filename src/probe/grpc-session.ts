/**
 * Owns: one HTTP/2 connection to a server and the health check on it. It is so small that it is made on Node's
 * HTTP/2: a channel of grpc-js costs three times as much.
 * Invariant: whatever goes wrong on the connection ends the check that is under way, and nothing else.
 */
import { connect as connectHttp2 } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import type { RpcStatus } from './grpc-status.ts';
import { rpcStatusOf } from './grpc-status.ts';
import { frame } from './health-message.ts';

export interface GrpcTarget {
  readonly host: string;
  readonly port: number;
  /** Host and port. */
  readonly address: string;
}

export interface GrpcAnswer {
  readonly status: RpcStatus;
  readonly body: Buffer;
}

export const HEALTH_CHECK = '/grpc.health.v1.Health/Check';
/** No answer to a health check is longer. */
const MAX_ANSWER_BYTES = 4096;

export class GrpcSession {
  /** The other side has spoken HTTP/2. */
  isConnected = false;
  readonly #session: ClientHttp2Session;
  #onError: ((error: Error) => void) | undefined;

  constructor({ host, port, address }: GrpcTarget) {
    const socket = connect({ host, port });
    this.#session = connectHttp2(`http://${address}`, { createConnection: () => socket });
    // Errors come in several guises, also when no check is under way, where they mean nothing.
    const onError = (error: Error): void => this.#onError?.(error);
    socket.on('error', onError);
    this.#session.on('error', onError);
    this.#session.once('remoteSettings', () => (this.isConnected = true));
  }

  /** Rejects with the error of the connection, or the reason of the signal. */
  check(request: Buffer, userAgent: string, signal: AbortSignal): Promise<GrpcAnswer> {
    return new Promise((resolve, reject) => {
      const stop = (): void => settle(signal.reason as Error);
      const settle = (error: Error | undefined, answer?: GrpcAnswer): void => {
        signal.removeEventListener('abort', stop);
        this.#onError = undefined;
        if (answer) resolve(answer);
        else reject(error ?? new Error('the connection was closed'));
      };
      signal.addEventListener('abort', stop, { once: true });
      this.#onError = settle;
      const stream = this.#session.request({
        ':method': 'POST',
        ':path': HEALTH_CHECK,
        'content-type': 'application/grpc',
        te: 'trailers',
        'user-agent': userAgent,
      });
      collect(stream, settle);
      stream.end(frame(request));
    });
  }

  close(): void {
    this.#session.destroy();
  }
}

function collect(
  stream: ClientHttp2Stream,
  settle: (error: Error | undefined, answer?: GrpcAnswer) => void,
): void {
  let head: IncomingHttpHeaders = {};
  let tail: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on('response', (headers) => (head = headers));
  stream.on('trailers', (headers: IncomingHttpHeaders) => (tail = headers));
  stream.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length <= MAX_ANSWER_BYTES) chunks.push(chunk);
  });
  stream.on('error', settle);
  stream.once('close', () => {
    const status = rpcStatusOf(head, tail);
    if (status) settle(undefined, { status, body: Buffer.concat(chunks) });
    else settle(undefined);
  });
}
