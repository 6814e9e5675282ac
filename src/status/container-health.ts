/**
 * Owns: whether a container counts as started and as ready (spec: pod-lifecycle.md §12.2, probes.md §2.3).
 * Pure.
 * Leaves to others: probing (probe/), whose results come in as look-ups.
 */
import type { Container } from '../api/pod.ts';
import type { ContainerStatus } from '../api/status.ts';
import type { StatusInput } from './input.ts';

/**
 * `started` and `ready` (spec: probes.md §2.3). Unlike the kubelet: without a result yet, what was
 * reported of the same container id stays, so a restart of the agent makes no running container unready.
 */
export function withHealth(
  input: StatusInput,
  container: Container,
  isRegularInit: boolean,
  status: ContainerStatus,
  before: ContainerStatus | undefined,
): ContainerStatus {
  const started = isStarted(input, container, status, before);
  if (isRegularInit) return { ...status, started, ready: status.state.terminated?.exitCode === 0 };
  const ready = started && isReady(input, container, status, before);
  return { ...status, started, ready };
}

function isStarted(
  input: StatusInput,
  container: Container,
  status: ContainerStatus,
  before: ContainerStatus | undefined,
): boolean {
  if (status.state.running === undefined) return false;
  if (container.startupProbe === undefined) return true;
  const result = input.probes.started(container.name, rawId(input, status));
  return result ?? (before?.containerID === status.containerID && before?.started === true);
}

function isReady(
  input: StatusInput,
  container: Container,
  status: ContainerStatus,
  before: ContainerStatus | undefined,
): boolean {
  if (container.readinessProbe === undefined) return true;
  const result = input.probes.ready(container.name, rawId(input, status));
  return result ?? (before?.containerID === status.containerID && before?.ready === true);
}

function rawId(input: StatusInput, status: ContainerStatus): string {
  return (status.containerID ?? '').slice(`${input.runtimeName}://`.length);
}
