/**
 * Owns: the status of a pod as a pure function of what is known (spec: pod-lifecycle.md §11, §12).
 * Invariants: a terminal phase stays terminal; the start time never changes; the same input gives the
 * same output.
 * Leaves to others: reading anything (the input is complete), keeping the result (manager.ts).
 */
import { qosClass } from '../api/qos.ts';
import type { Pod } from '../api/pod.ts';
import type { PodPhase, PodStatus } from '../api/status.ts';
import { isIPv6 } from 'node:net';
import { podConditions } from './conditions.ts';
import { containerStatuses } from './container-status.ts';
import type { ContainerStatuses } from './container-status.ts';
import type { StatusInput } from './input.ts';
import { phaseOf } from './phase.ts';
import { terminated } from './terminate.ts';
import { apiTime } from './time.ts';

export const DEADLINE_REASON = 'DeadlineExceeded';
const DEADLINE_MESSAGE = 'Pod was active on the node longer than the specified deadline';

export function generatePodStatus(input: StatusInput): PodStatus {
  const { pod, previous } = input;
  const startTime = previous.startTime ?? pod.status.startTime ?? apiTime(input.nowMs);
  const computed = containerStatuses(input);
  const outcome = outcomeOf(input, computed, startTime);
  const { statuses, phase } = input.terminal
    ? terminated(pod, computed, outcome.phase)
    : { statuses: computed, phase: outcome.phase };
  return {
    phase,
    conditions: podConditions(input, statuses, phase),
    ...(outcome.message === undefined ? {} : { message: outcome.message }),
    ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
    ...addresses(input),
    startTime,
    ...(statuses.init.length === 0 ? {} : { initContainerStatuses: statuses.init }),
    containerStatuses: statuses.regular,
    ...(statuses.ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: statuses.ephemeral }),
    qosClass: previous.qosClass ?? qosClass(pod),
  };
}

/** Whether the pod has been active, for `activeMs` milliseconds, longer than it may (§11). */
export function isPastActiveDeadline(pod: Pod, activeMs: number): boolean {
  const seconds = pod.spec.activeDeadlineSeconds;
  return seconds !== undefined && activeMs >= seconds * 1000;
}

export function isTerminalPhase(phase: PodPhase | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}

interface Outcome {
  phase: PodPhase;
  reason?: string;
  message?: string;
}

function outcomeOf(input: StatusInput, statuses: ContainerStatuses, startTime: string): Outcome {
  const { pod, previous } = input;
  const now = phaseOf(pod, input.runtime, statuses, input.terminal);
  const phase = [now, previous.phase, pod.status.phase].find(isTerminalPhase) ?? now;
  if (!isTerminalPhase(previous.phase) && isPastActiveDeadline(pod, activeMs(input, startTime))) {
    return { phase: 'Failed', reason: DEADLINE_REASON, message: DEADLINE_MESSAGE };
  }
  // Why a pod has its phase holds for as long as it has it.
  if (phase !== previous.phase) return { phase };
  const reason = previous.reason ?? pod.status.reason;
  const message = previous.message ?? pod.status.message;
  return {
    phase,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function activeMs(input: StatusInput, startTime: string): number {
  return input.activeMs ?? input.nowMs - Date.parse(startTime);
}

type Addresses = Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'>;

/**
 * Unlike the kubelet: which knows `hostIP` only with an API server, islet always says it, and a pod on
 * the host's network therefore always has its address.
 */
function addresses(input: StatusInput): Addresses {
  const hosts = input.nodeIps;
  const pods =
    input.pod.spec.hostNetwork === true ? onePerFamily(hosts, hosts) : podAddresses(input);
  return {
    ...(hosts[0] === undefined ? {} : { hostIP: hosts[0], hostIPs: hosts.map((ip) => ({ ip })) }),
    ...(pods[0] === undefined ? {} : { podIP: pods[0], podIPs: pods.map((ip) => ({ ip })) }),
  };
}

function podAddresses(input: StatusInput): string[] {
  const { ips } = input.runtime;
  // The sandbox of a pod that has ended may be gone; its address still tells where it was.
  if (ips.length === 0) return (input.previous.podIPs ?? []).map(({ ip }) => ip);
  return onePerFamily(ips, input.nodeIps);
}

/** The first address of each family, the family of the node's primary address first. */
function onePerFamily(ips: readonly string[], nodeIps: readonly string[]): string[] {
  const primary = nodeIps[0] ?? ips[0];
  const v6First = primary !== undefined && isIPv6(primary);
  const v4 = ips.find((ip) => !isIPv6(ip));
  const v6 = ips.find((ip) => isIPv6(ip));
  return (v6First ? [v6, v4] : [v4, v6]).filter((ip) => ip !== undefined);
}
