/**
 * Owns: the tcpSocket handler (spec: probes.md §3.2): whether somebody accepts the connection.
 * Unlike the kubelet: no SO_LINGER, which Node cannot set; a closed probe connection stays in TIME_WAIT
 * for the system's time, on ports of its own for each pod.
 */
import { connect } from 'node:net';
import { messageOf } from '../util/errors.ts';
import { joinHostPort, probeHost, probePort } from './address.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import { SUCCESS, failure } from './model.ts';
import { dialErrorText, dialTimeoutText } from './net-error.ts';
import type { TimeLimit } from './time-limit.ts';
import { TimeIsUp } from './time-limit.ts';

/** @throws IsletError for a host or port that cannot be probed */
export async function probeTcp(subject: ProbeSubject, limit: TimeLimit): Promise<Outcome> {
  const { probe, container } = subject;
  const port = probePort(container, probe.tcpSocket?.port ?? 0);
  const host = probeHost(subject, probe.tcpSocket?.host);
  const address = joinHostPort(host, port);
  try {
    await limit.within(probe.timeoutSeconds * 1000, (signal) => dial(host, port, signal));
    return SUCCESS;
  } catch (error) {
    limit.throwIfStopped();
    if (error instanceof TimeIsUp) return failure(dialTimeoutText(address));
    return failure(dialErrorText(error, address) ?? `dial tcp ${address}: ${messageOf(error)}`);
  }
}

function dial(host: string, port: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const finish = (): void => {
      signal.removeEventListener('abort', stop);
      socket.destroy();
    };
    const fail = (error: Error): void => {
      finish();
      reject(error);
    };
    const stop = (): void => fail(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    socket.once('connect', () => {
      finish();
      resolve();
    });
    // Also after the promise has settled: an error nobody listens to would end the process.
    socket.on('error', fail);
  });
}
