/**
 * Owns: the half of the plan that concerns init containers and sidecars (spec/pod-lifecycle.md §5).
 * Each init container is a gate for the next: a regular one passes when it exited 0, a sidecar when it
 * runs and its startup probe, if any, succeeded.
 */
import type { Container } from '../api/pod.ts';
import { isSidecar } from '../api/pod.ts';
import type { RuntimeContainerStatus } from './model.ts';
import { newestContainer } from './model.ts';
import type { PlanInput } from './plan-input.ts';
import { killForChange, killOf, reasonToKill } from './plan-kill.ts';
import { shouldRestart } from './restart-policy.ts';
import type { Step } from './step.ts';
import { step } from './step.ts';

export type InitPlan =
  /** The regular containers may run; the steps bring back sidecars. */
  | { readonly kind: 'initialised'; readonly steps: Step[] }
  /** Not yet: the steps, possibly none, lead there. */
  | { readonly kind: 'pending'; readonly steps: Step[] }
  /** An init container failed and may not be restarted: the pod has failed. */
  | { readonly kind: 'failed' };

export function planInit(input: PlanInput): InitPlan {
  const init = input.pod.spec.initContainers ?? [];
  const regularExists = input.pod.spec.containers.some((c) => {
    const state = newestContainer(input.status, c.name)?.state;
    return state === 'created' || state === 'running';
  });
  // Once regular containers were there, vanished init records do not matter any more.
  if (init.length === 0 || regularExists) return afterInit(input, init);
  const at = init.findLastIndex((c) => newestContainer(input.status, c.name));
  const first = init[0];
  if (at < 0 && first) return pending([startOf(first)]);
  const current = init[at];
  const record = current && newestContainer(input.status, current.name);
  if (!current || !record) return afterInit(input, init);
  const earlier = restartSidecars(input, init.slice(0, at));
  const gate = decideGate(input, current, record);
  switch (gate.kind) {
    case 'failed':
      return { kind: 'failed' };
    case 'act':
      return pending([...earlier, ...gate.steps]);
    case 'wait':
      return pending(earlier);
    case 'passed': {
      const next = init[at + 1];
      return next ? pending([...earlier, startOf(next)]) : afterInit(input, init);
    }
  }
}

type Gate =
  | { readonly kind: 'passed' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'failed' }
  | { readonly kind: 'act'; readonly steps: Step[] };

function decideGate(input: PlanInput, container: Container, record: RuntimeContainerStatus): Gate {
  switch (record.state) {
    case 'created':
      return {
        kind: 'act',
        steps: [step('removeContainer', { id: record.id, withLogs: false }), startOf(container)],
      };
    case 'unknown':
      return {
        kind: 'act',
        steps: [killOf(record, 'unknown-state', true, true), startOf(container)],
      };
    case 'exited':
      if (isSidecar(container)) return { kind: 'act', steps: [startOf(container)] };
      if (record.exitCode === 0 && record.reason !== 'OOMKilled') return { kind: 'passed' };
      return shouldRestart(input.pod, container, record)
        ? { kind: 'act', steps: [startOf(container)] }
        : { kind: 'failed' };
    case 'running':
      if (!isSidecar(container)) return { kind: 'wait' };
      return decideRunningSidecar(input, container, record);
  }
}

function decideRunningSidecar(
  input: PlanInput,
  container: Container,
  record: RuntimeContainerStatus,
): Gate {
  const kill = reasonToKill(input.probes, container, record);
  if (kill) return { kind: 'act', steps: [killOf(record, kill, true, true), startOf(container)] };
  const change = killForChange(input.objectHashes, record, true);
  if (change) return { kind: 'act', steps: [change, startOf(container)] };
  const started = !container.startupProbe || input.probes.startupSucceeded(record.id) === true;
  return started ? { kind: 'passed' } : { kind: 'wait' };
}

function afterInit(input: PlanInput, init: readonly Container[]): InitPlan {
  return { kind: 'initialised', steps: restartSidecars(input, init) };
}

/** Sidecars that are missing, ended or unhealthy are started again, whatever the others do. */
function restartSidecars(input: PlanInput, init: readonly Container[]): Step[] {
  // Sidecars end with the last regular container; after that nothing brings them back.
  if (allRegularDone(input)) return [];
  return init.filter(isSidecar).flatMap((container) => {
    const record = newestContainer(input.status, container.name);
    if (!record) return [startOf(container)];
    const gate = decideGate(input, container, record);
    return gate.kind === 'act' ? gate.steps : [];
  });
}

function allRegularDone(input: PlanInput): boolean {
  return input.pod.spec.containers.every((c) => {
    const record = newestContainer(input.status, c.name);
    return record?.state === 'exited' && !shouldRestart(input.pod, c, record);
  });
}

function startOf(container: Container): Step {
  return step('startContainer', {
    name: container.name,
    role: isSidecar(container) ? 'sidecar' : 'init',
  });
}

function pending(steps: Step[]): InitPlan {
  return { kind: 'pending', steps };
}
