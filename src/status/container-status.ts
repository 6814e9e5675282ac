/**
 * Owns: the statuses of a pod's containers (spec: pod-lifecycle.md §12.2). Pure.
 * Invariants: every container of the spec has exactly one status; regular ones are sorted by name,
 * init containers stay in the order of the spec.
 * Leaves to others: phase, conditions (phase.ts, conditions.ts); how a record reads (container-state.ts).
 */
import { Annotation, WaitingReason } from '../api/reasons.ts';
import { isSidecar } from '../api/pod.ts';
import type { Container } from '../api/pod.ts';
import type { ContainerState, ContainerStatus } from '../api/status.ts';
import type { RuntimeContainerStatus } from '../runtime/model.ts';
import { isRestartingAll } from '../runtime/restart-all.ts';
import { initFailed, wouldStart } from '../runtime/restart-policy.ts';
import { wasRestartingAll } from './conditions.ts';
import {
  LOST_WHEN_DELETED,
  containerId,
  lostState,
  restartingStates,
  stateOf,
  waitingState,
} from './container-state.ts';
import { withHealth } from './container-health.ts';
import type { StatusInput } from './input.ts';

export interface ContainerStatuses {
  readonly regular: ContainerStatus[];
  readonly init: ContainerStatus[];
  readonly ephemeral: ContainerStatus[];
}

const INIT_RECORD_GONE =
  'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';

export function containerStatuses(input: StatusInput): ContainerStatuses {
  const { spec } = input.pod;
  const { previous } = input;
  return {
    regular: spec.containers
      .map((c) => statusOf(input, c, 'regular', previous.containerStatuses))
      .sort(byName),
    init: (spec.initContainers ?? []).map((c) =>
      statusOf(input, c, isSidecar(c) ? 'sidecar' : 'init', previous.initContainerStatuses),
    ),
    ephemeral: (spec.ephemeralContainers ?? [])
      .map((c) => statusOf(input, c, 'ephemeral', previous.ephemeralContainerStatuses))
      .sort(byName),
  };
}

type Role = 'regular' | 'init' | 'sidecar' | 'ephemeral';

function statusOf(
  input: StatusInput,
  container: Container,
  role: Role,
  previous: readonly ContainerStatus[] | undefined,
): ContainerStatus {
  const before = previous?.find((s) => s.name === container.name);
  const [newest, second] = input.runtime.containers.filter((c) => c.name === container.name);
  const status =
    newest === undefined
      ? withoutRecord(input, container, role, before)
      : withRecord(input, container, newest, second, before);
  return withHealth(
    input,
    container,
    role === 'init',
    withReason(input, container, role, status),
    before,
  );
}

function withRecord(
  input: StatusInput,
  container: Container,
  newest: RuntimeContainerStatus,
  second: RuntimeContainerStatus | undefined,
  before: ContainerStatus | undefined,
): ContainerStatus {
  return {
    name: container.name,
    state: stateOf(input, newest, before),
    lastState:
      second === undefined ? lastStateOf(input, newest, before) : stateOf(input, second, undefined),
    ready: false,
    restartCount: restartCountOf(newest),
    image: newest.image,
    imageID: newest.imageRef,
    containerID: containerId(input, newest),
    started: false,
    // Nothing is resized in place, so what was allocated is what the spec says.
    ...(container.resources.requests === undefined
      ? {}
      : { allocatedResources: { ...container.resources.requests } }),
    resources: specResources(container),
    ...volumeMounts(container, newest),
    ...userOf(newest),
  };
}

/**
 * The run before the newest one when its record is gone. Unlike the kubelet: what was reported
 * before is kept, so collecting dead containers does not wipe out how the last one ended.
 */
function lastStateOf(
  input: StatusInput,
  newest: RuntimeContainerStatus,
  before: ContainerStatus | undefined,
): ContainerState {
  if (before === undefined) return {};
  const id = containerId(input, newest);
  const ended = before.state.terminated;
  if (ended !== undefined && before.containerID !== id) return { terminated: ended };
  // While it waited for its restart, the newest run itself was shown as the last one.
  return before.lastState.terminated?.containerID === id ? {} : before.lastState;
}

