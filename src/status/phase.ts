/**
 * Owns: the phase that follows from the container statuses (spec: pod-lifecycle.md §12.1). Pure.
 * Leaves to others: that a terminal phase stays, and the active deadline (generate.ts).
 */
import { isSidecar } from '../api/pod.ts';
import type { Container, Pod } from '../api/pod.ts';
import { isStaticPod } from '../api/priority.ts';
import type {
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  PodPhase,
} from '../api/status.ts';
import type { RuntimePodStatus } from '../runtime/model.ts';
import { isRestartingAll } from '../runtime/restart-all.ts';
import { initFailed, shouldRestart } from '../runtime/restart-policy.ts';
import { endedForRestart } from './container-state.ts';
import type { ContainerStatuses } from './container-status.ts';

interface Counts {
  /** Regular init containers that have not ended once. */
  initPending: number;
  /** … that failed for good. */
  initFailed: number;
  sidecarsPending: number;
  /** Over sidecars and regular containers. */
  running: number;
  waiting: number;
  unknown: number;
  /** Over regular containers only. */
  stopped: number;
  succeeded: number;
  stoppedFinal: number;
}

export function phaseOf(
  pod: Pod,
  runtime: RuntimePodStatus,
  statuses: ContainerStatuses,
  terminal: boolean,
): PodPhase {
  const phase = phaseNow(pod, runtime, statuses, terminal);
  // What ended is about to run again, whatever the policies say (§6.1).
  const startsOver = !terminal && isRestartingAll(pod, runtime);
  return startsOver && (phase === 'Succeeded' || phase === 'Failed') ? 'Running' : phase;
}

function phaseNow(
  pod: Pod,
  runtime: RuntimePodStatus,
  statuses: ContainerStatuses,
  terminal: boolean,
): PodPhase {
  const n = count(pod, statuses);
  if (n.initFailed > 0) return 'Failed';
  const sidecarsHoldBack = n.sidecarsPending > 0 && !regularInActiveSandbox(pod, runtime);
  if (n.initPending > 0 || sidecarsHoldBack || n.waiting > 0) return 'Pending';
  if (n.unknown > 0) return 'Pending';
  if (n.running > 0) return 'Running';
  if (n.stopped === 0) return 'Pending';
  // A static pod that was stopped from outside has not ended: its phase says what its containers do.
  if (terminal && !isStaticPod(pod)) return n.stopped === n.succeeded ? 'Succeeded' : 'Failed';
  if (n.stopped !== n.stoppedFinal) return 'Running';
  return n.stopped === n.succeeded ? 'Succeeded' : 'Failed';
}

function count(pod: Pod, statuses: ContainerStatuses): Counts {
  const n: Counts = {
    initPending: 0,
    initFailed: 0,
    sidecarsPending: 0,
    running: 0,
    waiting: 0,
    unknown: 0,
    stopped: 0,
    succeeded: 0,
    stoppedFinal: 0,
  };
  for (const container of pod.spec.initContainers ?? []) {
    const status = statuses.init.find((s) => s.name === container.name);
    if (isSidecar(container)) countSidecar(n, status);
    else countInit(n, pod, container, status?.state, status?.lastState);
  }
  for (const container of pod.spec.containers) {
    const status = statuses.regular.find((s) => s.name === container.name);
    countRegular(n, pod, container, status?.state, status?.lastState);
  }
  return n;
}

function countInit(
  n: Counts,
  pod: Pod,
  container: Container,
  state: ContainerState | undefined,
  lastState: ContainerState | undefined,
): void {
  const ended = endOf(state, lastState);
  if (ended === undefined) n.initPending++;
  else if (initFailed(ended) && isFinal(pod, container, ended)) n.initFailed++;
}

function countSidecar(n: Counts, status: ContainerStatus | undefined): void {
  if (status?.state.running !== undefined) {
    n.running++;
    if (!status.started) n.sidecarsPending++;
  } else if (endOf(status?.state, status?.lastState) === undefined) {
    n.sidecarsPending++;
    if (status?.state.waiting === undefined) n.unknown++;
    else n.waiting++;
  }
}

function countRegular(
  n: Counts,
  pod: Pod,
  container: Container,
  state: ContainerState | undefined,
  lastState: ContainerState | undefined,
): void {
  if (state?.running !== undefined) {
    n.running++;
    return;
  }
  const ended = endOf(state, lastState);
  if (ended !== undefined) {
    n.stopped++;
    if (state?.terminated?.exitCode === 0) n.succeeded++;
    if (isFinal(pod, container, ended)) n.stoppedFinal++;
  } else if (state?.waiting !== undefined) {
    n.waiting++;
  } else {
    n.unknown++;
  }
}

function isFinal(pod: Pod, container: Container, end: ContainerStateTerminated): boolean {
  return !endedForRestart(end) && !shouldRestart(pod, container, end);
}

/** How it ended: terminated now, or waiting with a last run. */
function endOf(
  state: ContainerState | undefined,
  lastState: ContainerState | undefined,
): ContainerState['terminated'] {
  if (state?.terminated !== undefined) return state.terminated;
  return state?.waiting === undefined ? undefined : lastState?.terminated;
}

function regularInActiveSandbox(pod: Pod, runtime: RuntimePodStatus): boolean {
  const active = runtime.sandboxes[0];
  return (
    active?.state === 'ready' &&
    runtime.containers.some(
      (r) => r.sandboxId === active.id && pod.spec.containers.some((c) => c.name === r.name),
    )
  );
}
