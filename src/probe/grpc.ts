/**
 * Owns: the grpc handler (spec: probes.md §3.4): one call of grpc.health.v1.Health/Check without TLS.
 * There are two ways to ask: the full client (grpc-session.ts) understands every answer, the quick connection
 * (grpc-quick.ts) only the good one, at two fifths of the cost (104 µs of CPU against 262). What the quick way does not understand is asked once
 * more, by the full client within the same time, and that answer counts.
 * Unlike the kubelet, which connects anew for each attempt: after a success a worker that asks often keeps a quick
 * connection for ten seconds. A server that takes no new connections is noticed that much later; with a period of
 * ten seconds or more every attempt has a connection of its own.
 * Unlike the kubelet, which tries again until the time is up: a refused connection is a failure at once.
 */
import { goDuration } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import { joinHostPort, probeHost, probePort } from './address.ts';
import { KEPT_MS, KeptConnection } from './grpc-kept.ts';
import { MAX_QUICK_SERVICE, QuickConnection } from './grpc-quick.ts';
import { GrpcSession } from './grpc-session.ts';
import type { GrpcAnswer, GrpcTarget } from './grpc-session.ts';
import type { RpcStatus } from './grpc-status.ts';
import { healthRequest, healthStatus, unframe } from './health-message.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import { SUCCESS, failure } from './model.ts';
import { dialErrorText } from './net-error.ts';
import type { TimeLimit } from './time-limit.ts';
import { TimeIsUp } from './time-limit.ts';

const READ_BYTES = 16 * 1024;

export interface GrpcProberDeps {
  readonly userAgent: string;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export class GrpcProber {
  readonly #deps: GrpcProberDeps;
  /** What a worker keeps, by its limit, which is its own. */
  readonly #kept = new WeakMap<TimeLimit, KeptConnection>();
  /** One for all quick connections. */
  readonly #readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);

  constructor(deps: GrpcProberDeps) {
    this.#deps = deps;
  }

  /** @throws IsletError for a host or port that cannot be probed */
  async probe(subject: ProbeSubject, limit: TimeLimit): Promise<Outcome> {
    const { probe, container } = subject;
    const host = probeHost(subject, undefined);
    const port = probePort(container, probe.grpc?.port ?? 0);
    const target: GrpcTarget = { host, port, address: joinHostPort(host, port) };
    const timeoutMs = probe.timeoutSeconds * 1000;
    const kept = this.#keptOf(limit);
    const quick = this.#quickOf(subject, target, kept);
    let full: GrpcSession | undefined;
    let outcome: Outcome;
    try {
      outcome = await limit.within(timeoutMs, async (signal) => {
        if (quick && (await quick.check(signal))) return SUCCESS;
        signal.throwIfAborted();
        full = new GrpcSession(target);
        const request = healthRequest(probe.grpc?.service ?? '');
        return judge(await full.check(request, this.#deps.userAgent, signal), timeoutMs);
      });
    } catch (error) {
      limit.throwIfStopped();
      const isConnected = (full ?? quick)?.isConnected ?? false;
      outcome = failed(error, target.address, timeoutMs, isConnected);
    } finally {
      full?.close();
    }
    limit.throwIfStopped();
    kept.learn(outcome === SUCCESS, full ? 'full' : 'quick');
    return outcome;
  }

  /** undefined: the full client is to be asked at once. */
  #quickOf(
    subject: ProbeSubject,
    target: GrpcTarget,
    kept: KeptConnection,
  ): QuickConnection | undefined {
    const service = subject.probe.grpc?.service ?? '';
    if (!asksOften(subject) || service.length > MAX_QUICK_SERVICE) return undefined;
    const key = `${subject.containerId} ${target.address} ${service}`;
    return kept.take(key, this.#deps.clock.monotonic(), () => {
      const request = healthRequest(service);
      return new QuickConnection(target, request, this.#deps.userAgent, this.#readBuffer);
    });
  }

  #keptOf(limit: TimeLimit): KeptConnection {
    const known = this.#kept.get(limit);
    if (known) return known;
    const kept = new KeptConnection();
    this.#kept.set(limit, kept);
    limit.onStop(() => kept.close());
    return kept;
  }
}

/** After the success of a startup probe, or for a long time, nothing is asked any more. */
function asksOften({ kind, probe }: ProbeSubject): boolean {
  return kind !== 'startup' && probe.periodSeconds * 1000 < KEPT_MS;
}

function failed(error: unknown, address: string, timeoutMs: number, isConnected: boolean): Outcome {
  if (error instanceof TimeIsUp) {
    if (isConnected) return rpcTimeout(timeoutMs);
    const within = `within ${goDuration(timeoutMs)}: context deadline exceeded`;
    return failure(`timeout: failed to connect service "${address}" ${within}`);
  }
  const why = dialErrorText(error, address);
  if (why !== undefined) return failure(`error: failed to connect service at "${address}": ${why}`);
  return rpcFailure({ code: 'Unavailable', message: messageOf(error) });
}

function judge({ status, body }: GrpcAnswer, timeoutMs: number): Outcome {
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
