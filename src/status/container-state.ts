/**
 * Owns: one record of the runtime as a container state of the API (spec: pod-lifecycle.md §12.2).
 *
 *   created ──► waiting{}        running ──► running{startedAt}
 *   exited  ──► terminated{…}    unknown ──► terminated{ContainerStatusUnknown} if it ran before,
 *                                            else waiting{}
 *
 * Leaves to others: which record counts, and what its absence means (container-status.ts).
 */
import { WaitingReason } from '../api/reasons.ts';
import type {
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  ContainerStateWaiting,
} from '../api/status.ts';
import type { RuntimeContainerStatus } from '../runtime/model.ts';
import { unreachable } from '../util/errors.ts';
import type { StatusInput } from './input.ts';
import { runtimeTime } from './time.ts';

export const LOST_WHEN_TERMINATED =
  'The container could not be located when the pod was terminated';
export const LOST_WHEN_DELETED =
  'The container could not be located when the pod was deleted.  The container used to be Running';

/** Nobody knows how it ended: reported like a kill, so that it never passes for a success. */
export function lostState(message: string): ContainerStateTerminated {
  return { exitCode: 137, reason: 'ContainerStatusUnknown', message };
}

const REMOVED_FOR_RESTART = 'The container is removed because RestartAllContainers in place';

/**
 * Of a container whose record was removed because the whole pod starts over (§6.1).
 * Unlike the kubelet: the last run keeps its id, by which its log is found.
 */
export function restartingStates(
  before: ContainerStatus,
): Pick<ContainerStatus, 'state' | 'lastState'> {
  const why = {
    reason: WaitingReason.RestartingAllContainers,
    message: REMOVED_FOR_RESTART,
  };
  const { containerID } = before;
  return {
    state: { waiting: why },
    lastState: {
      terminated: { exitCode: 137, ...why, ...(containerID === undefined ? {} : { containerID }) },
    },
  };
}

/** Whether a run ended only because the whole pod starts over: then it runs again, whatever its policy. */
export function endedForRestart(end: ContainerStateTerminated): boolean {
  return end.reason === WaitingReason.RestartingAllContainers;
}

export function stateOf(
  input: StatusInput,
  record: RuntimeContainerStatus,
  before: ContainerStatus | undefined,
): ContainerState {
  switch (record.state) {
    case 'created':
      return { waiting: {} };
    case 'running': {
      const startedAt = runtimeTime(record.startedAt);
      return { running: startedAt === undefined ? {} : { startedAt } };
    }
    case 'exited':
      return { terminated: terminatedState(input, record) };
    case 'unknown':
      return before?.state.running === undefined
        ? { waiting: {} }
        : { terminated: lostState(LOST_WHEN_TERMINATED) };
    default:
      return unreachable(record.state);
  }
}

function terminatedState(
  input: StatusInput,
  record: RuntimeContainerStatus,
): ContainerStateTerminated {
  const startedAt = runtimeTime(record.startedAt);
  const finishedAt = runtimeTime(record.finishedAt);
  const message = joinMessages(input, record);
  return {
    exitCode: record.exitCode,
    ...(record.reason === '' ? {} : { reason: record.reason }),
    ...(message === '' ? {} : { message }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    containerID: containerId(input, record),
  };
}

/** The runtime's message, then the container's own, cut to its share of the pod's 12 KiB. */
function joinMessages(input: StatusInput, record: RuntimeContainerStatus): string {
  const own = input.terminationMessage(record) ?? '';
  const { spec } = input.pod;
  const count =
    spec.containers.length +
    (spec.initContainers?.length ?? 0) +
    (spec.ephemeralContainers?.length ?? 0);
  const message = [record.message, own].filter((part) => part !== '').join(': ');
  return firstBytes(message, Math.floor(LONGEST_MESSAGES / Math.max(1, count)));
}

const LONGEST_MESSAGES = 12288;

function firstBytes(text: string, most: number): string {
  if (text.length * 3 <= most || Buffer.byteLength(text) <= most) return text;
  const bytes = Buffer.from(text);
  let end = most;
  // Never cut within a character: continuation bytes are 10xxxxxx.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

export function containerId(input: StatusInput, record: { id: string }): string {
  return `${input.runtimeName}://${record.id}`;
}

export function waitingState(reason: string, message = ''): { waiting: ContainerStateWaiting } {
  return { waiting: message === '' ? { reason } : { reason, message } };
}
