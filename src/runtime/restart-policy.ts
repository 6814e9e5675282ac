/**
 * Owns: whether a container that ended runs again (spec: pod-lifecycle.md §5, §6). Pure.
 * Leaves to others: when it does (back-off), and what else is started or killed (plan).
 */
import { isSidecar } from '../api/pod.ts';
import type { Container, ContainerRestartRule, Pod, RestartPolicy } from '../api/pod.ts';
import { unreachable } from '../util/errors.ts';
import { newestContainer } from './model.ts';
import type { RuntimePodStatus } from './model.ts';

/** How a container ended; `reason` is the runtime's, e.g. `OOMKilled`. */
export interface ContainerExit {
  exitCode: number;
  reason?: string;
}

export type RestartDecision = 'restart' | 'restart-all-containers' | 'stay';

/** The container's own policy, else the pod's. */
export function effectiveRestartPolicy(pod: Pod, container: Container): RestartPolicy {
  return container.restartPolicy ?? pod.spec.restartPolicy;
}

/**
 * First a matching rule of the container, then its own policy, then that of the pod (§6). A regular init
 * container that ended well has done its work and never runs again, whatever rules and policies say (§5).
 */
export function restartDecision(
  pod: Pod,
  container: Container,
  exit: ContainerExit,
): RestartDecision {
  if (initPassed(pod, container, exit)) return 'stay';
  if (container.restartPolicy !== undefined) {
    const rule = container.restartPolicyRules?.find((r) => ruleMatches(r, exit.exitCode));
    if (rule !== undefined) return rule.action === 'Restart' ? 'restart' : 'restart-all-containers';
  }
  const failed = isRegularInit(pod, container) || exit.exitCode !== 0;
  return policyRestarts(effectiveRestartPolicy(pod, container), failed) ? 'restart' : 'stay';
}

/** Whether a container that ended so is started again. */
export function shouldRestart(pod: Pod, container: Container, exit: ContainerExit): boolean {
  return restartDecision(pod, container, exit) !== 'stay';
}

/** A regular init container failed: exit ≠ 0, or killed for memory whatever its code says (§5). */
export function initFailed(exit: ContainerExit): boolean {
  return exit.exitCode !== 0 || exit.reason === 'OOMKilled';
}

/**
 * Whether the next sync would start this container, given its newest record: it has none, is
 * created or unknown, or ended and is to run again. Nothing is started in a pod that is being deleted.
 */
export function wouldStart(pod: Pod, container: Container, status: RuntimePodStatus): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const record = newestContainer(status, container.name);
  if (record === undefined) return true;
  switch (record.state) {
    case 'running':
      return false;
    case 'created':
    case 'unknown':
      return true;
    case 'exited':
      return shouldRestart(pod, container, record);
    default:
      return unreachable(record.state);
  }
}

function initPassed(pod: Pod, container: Container, exit: ContainerExit): boolean {
  return isRegularInit(pod, container) && !initFailed(exit);
}

function isRegularInit(pod: Pod, container: Container): boolean {
  return (
    !isSidecar(container) &&
    (pod.spec.initContainers?.some((c) => c.name === container.name) ?? false)
  );
}

function ruleMatches(rule: ContainerRestartRule, exitCode: number): boolean {
  if (rule.exitCodes === undefined) return false;
  const listed = rule.exitCodes.values?.includes(exitCode) ?? false;
  return rule.exitCodes.operator === 'In' ? listed : !listed;
}

function policyRestarts(policy: RestartPolicy, failed: boolean): boolean {
  switch (policy) {
    case 'Always':
      return true;
    case 'OnFailure':
      return failed;
    case 'Never':
      return false;
    default:
      return unreachable(policy);
  }
}
