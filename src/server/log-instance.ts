/**
 * Owns: which instance of a container a request for its log means: pure, from the pod's status.
 * Spec: http-api.md §3, with its error texts.
 * Leaves to others: where the file of an instance lies (log-file.ts).
 */
import type { ContainerStatus } from '../api/status.ts';
import type { Pod } from '../api/pod.ts';
import { WaitingReason } from '../api/reasons.ts';

export interface LogInstance {
  readonly containerId: string;
  /** Whether it is the instance that the status calls running. */
  readonly running: boolean;
  /**
   * The instance's number, which names its log file. `atMost`: it is the one before a known number, so
   * normally that minus one, or less where numbers were skipped.
   */
  readonly attempt: number;
  readonly attemptIs: 'exact' | 'atMost';
}

export type LogInstanceResult =
  | { readonly ok: true; readonly instance: LogInstance }
  | { readonly ok: false; readonly error: string };

export function selectLogInstance(pod: Pod, name: string, previous: boolean): LogInstanceResult {
  const podName = pod.metadata.name;
  const status = containerStatus(pod, name);
  if (!status) return fail(`container ${quote(name)} in pod ${quote(podName)} is not available`);
  const last = lastInstance(status);
  if (previous) {
    if (last) return { ok: true, instance: last };
    return fail(`previous terminated container ${quote(name)} in pod ${quote(podName)} not found`);
  }
  const { running, terminated, waiting } = status.state;
  if (running) return current(status, status.containerID ?? '', true);
  if (terminated?.containerID) return current(status, terminated.containerID, false);
  if (last) return { ok: true, instance: last };
  if (terminated) return fail(`container ${quote(name)} in pod ${quote(podName)} is not available`);
  return fail(
    `container ${quote(name)} in pod ${quote(podName)} is ${whyWaiting(waiting?.reason)}`,
  );
}

export function containerStatus(pod: Pod, name: string): ContainerStatus | undefined {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = pod.status;
  return [
    ...(containerStatuses ?? []),
    ...(initContainerStatuses ?? []),
    ...(ephemeralContainerStatuses ?? []),
  ].find((status) => status.name === name);
}

/**
 * The instance in `lastState`. The restart count is that of the newest instance: this one itself
 * while the container waits for its next start, else the one after it.
 */
function lastInstance(status: ContainerStatus): LogInstance | undefined {
  const id = status.lastState.terminated?.containerID;
  if (!id) return undefined;
  const newest = status.state.terminated?.containerID ?? status.containerID ?? id;
  return {
    containerId: id,
    running: false,
    attempt: newest === id ? status.restartCount : status.restartCount - 1,
    attemptIs: 'atMost',
  };
}

function current(
  status: ContainerStatus,
  containerId: string,
  running: boolean,
): LogInstanceResult {
  const attempt = status.restartCount;
  return { ok: true, instance: { containerId, running, attempt, attemptIs: 'exact' } };
}

function whyWaiting(reason: string | undefined): string {
  if (reason === WaitingReason.ErrImagePull) return "waiting to start: image can't be pulled";
  if (reason === WaitingReason.ImagePullBackOff) {
    return 'waiting to start: trying and failing to pull image';
  }
  return `waiting to start: ${reason ?? 'unknown'}`;
}

function fail(error: string): LogInstanceResult {
  return { ok: false, error };
}

function quote(name: string): string {
  return JSON.stringify(name);
}
