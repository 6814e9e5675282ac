/**
 * Owns: computePodActions, the decision what to do next in the runtime for one pod: a pure function of
 * (pod, what runs, probe results). Rules: spec/pod-lifecycle.md §4–6.
 * Invariant: executing the steps and planning again on the result ends in an empty plan or in a wait
 * for the outside world; every plan is safe to repeat and to cut off after any step.
 * Leaves to others: back-off, images, how a step is done (execute.ts); when to plan (pod/).
 */
import type { Container, Pod } from '../api/pod.ts';
import { isSidecar } from '../api/pod.ts';
import type { SandboxStatus } from '../cri/model.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from './model.ts';
import { isRunningPod, newestContainer } from './model.ts';
import { planInit } from './plan-init.ts';
import type { PlanInput } from './plan-input.ts';
import { killForChange, killOf, reasonToKill } from './plan-kill.ts';
import { isRestartingAll, planRestartAll } from './restart-all.ts';
import { shouldRestart } from './restart-policy.ts';
import type { Step } from './step.ts';
import { step } from './step.ts';

export type SandboxDecision =
  | { readonly kind: 'keep'; readonly sandbox: SandboxStatus }
  | { readonly kind: 'create'; readonly attempt: number; readonly changed: boolean };

export function computePodActions(input: PlanInput): Step[] {
  // First of all: what else is there to do depends on what is left of the pod then.
  if (isRestartingAll(input.pod, input.status)) return planRestartAll(input.pod, input.status);
  const decision = decideSandbox(input.pod, input.status, input.lastTriedAttempt);
  const steps =
    decision.kind === 'create'
      ? planNewSandbox(input.pod, input.status, decision)
      : planInSandbox(input);
  return [...steps, ...pruneDead(input, steps), ...pruneSandboxes(input.status)];
}

/** Whether the newest sandbox still serves the pod (spec §4.1). */
export function decideSandbox(
  pod: Pod,
  status: RuntimePodStatus,
  lastTriedAttempt?: number,
): SandboxDecision {
  const newest = status.sandboxes[0];
  const floor = lastTriedAttempt === undefined ? 0 : lastTriedAttempt + 1;
  if (!newest) return { kind: 'create', attempt: floor, changed: false };
  const attempt = Math.max(newest.metadata.attempt + 1, floor);
  const readyCount = status.sandboxes.filter((s) => s.state === 'ready').length;
  if (newest.state !== 'ready' || readyCount > 1) return { kind: 'create', attempt, changed: true };
  const hostNetwork = pod.spec.hostNetwork === true;
  if (hostNetwork !== (newest.networkMode === 'node')) {
    return { kind: 'create', attempt, changed: false };
  }
  if (!hostNetwork && newest.ips.length === 0) return { kind: 'create', attempt, changed: true };
  return { kind: 'keep', sandbox: newest };
}

function planNewSandbox(
  pod: Pod,
  status: RuntimePodStatus,
  decision: Extract<SandboxDecision, { kind: 'create' }>,
): Step[] {
  const endOnly = isRunningPod(status) ? [step('killPod', {})] : [];
  const hasHistory = status.containers.length > 0;
  if (pod.spec.restartPolicy === 'Never' && status.sandboxes.length > 0 && hasHistory)
    return endOnly;
  const wanted = pod.spec.containers.filter((c) => !completedOnFailure(pod, status, c));
  const regularExisted = pod.spec.containers.some((c) => newestContainer(status, c.name));
  if (wanted.length === 0 && regularExisted) return endOnly;
  const init = pod.spec.initContainers ?? [];
  const initNames = new Set(init.map((c) => c.name));
  const first = init[0];
  return [
    // Stopped even when its process is gone: that gives its address and host ports back.
    ...(status.sandboxes.length > 0 ? [step('killPod', {})] : []),
    // The init sequence starts from the beginning in a new sandbox; the logs stay, they count restarts.
    ...status.containers
      .filter((c) => initNames.has(c.name))
      .map((c) => step('removeContainer', { id: c.id, withLogs: false })),
    step('createSandbox', { attempt: decision.attempt, changed: decision.changed }),
    ...(first
      ? [step('startContainer', { name: first.name, role: isSidecar(first) ? 'sidecar' : 'init' })]
      : wanted.map((c) => step('startContainer', { name: c.name, role: 'regular' }))),
  ];
}

