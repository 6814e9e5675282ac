/**
 * Owns: a pod on one line as `kubectl get pods` sums it up: READY, STATUS, RESTARTS, AGE. Pure.
 * The rules are kubectl's, so that scripts and habits carry over.
 */
import { isSidecar, type Pod } from '../api/pod.ts';
import { Annotation } from '../api/reasons.ts';
import type { ContainerStatus } from '../api/status.ts';

export interface PodSummary {
  readonly ready: number;
  /** Containers that count for readiness: regular ones and sidecars. */
  readonly total: number;
  readonly status: string;
  readonly restarts: number;
  /** When the last instance that was restarted had ended, wall milliseconds. */
  readonly lastRestartMs: number | undefined;
}

/** What one group of container statuses says, or a part of it. */
interface Tally {
  readonly ready: number;
  readonly restarts: number;
  readonly lastRestartMs: number;
}

const NONE: Tally = { ready: 0, restarts: 0, lastRestartMs: 0 };

export function podSummary(pod: Pod): PodSummary {
  const { spec, status } = pod;
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map((c) => c.name));
  const init = initTally(pod, sidecars);
  let reason = status.reason || status.phase || 'Unknown';
  let tally = init.all;
  if (init.reason !== undefined) reason = init.reason;
  if (init.reason === undefined || conditionTrue(pod, 'Initialized')) {
    const regular = regularTally(pod, reason);
    reason = regular.reason;
    tally = {
      ...add(init.sidecars, regular.tally),
      ready: init.all.ready + regular.tally.ready,
    };
  }
  const over = status.phase === 'Succeeded' || status.phase === 'Failed';
  if (pod.metadata.deletionTimestamp && !over) reason = 'Terminating';
  return {
    ready: tally.ready,
    total: spec.containers.length + sidecars.size,
    status: reason,
    restarts: tally.restarts,
    lastRestartMs: tally.lastRestartMs || undefined,
  };
}

/** When the pod came into being: as it says, else when it was started or its manifest first seen. */
export function podBirth(pod: Pod): string | undefined {
  return (
    pod.metadata.creationTimestamp ??
    pod.status.startTime ??
    pod.metadata.annotations?.[Annotation.configSeen]
  );
}

/** Up to and with the first init container that is not done; that one gives the reason. */
function initTally(
  pod: Pod,
  sidecars: ReadonlySet<string>,
): { all: Tally; sidecars: Tally; reason: string | undefined } {
  let all = NONE;
  let restartable = NONE;
  for (const [i, container] of (pod.status.initContainerStatuses ?? []).entries()) {
    const sidecar = sidecars.has(container.name);
    const mine = { ...restartsOf(container), ready: 0 };
    all = add(all, mine);
    if (sidecar) restartable = add(restartable, mine);
    if (container.state.terminated?.exitCode === 0) continue;
    if (sidecar && container.started) {
      if (container.ready) all = { ...all, ready: all.ready + 1 };
      continue;
    }
    return { all, sidecars: restartable, reason: `Init:${initReason(pod, container, i)}` };
  }
  return { all, sidecars: restartable, reason: undefined };
}

function initReason(pod: Pod, container: ContainerStatus, index: number): string {
  const { terminated, waiting } = container.state;
  if (terminated) return terminated.reason || exitReason(terminated);
  if (waiting?.reason && waiting.reason !== 'PodInitializing') return waiting.reason;
  return `${index}/${(pod.spec.initContainers ?? []).length}`;
}

function regularTally(pod: Pod, before: string): { tally: Tally; reason: string } {
  let tally = NONE;
  let reason = before;
  let running = false;
  for (const container of (pod.status.containerStatuses ?? []).toReversed()) {
    const { waiting, terminated } = container.state;
    let ready = 0;
    if (waiting?.reason) reason = waiting.reason;
    else if (terminated) reason = terminated.reason || exitReason(terminated);
    else if (container.ready && container.state.running) {
      running = true;
      ready = 1;
    }
    tally = add(tally, { ...restartsOf(container), ready });
  }
  if (reason === 'Completed' && running) {
    reason = conditionTrue(pod, 'Ready') ? 'Running' : 'NotReady';
  }
  return { tally, reason };
}

function restartsOf(container: ContainerStatus): Omit<Tally, 'ready'> {
  const finished = Date.parse(container.lastState.terminated?.finishedAt ?? '');
  return {
    restarts: container.restartCount,
    lastRestartMs: Number.isNaN(finished) ? 0 : finished,
  };
}

function add(a: Tally, b: Tally): Tally {
  return {
    ready: a.ready + b.ready,
    restarts: a.restarts + b.restarts,
    lastRestartMs: Math.max(a.lastRestartMs, b.lastRestartMs),
  };
}

function exitReason(terminated: { exitCode: number; signal?: number }): string {
  return terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
}

function conditionTrue(pod: Pod, type: string): boolean {
  return (pod.status.conditions ?? []).some((c) => c.type === type && c.status === 'True');
}
