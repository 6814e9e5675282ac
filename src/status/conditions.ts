/**
 * Owns: the pod conditions in the order in which they are emitted (spec: pod-lifecycle.md §12.3). Pure.
 * Invariant: a condition keeps its transition time until its status changes; conditions of others are
 * passed on untouched, first.
 */
import type { ConfigObjectKey } from '../api/config-object.ts';
import { objectText } from '../api/config-object.ts';
import { isSidecar } from '../api/pod.ts';
import type { Container, Pod } from '../api/pod.ts';
import { ConditionType } from '../api/reasons.ts';
import type { ConditionStatus, PodCondition, PodPhase, PodStatus } from '../api/status.ts';
import type { RuntimePodStatus } from '../runtime/model.ts';
import { decideSandbox } from '../runtime/plan.ts';
import { isRestartingAll, mayRestartAll } from '../runtime/restart-all.ts';
import type { ContainerStatuses } from './container-status.ts';
import { apiTime } from './time.ts';

interface ConditionsInput {
  readonly pod: Pod;
  readonly runtime: RuntimePodStatus;
  readonly previous: PodStatus;
  readonly missingObjects: readonly ConfigObjectKey[];
  readonly nowMs: number;
}

type Draft = Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>;

const OWN_TYPES = new Set([
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
  ConditionType.configObjectsFound,
]);

export function podConditions(
  input: ConditionsInput,
  statuses: ContainerStatuses,
  phase: PodPhase,
): PodCondition[] {
  const { pod, runtime, previous } = input;
  const foreign = (previous.conditions ?? pod.status.conditions ?? []).filter(
    (c) => !OWN_TYPES.has(c.type),
  );
  const containersReady = containersReadyOf(pod, statuses, phase);
  const own: Draft[] = [
    draft('PodReadyToStartContainers', decideSandbox(pod, runtime).kind === 'keep'),
    initializedOf(pod, previous, statuses, phase),
    readyOf(pod, foreign, containersReady),
    containersReady,
    draft('PodScheduled', true),
    ...restartingOf(pod, runtime, phase),
    ...missingOf(input.missingObjects, phase),
  ];
  return [...foreign, ...own.map((condition) => withTimes(input, condition))];
}

function draft(type: string, value: boolean, reason?: string, message?: string): Draft {
  return {
    type,
    status: value ? 'True' : 'False',
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function withTimes({ previous, nowMs }: ConditionsInput, condition: Draft): PodCondition {
  const before = previous.conditions?.find((c) => c.type === condition.type);
  const since = before?.status === condition.status ? before.lastTransitionTime : undefined;
  const { type, status, ...why } = condition;
  return {
    type,
    status,
    lastProbeTime: null,
    lastTransitionTime: since ?? apiTime(nowMs),
    ...why,
  };
}

function initializedOf(
  pod: Pod,
  previous: PodStatus,
  statuses: ContainerStatuses,
  phase: PodPhase,
): Draft {
  const init = pod.spec.initContainers ?? [];
  if (phase === 'Succeeded') return draft('Initialized', true, 'PodCompleted');
  // Sticky: in a new sandbox the init containers run again, and yet the pod was initialized.
  if (statusOf(previous, 'Initialized') === 'True' || anyRegularStarted(statuses)) {
    return draft('Initialized', true);
  }
  const message = listMessage(init, (container) => {
    const status = statuses.init.find((s) => s.name === container.name);
    if (status === undefined) return 'unknown';
    return (isSidecar(container) ? status.started : status.ready) ? undefined : 'incomplete';
  });
  return message === ''
    ? draft('Initialized', true)
    : draft('Initialized', false, 'ContainersNotInitialized', message);
}

function anyRegularStarted(statuses: ContainerStatuses): boolean {
  return statuses.regular.some(
    ({ state }) => state.running !== undefined || state.terminated !== undefined,
  );
}

function containersReadyOf(pod: Pod, statuses: ContainerStatuses, phase: PodPhase): Draft {
  const type = 'ContainersReady';
  if (statuses.regular.length === 0) return draft(type, false, 'UnknownContainerStatuses');
  if (phase === 'Succeeded') return draft(type, false, 'PodCompleted');
  if (phase === 'Failed') return draft(type, false, 'PodFailed');
  const counted = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
  const all = [...statuses.init, ...statuses.regular];
  const message = listMessage(counted, (container) => {
    const status = all.find((s) => s.name === container.name);
    if (status === undefined) return 'unknown';
    return status.ready ? undefined : 'unready';
  });
  return message === '' ? draft(type, true) : draft(type, false, 'ContainersNotReady', message);
}

function readyOf(pod: Pod, foreign: readonly PodCondition[], containersReady: Draft): Draft {
  if (containersReady.status !== 'True') return { ...containersReady, type: 'Ready' };
  const messages = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = foreign.find((c) => c.type === conditionType);
    const name = JSON.stringify(conditionType);
    if (gate === undefined) {
      return [`corresponding condition of pod readiness gate ${name} does not exist.`];
    }
    if (gate.status === 'True') return [];
    return [`the status of pod readiness gate ${name} is not "True", but ${gate.status}`];
  });
  return messages.length === 0
    ? draft('Ready', true)
    : draft('Ready', false, 'ReadinessGatesNotReady', messages.join(', '));
}

/** `containers with unknown status: [a], containers with unready status: [b c]`; '' when all are well. */
function listMessage(
  containers: readonly Container[],
  flaw: (container: Container) => 'unknown' | 'incomplete' | 'unready' | undefined,
): string {
  return (['unknown', 'incomplete', 'unready'] as const)
    .map((kind) => ({ kind, found: containers.filter((c) => flaw(c) === kind) }))
    .filter(({ found }) => found.length > 0)
    .map(
      ({ kind, found }) =>
        `containers with ${kind} status: [${found.map((c) => c.name).join(' ')}]`,
    )
    .join(', ');
}

/** Only pods with such a rule have this condition (§6.1). */
function restartingOf(pod: Pod, runtime: RuntimePodStatus, phase: PodPhase): Draft[] {
  const type = 'AllContainersRestarting';
  if (!mayRestartAll(pod)) return [];
  if (phase === 'Succeeded') return [draft(type, false, 'PodCompleted')];
  if (phase === 'Failed') return [draft(type, false, 'PodFailed')];
  if (!isRestartingAll(pod, runtime)) return [draft(type, false)];
  const message = 'container exited with restart policy rule';
  return [draft(type, true, 'RestartAllContainersStarted', message)];
}

/** Whether the status before said that the pod starts over. */
export function wasRestartingAll(previous: PodStatus): boolean {
  return statusOf(previous, 'AllContainersRestarting') === 'True';
}

/** islet's own: there only while something is missing, so that other pods have upstream's conditions. */
function missingOf(missing: readonly ConfigObjectKey[], phase: PodPhase): Draft[] {
  if (missing.length === 0 || phase === 'Succeeded' || phase === 'Failed') return [];
  const names = missing.map(objectText).join(', ');
  const message = `${names} ${missing.length === 1 ? 'is' : 'are'} missing`;
  return [draft(ConditionType.configObjectsFound, false, 'ConfigObjectMissing', message)];
}

function statusOf(status: PodStatus, type: string): ConditionStatus | undefined {
  return status.conditions?.find((c) => c.type === type)?.status;
}