function completedOnFailure(pod: Pod, status: RuntimePodStatus, container: Container): boolean {
  if ((container.restartPolicy ?? pod.spec.restartPolicy) !== 'OnFailure') return false;
  const newest = newestContainer(status, container.name);
  return newest?.state === 'exited' && newest.exitCode === 0;
}

function planInSandbox(input: PlanInput): Step[] {
  const init = planInit(input);
  switch (init.kind) {
    case 'failed':
      return [step('killPod', {})];
    case 'pending':
      return init.steps;
    case 'initialised': {
      const regular = input.pod.spec.containers.map((c) => decideRegular(input, c));
      // Nothing runs and nothing will: what is left (sidecars, the sandbox) ends.
      if (!regular.some((d) => d.alive)) return [step('killPod', {})];
      return [...init.steps, ...regular.flatMap((d) => d.steps)];
    }
  }
}

interface Decided {
  readonly steps: Step[];
  /** It runs or will run. */
  readonly alive: boolean;
}

function decideRegular(input: PlanInput, container: Container): Decided {
  const start = step('startContainer', { name: container.name, role: 'regular' });
  const newest = newestContainer(input.status, container.name);
  if (!newest) return { steps: [start], alive: true };
  switch (newest.state) {
    case 'created':
      // Half made: the agent or the runtime died in between. Removed, so there is never a second beside it.
      return {
        steps: [step('removeContainer', { id: newest.id, withLogs: false }), start],
        alive: true,
      };
    case 'unknown':
      return { steps: [killOf(newest, 'unknown-state'), start], alive: true };
    case 'exited':
      return shouldRestart(input.pod, container, newest)
        ? { steps: [start], alive: true }
        : { steps: [], alive: false };
    case 'running':
      return decideRunning(input, container, newest, start);
  }
}

function decideRunning(
  input: PlanInput,
  container: Container,
  running: RuntimeContainerStatus,
  start: Step,
): Decided {
  const kill = reasonToKill(input.probes, container, running);
  if (!kill) {
    const change = killForChange(input.objectHashes, running);
    return { steps: change ? [change, start] : [], alive: true };
  }
  const restarts =
    kill === 'hash-changed' ||
    (container.restartPolicy ?? input.pod.spec.restartPolicy) !== 'Never';
  return {
    steps: [killOf(running, kill, restarts), ...(restarts ? [start] : [])],
    alive: restarts,
  };
}

/**
 * Dead records beyond the newest one of each name go, with their logs (spec §14): the newest is what
 * `lastState` and `logs --previous` show. A half-made one beside a newer one goes whatever it is.
 */
function pruneDead(input: PlanInput, planned: readonly Step[]): Step[] {
  const { status, deadToKeep = 1 } = input;
  const going = new Set(planned.flatMap((s) => (s.kind === 'removeContainer' ? [s.id] : [])));
  const newer = new Set<string>();
  const seen = new Map<string, number>();
  const out: Step[] = [];
  for (const container of status.containers) {
    const halfMade = container.state === 'created' && newer.has(container.name);
    newer.add(container.name);
    if (halfMade) out.push(step('removeContainer', { id: container.id, withLogs: false }));
    if (container.state !== 'exited' || going.has(container.id)) continue;
    const before = seen.get(container.name) ?? 0;
    if (before >= deadToKeep) {
      out.push(step('removeContainer', { id: container.id, withLogs: true }));
    }
    seen.set(container.name, before + 1);
  }
  return out;
}

/** Older sandboxes go once they stand still and no record needs them (spec gc-logs-images.md §2.6). */
function pruneSandboxes(status: RuntimePodStatus): Step[] {
  const used = new Set(status.containers.map((c) => c.sandboxId));
  return status.sandboxes
    .slice(1)
    .filter((s) => s.state === 'notready' && !used.has(s.id))
    .map((s) => step('removeSandbox', { id: s.id }));
}