function restartCountOf(record: RuntimeContainerStatus): number {
  const count = Number.parseInt(record.annotations[Annotation.restartCount] ?? '', 10);
  return Number.isSafeInteger(count) && count >= 0 ? count : record.attempt;
}

function withoutRecord(
  input: StatusInput,
  container: Container,
  role: Role,
  before: ContainerStatus | undefined,
): ContainerStatus {
  const over = startsOver(input);
  if (before?.state.terminated !== undefined && !over) return before;
  const fresh: ContainerStatus = {
    name: container.name,
    state: firstState(input, role),
    lastState: before?.lastState ?? {},
    ready: false,
    restartCount: before?.restartCount ?? input.restartCounts.get(container.name) ?? 0,
    image: container.image ?? '',
    imageID: '',
    started: false,
  };
  if (before !== undefined && over) {
    // Told once, and then for as long as it goes on.
    if (before.state.waiting !== undefined) return { ...fresh, state: before.state };
    return { ...fresh, ...restartingStates(before), restartCount: before.restartCount + 1 };
  }
  if (before?.state.running === undefined || fresh.state.waiting === undefined) return fresh;
  return {
    ...fresh,
    lastState: { terminated: lostState(LOST_WHEN_DELETED) },
    restartCount: fresh.restartCount + (input.pod.metadata.deletionTimestamp === undefined ? 1 : 0),
  };
}

/** All records go or have just gone, to begin anew in the same sandbox (§6.1). */
function startsOver({ pod, runtime, previous, terminal }: StatusInput): boolean {
  return !terminal && (isRestartingAll(pod, runtime) || wasRestartingAll(previous));
}

function firstState(input: StatusInput, role: Role): ContainerState {
  if (role === 'init' && regularWasCreated(input)) {
    return { terminated: { exitCode: 0, reason: 'Completed', message: INIT_RECORD_GONE } };
  }
  const hasInit = (input.pod.spec.initContainers?.length ?? 0) > 0;
  return waitingState(hasInit ? WaitingReason.PodInitializing : WaitingReason.ContainerCreating);
}

function regularWasCreated(input: StatusInput): boolean {
  const { spec } = input.pod;
  return input.runtime.containers.some((r) => spec.containers.some((c) => c.name === r.name));
}

/**
 * A container that is to be started and could not be shows why, whatever its last run says; that run
 * moves to `lastState`. Unlike the kubelet: in a terminal pod, where nothing is started any more, the
 * last run stays what is shown.
 */
function withReason(
  input: StatusInput,
  container: Container,
  role: Role,
  status: ContainerStatus,
): ContainerStatus {
  const failure = input.reasons.get(container.name);
  if (failure === undefined || input.terminal || role === 'ephemeral') return status;
  const { terminated } = status.state;
  if (role === 'init' && terminated !== undefined && !initFailed(terminated)) return status;
  if (!wouldStart(input.pod, container, input.runtime)) return status;
  return {
    ...status,
    state: waitingState(failure.reason, failure.message),
    lastState: terminated === undefined ? status.lastState : { terminated },
  };
}

function specResources(container: Container): NonNullable<ContainerStatus['resources']> {
  const { limits, requests } = container.resources;
  return {
    ...(limits === undefined ? {} : { limits }),
    ...(requests === undefined ? {} : { requests }),
  };
}

function volumeMounts(
  container: Container,
  record: RuntimeContainerStatus,
): Pick<ContainerStatus, 'volumeMounts'> {
  if (container.volumeMounts === undefined || container.volumeMounts.length === 0) return {};
  return {
    volumeMounts: container.volumeMounts.map(({ name, mountPath, readOnly }) => {
      if (readOnly !== true) return { name, mountPath };
      const actual = record.mounts.find((m) => m.containerPath === mountPath);
      const recursiveReadOnly = actual?.recursiveReadOnly === true ? 'Enabled' : 'Disabled';
      return { name, mountPath, readOnly, recursiveReadOnly };
    }),
  };
}

function userOf(record: RuntimeContainerStatus): Pick<ContainerStatus, 'user'> {
  if (record.user === undefined) return {};
  const { uid, gid, supplementalGroups } = record.user;
  return {
    user: {
      linux: { uid, gid, ...(supplementalGroups.length === 0 ? {} : { supplementalGroups }) },
    },
  };
}

function byName(a: ContainerStatus, b: ContainerStatus): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
