/**
 * Owns: the grpc handler (spec: probes.md §3.4): one call of grpc.health.v1.Health/Check without TLS.
 * Unlike the kubelet, which connects anew for each attempt: a connection over which a check went well serves the
 * same worker for ten seconds, which halves what frequent probes cost. A server that takes no new connections is
 * noticed that much later; with a period of ten seconds or more every attempt has a connection of its own.
 * Unlike the kubelet, which tries again until the time is up: a refused connection is a failure at once.
 */
import { goDuration } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import { joinHostPort, probeHost, probePort } from './address.ts';
import { GrpcSession } from './grpc-session.ts';
import type { GrpcAnswer, GrpcTarget } from './grpc-session.ts';
import type { RpcStatus } from './grpc-status.ts';
import { healthRequest, healthStatus, unframe } from './health-message.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import { SUCCESS, failure } from './model.ts';
import { dialErrorText } from './net-error.ts';
import type { TimeLimit } from './time-limit.ts';
import { TimeIsUp } from './time-limit.ts';

const KEPT_MS = 10_000;

export interface GrpcProberDeps {
  readonly userAgent: string;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export class GrpcProber {
  readonly #deps: GrpcProberDeps;
  /** What a worker keeps, by its limit, which is its own. */
  readonly #kept = new WeakMap<TimeLimit, KeptSession>();

  constructor(deps: GrpcProberDeps) {
    this.#deps = deps;
  }

  /** @throws IsletError for a host or port that cannot be probed */
  async probe(subject: ProbeSubject, limit: TimeLimit): Promise<Outcome> {
    const { probe, container, containerId } = subject;
    const host = probeHost(subject, undefined);
    const port = probePort(container, probe.grpc?.port ?? 0);
    const target: GrpcTarget = { host, port, address: joinHostPort(host, port) };
    const request = healthRequest(probe.grpc?.service ?? '');
    const timeoutMs = probe.timeoutSeconds * 1000;
    const kept = this.#keptOf(limit);
    const call = new Call(kept.take(containerId, target.address, this.#now()), target);
    try {
      const answer = await limit.within(timeoutMs, (signal) =>
        call.run(request, this.#deps.userAgent, signal, () => this.#now()),
      );
      limit.throwIfStopped();
      const outcome = judge(answer, timeoutMs);
      if (outcome === SUCCESS && asksOften(subject)) kept.put(containerId, call.release());
      return outcome;
    } catch (error) {
      limit.throwIfStopped();
      return failed(error, target.address, timeoutMs, call.isConnected);
    } finally {
      call.close();
    }
  }

  #now(): number {
    return this.#deps.clock.monotonic();
  }

  #keptOf(limit: TimeLimit): KeptSession {
    const known = this.#kept.get(limit);
    if (known) return known;
    const kept = new KeptSession();
    this.#kept.set(limit, kept);
    limit.onStop(() => kept.close());
    return kept;
  }
}

/** After the success of a startup probe, or for a long time, nothing is asked any more. */
function asksOften({ kind, probe }: ProbeSubject): boolean {
  return kind !== 'startup' && probe.periodSeconds * 1000 < KEPT_MS;
}

interface Connection {
  readonly session: GrpcSession;
  /** Monotonic: when it was made. */
  readonly sinceMs: number;
}

/** The connection of one worker between two attempts, if any. */
class KeptSession {
  #connection: Connection | undefined;
  #containerId = '';

  /** What is still good for this container at this address; what is not is closed. */
  take(containerId: string, address: string, nowMs: number): Connection | undefined {
    const found = this.#connection;
    this.#connection = undefined;
    if (!found) return undefined;
    const isGood =
      found.session.isUsable &&
      found.session.address === address &&
      this.#containerId === containerId &&
      nowMs - found.sinceMs < KEPT_MS;
    if (!isGood) found.session.close();
    return isGood ? found : undefined;
  }

  put(containerId: string, connection: Connection | undefined): void {
    this.#containerId = containerId;
    this.#connection = connection;
  }

  close(): void {
    this.#connection?.session.close();
    this.#connection = undefined;
  }
}

/** One attempt: over the connection that was kept, or over a new one. */
class Call {
  readonly #target: GrpcTarget;
  #connection: Connection | undefined;

  constructor(kept: Connection | undefined, target: GrpcTarget) {
    this.#connection = kept;
    this.#target = target;
  }

  get isConnected(): boolean {
    return this.#connection?.session.isConnected ?? false;
  }

  async run(
    request: Buffer,
    userAgent: string,
    signal: AbortSignal,
    now: () => number,
  ): Promise<GrpcAnswer> {
    if (this.#connection) {
      try {
        return await this.#connection.session.check(request, userAgent, signal);
      } catch (error) {
        // The server may have closed it between two attempts: that says nothing about the container.
        if (signal.aborted) throw error;
        this.close();
      }
    }
    this.#connection = { session: new GrpcSession(this.#target), sinceMs: now() };
    return this.#connection.session.check(request, userAgent, signal);
  }

  /** Hands the connection over; this call does not close it any more. */
  release(): Connection | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    return connection;
  }

  close(): void {
    this.release()?.session.close();
  }
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
