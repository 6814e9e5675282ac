/**
 * Owns: the grpc handler (spec: probes.md §3.4): one call of grpc.health.v1.Health/Check without TLS, on a
 * connection of its own. The call is so small that it is made on Node's HTTP/2: a channel of grpc-js for
 * each probe costs three times as much.
 * Unlike the kubelet, which tries again until the time is up: a refused connection is a failure at once.
 */
import { connect as connectHttp2 } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { goDuration } from '../util/backoff.ts';
import { messageOf } from '../util/errors.ts';
import { joinHostPort, probeHost, probePort } from './address.ts';
import type { RpcStatus } from './grpc-status.ts';
import { rpcStatusOf } from './grpc-status.ts';
import { frame, healthRequest, healthStatus, unframe } from './health-message.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import { SUCCESS, failure } from './model.ts';
import { dialErrorText } from './net-error.ts';
import type { TimeLimit } from './time-limit.ts';
import { TimeIsUp } from './time-limit.ts';

const METHOD = '/grpc.health.v1.Health/Check';
/** No answer to a health check is longer. */
const MAX_ANSWER_BYTES = 4096;

/** @throws IsletError for a host or port that cannot be probed */
export async function probeGrpc(
  userAgent: string,
  subject: ProbeSubject,
  limit: TimeLimit,
): Promise<Outcome> {
  const { probe, container } = subject;
  const host = probeHost(subject, undefined);
  const port = probePort(container, probe.grpc?.port ?? 0);
  const address = joinHostPort(host, port);
  const timeoutMs = probe.timeoutSeconds * 1000;
  const call = new HealthCall(address, connect({ host, port }));
  try {
    const request = healthRequest(probe.grpc?.service ?? '');
    const answer = await limit.within(timeoutMs, (signal) => call.run(request, userAgent, signal));
    return judge(answer, timeoutMs);
  } catch (error) {
    limit.throwIfStopped();
    const shown = goDuration(timeoutMs);
    if (error instanceof TimeIsUp) {
      return call.isConnected
        ? rpcTimeout(timeoutMs)
        : failure(
            `timeout: failed to connect service "${address}" within ${shown}: context deadline exceeded`,
          );
    }
    const why = dialErrorText(error, address);
    if (why !== undefined)
      return failure(`error: failed to connect service at "${address}": ${why}`);
    return rpcFailure({ code: 'Unavailable', message: messageOf(error) });
  } finally {
    call.close();
  }
}

interface Answer {
  readonly status: RpcStatus;
  readonly body: Buffer;
}

/** One connection with one call on it. */
class HealthCall {
  /** The other side has spoken HTTP/2. */
  isConnected = false;
  readonly #address: string;
  readonly #socket: Socket;
  #session: ClientHttp2Session | undefined;

  constructor(address: string, socket: Socket) {
    this.#address = address;
    this.#socket = socket;
  }

  run(request: Buffer, userAgent: string, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', stop, { once: true });
      const settle = (error: Error | undefined, answer?: Answer): void => {
        signal.removeEventListener('abort', stop);
        if (answer) resolve(answer);
        else reject(error ?? new Error('the connection was closed'));
      };
      const session = connectHttp2(`http://${this.#address}`, {
        createConnection: () => this.#socket,
      });
      this.#session = session;
      // Errors come in several guises, also after the promise has settled, where they mean nothing.
      this.#socket.on('error', settle);
      session.on('error', settle);
      session.once('remoteSettings', () => (this.isConnected = true));
      const stream = session.request({
        ':method': 'POST',
        ':path': METHOD,
        'content-type': 'application/grpc',
        te: 'trailers',
        'user-agent': userAgent,
      });
      collect(stream, settle);
      stream.end(frame(request));
    });
  }

  close(): void {
    this.#session?.destroy();
    this.#socket.destroy();
  }
}

function collect(
  stream: ClientHttp2Stream,
  settle: (error: Error | undefined, answer?: Answer) => void,
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

function judge({ status, body }: Answer, timeoutMs: number): Outcome {
  switch (status.code) {
    case 'OK':
      return judgeHealth(body);
    case 'DeadlineExceeded':
      return rpcTimeout(timeoutMs);
    case 'Unimplemented':
      return failure(
        `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${status.message}`,
      );
    default:
      return rpcFailure(status);
  }
}

function judgeHealth(body: Buffer): Outcome {
  const message = unframe(body);
  const health = message && healthStatus(message);
  if (health === 'SERVING') return SUCCESS;
  if (health !== undefined) return failure(`service unhealthy (responded with "${health}")`);
  return rpcFailure({ code: 'Internal', message: 'the answer is no HealthCheckResponse' });
}

/** As Go prints an error of gRPC. */
function rpcFailure({ code, message }: RpcStatus): Outcome {
  return failure(`error: health rpc probe failed: rpc error: code = ${code} desc = ${message}`);
}

function rpcTimeout(timeoutMs: number): Outcome {
  return failure(`timeout: health rpc did not complete within ${goDuration(timeoutMs)}`);
}
