/**
 * Owns: the grpc handler (spec: probes.md §3.4): grpc.health.v1.Health/Check without TLS, on a connection
 * of its own.
 * Unlike the kubelet, which tries again until the time is up: a refused connection is a failure at once.
 */
import { Channel, Metadata, connectivityState, credentials, status as Status } from '@grpc/grpc-js';
import type { ChannelOptions, StatusObject } from '@grpc/grpc-js';
import { isIP } from 'node:net';
import { goDuration } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { joinHostPort, probeHost, probePort } from './address.ts';
import { healthRequest, healthStatus } from './health-message.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import { SUCCESS, failure } from './model.ts';
import { TimeIsUp, within } from './within.ts';

export interface GrpcProbeDeps {
  readonly clock: Clock;
  readonly userAgent: string;
}

interface Answer {
  readonly outcome: StatusObject;
  readonly message: Uint8Array | undefined;
}

const METHOD = '/grpc.health.v1.Health/Check';

/** @throws IsletError for a host or port that cannot be probed */
export async function probeGrpc(
  deps: GrpcProbeDeps,
  subject: ProbeSubject,
  signal: AbortSignal,
): Promise<Outcome> {
  const { probe, container } = subject;
  const host = probeHost(subject, undefined);
  const address = joinHostPort(host, probePort(container, probe.grpc?.port ?? 0));
  const channel = new Channel(
    targetOf(host, address),
    credentials.createInsecure(),
    optionsOf(address, deps.userAgent),
  );
  const timeoutMs = probe.timeoutSeconds * 1000;
  try {
    const answer = await within(deps.clock, timeoutMs, signal, (inner) =>
      check(channel, probe.grpc?.service ?? '', inner),
    );
    return judge(answer, address, timeoutMs, isConnected(channel));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TimeIsUp)) throw error;
    return failure(
      isConnected(channel)
        ? rpcTimeout(timeoutMs)
        : `timeout: failed to connect service "${address}" within ${goDuration(timeoutMs)}: context deadline exceeded`,
    );
  } finally {
    channel.close();
  }
}

/** Addresses go past the resolver of names. */
function targetOf(host: string, address: string): string {
  const family = isIP(host);
  return family === 0 ? `dns:${address}` : `ipv${family}:${address}`;
}

function optionsOf(address: string, userAgent: string): ChannelOptions {
  return {
    'grpc.primary_user_agent': userAgent,
    'grpc.default_authority': address,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0,
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
    // Without it the next probe would find this connection again.
    'grpc.use_local_subchannel_pool': 1,
  };
}

function check(channel: Channel, service: string, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let message: Uint8Array | undefined;
    const call = channel.createCall(METHOD, Infinity, null, null, null);
    const stop = (): void => {
      reject(signal.reason as Error);
      call.cancelWithStatus(Status.CANCELLED, 'given up');
    };
    signal.addEventListener('abort', stop, { once: true });
    call.start(new Metadata(), {
      onReceiveMetadata: () => {},
      onReceiveMessage: (received: Uint8Array) => (message = received),
      onReceiveStatus: (outcome) => resolve({ outcome, message }),
    });
    call.sendMessageWithContext({}, healthRequest(service));
    call.halfClose();
    call.startRead();
  });
}

function judge(
  { outcome, message }: Answer,
  address: string,
  timeoutMs: number,
  connected: boolean,
): Outcome {
  const { code, details } = outcome;
  if (code === Status.OK) return judgeHealth(message);
  if (code === Status.DEADLINE_EXCEEDED) return failure(rpcTimeout(timeoutMs));
  if (code === Status.UNIMPLEMENTED) {
    return failure(
      `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`,
    );
  }
  if (code === Status.UNAVAILABLE && !connected) {
    return failure(`error: failed to connect service at "${address}": ${details}`);
  }
  return failure(`error: health rpc probe failed: ${rpcError(code, details)}`);
}

function judgeHealth(message: Uint8Array | undefined): Outcome {
  const health = message && healthStatus(message);
  if (health === 'SERVING') return SUCCESS;
  if (health !== undefined) return failure(`service unhealthy (responded with "${health}")`);
  return failure(`error: health rpc probe failed: ${rpcError(Status.INTERNAL, 'bad answer')}`);
}

function rpcTimeout(timeoutMs: number): string {
  return `timeout: health rpc did not complete within ${goDuration(timeoutMs)}`;
}

/** As Go prints an error of gRPC: `rpc error: code = NotFound desc = unknown service`. */
function rpcError(code: Status, details: string): string {
  const words = (code === Status.CANCELLED ? 'CANCELED' : Status[code]).toLowerCase().split('_');
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return `rpc error: code = ${name} desc = ${details}`;
}

function isConnected(channel: Channel): boolean {
  return channel.getConnectivityState(false) === connectivityState.READY;
}
