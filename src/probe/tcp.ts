/**
 * Owns: the tcpSocket handler (spec: probes.md §3.2): whether somebody accepts the connection.
 * Unlike the kubelet: no SO_LINGER, which Node cannot set; a closed probe connection stays in TIME_WAIT
 * for the system's time, on ports of its own for each pod.
 */
import { connect } from 'node:net';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import { joinHostPort, probeHost, probePort } from './address.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import { SUCCESS, failure } from './model.ts';
import { dialErrorText, dialTimeoutText } from './net-error.ts';
import { TimeIsUp, within } from './within.ts';

/** @throws IsletError for a host or port that cannot be probed */
export async function probeTcp(
  clock: Clock,
  subject: ProbeSubject,
  signal: AbortSignal,
): Promise<Outcome> {
  const { probe, container } = subject;
  const port = probePort(container, probe.tcpSocket?.port ?? 0);
  const host = probeHost(subject, probe.tcpSocket?.host);
  const address = joinHostPort(host, port);
  try {
    await within(clock, probe.timeoutSeconds * 1000, signal, (inner) => dial(host, port, inner));
    return SUCCESS;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TimeIsUp) return failure(dialTimeoutText(address));
    return failure(dialErrorText(error, address) ?? `dial tcp ${address}: ${messageOf(error)}`);
  }
}

function dial(host: string, port: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const stop = (): void => {
      socket.destroy();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', stop, { once: true });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    // Also after the promise has settled: an error nobody listens to would end the process.
    socket.on('error', reject);
  });
}
