/**
 * Owns: RestartAllContainers (spec: pod-lifecycle.md §6.1): whether a container ended in a way that has the
 * whole pod start over in its sandbox, and the steps for it. Pure.
 *
 *   trigger ended ──▶ the others stopped ──▶ the others' records gone ──▶ the triggers' too ──▶ init #0 …
 *
 * Invariant: the record of a trigger is what says that the pod starts over, and it goes last, so a pass that
 * was cut off anywhere is taken up again from what the runtime has.
 * Leaves to others: starting the pod again, which is what a pod without records is in for (plan.ts).
 */
import type { Container, Pod } from '../api/pod.ts';
import { allContainers } from '../api/pod.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from './model.ts';
import { newestContainer } from './model.ts';
import { restartDecision, shouldRestart } from './restart-policy.ts';
import type { Step } from './step.ts';
import { step } from './step.ts';

/** Whether some container of the pod may ask for it. */
export function mayRestartAll(pod: Pod): boolean {
  return allContainers(pod).some((c) =>
    c.restartPolicyRules?.some((rule) => rule.action === 'RestartAllContainers'),
  );
}

/** Whether a container ended so and the pod has not started over since. */
export function isRestartingAll(pod: Pod, status: RuntimePodStatus): boolean {
  if (pod.metadata.deletionTimestamp !== undefined || !mayRestartAll(pod)) return false;
  return allContainers(pod).some((c) => isTrigger(pod, status, c));
}

/**
 * Stops what runs and removes every record: other regular containers, other init containers, then the
 * triggers in the same order. The sandbox, its address and the volumes stay.
 */
export function planRestartAll(pod: Pod, status: RuntimePodStatus): Step[] {
  const init = pod.spec.initContainers ?? [];
  const inOrder = [...pod.spec.containers, ...init];
  const isTriggerOf = new Map(inOrder.map((c) => [c.name, isTrigger(pod, status, c)]));
  const others = inOrder.filter((c) => !isTriggerOf.get(c.name));
  const triggers = inOrder.filter((c) => isTriggerOf.get(c.name));
  const alive = others.flatMap((c) => recordsOf(status, c).filter(mayRun));
  const stop = alive.length > 0 ? [step('stopContainers', { ids: alive.map((r) => r.id) })] : [];
  const reset = [...others, ...triggers].flatMap((c) =>
    recordsOf(status, c)
      .reverse() // the newest last, for what it says of the container
      .map((r) => step('resetContainer', { id: r.id, ended: hasEnded(pod, status, c, r) })),
  );
  return [...stop, ...reset];
}

function isTrigger(pod: Pod, status: RuntimePodStatus, container: Container): boolean {
  const record = newestContainer(status, container.name);
  return (
    record?.state === 'exited' &&
    restartDecision(pod, container, record) === 'restart-all-containers'
  );
}

/** It ended by itself and is due to run again: that counts for its back-off, though its record goes. */
function hasEnded(
  pod: Pod,
  status: RuntimePodStatus,
  container: Container,
  record: RuntimeContainerStatus,
): boolean {
  const isNewest = newestContainer(status, container.name)?.id === record.id;
  return isNewest && record.state === 'exited' && shouldRestart(pod, container, record);
}

function recordsOf(status: RuntimePodStatus, container: Container): RuntimeContainerStatus[] {
  return status.containers.filter((c) => c.name === container.name);
}

function mayRun({ state }: RuntimeContainerStatus): boolean {
  return state === 'running' || state === 'unknown';
}
