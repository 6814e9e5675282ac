/**
 * Owns: what the tests of the handlers share: a subject to probe, a limit in time, servers on free ports.
 */
import type { AddressInfo, Server } from 'node:net';
import type { Container, Probe } from '../../../src/api/pod.ts';
import type { ProbeSubject } from '../../../src/probe/model.ts';
import { TimeLimit } from '../../../src/probe/time-limit.ts';
import type { Clock } from '../../../src/util/clock.ts';
import { ManualClock } from '../../support/clock.ts';
import { containerOf, podOf } from '../../support/pods.ts';

export function probe(more: Partial<Probe>): Probe {
  return {
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
    ...more,
  };
}

export function subjectOf(
  handler: Partial<Probe>,
  container: Partial<Container> = {},
  podIp: string | undefined = '127.0.0.1',
): ProbeSubject {
  const made = probe(handler);
  const probed = containerOf('app', { readinessProbe: made, ...container });
  return {
    kind: 'readiness',
    pod: podOf({ containers: [probed] }),
    container: probed,
    probe: made,
    containerId: 'c1',
    podIp,
  };
}

/** Time stands still unless the test moves it. */
export function limitOf(
  clock: Clock = new ManualClock(),
  stop: AbortSignal = new AbortController().signal,
): TimeLimit {
  return new TimeLimit(clock, stop);
}

export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** A port on which nobody listens. */
export async function closedPort(): Promise<number> {
  const { createServer } = await import('node:net');
  const server = createServer();
  const port = await listen(server);
  await close(server);
  return port;
}
