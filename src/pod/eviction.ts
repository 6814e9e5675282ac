/**
 * Owns: what it makes of a pod's status that the node takes its place away, and how such a status is
 * recognised again, also by the next agent (spec eviction.md §7, static-pods.md §7.3, node-api.md §5).
 * Such a pod comes back: evicted ones when they may, others as soon as they are admitted.
 * Leaves to others: who is evicted and when it may come back (src/eviction), who makes room for a critical
 * pod (preemption.ts), which pods stop before the node does (shutdown.ts).
 */
import type { Pod } from '../api/pod.ts';
import { DisplacedReason } from '../api/reasons.ts';
import type { PodStatus } from '../api/status.ts';
import { apiTime } from '../status/time.ts';

export interface Eviction {
  /** Default: Evicted. */
  readonly reason?: DisplacedReason;
  readonly message: string;
  /** Seconds that the containers get, whatever the manifest says. */
  readonly graceSeconds?: number;
  /** Whether it is the node that needs what the pod has; false: the pod is above a limit of its own. */
  readonly disruption: boolean;
  /** What the condition says of that; default: the message. */
  readonly disruptionMessage?: string;
}

export const PREEMPTED: Eviction = {
  reason: DisplacedReason.Preempting,
  message: 'Preempted in order to admit critical pod',
  disruption: true,
  disruptionMessage: 'Pod was preempted by Kubelet to accommodate a critical pod.',
};

const REASONS: ReadonlySet<string> = new Set(Object.values(DisplacedReason));

/** What holds over anything that the containers' own ends would make of the status. */
export type EndVerdict = Pick<PodStatus, 'phase' | 'reason' | 'message'>;

export function evictedStatus(
  pod: Pod,
  now: PodStatus,
  eviction: Eviction,
  wallMs: number,
): PodStatus {
  const { reason = DisplacedReason.Evicted, message, disruption } = eviction;
  const type = 'DisruptionTarget';
  const others = (now.conditions ?? pod.status.conditions ?? []).filter((c) => c.type !== type);
  const lastTransitionTime = apiTime(wallMs);
  const condition = {
    ...{ type, status: 'True' as const, lastProbeTime: null, lastTransitionTime },
    ...{ reason: 'TerminationByKubelet', message: eviction.disruptionMessage ?? message },
  };
  return {
    ...now,
    ...{ phase: 'Failed', reason, message },
    conditions: disruption ? [condition, ...others] : others,
    // What tells it from a pod that was never let in.
    containerStatuses: now.containerStatuses ?? [],
  };
}

/** Of a pod that was evicted: it was let in before, and waits until it may come back. */
export function isEvicted(status: PodStatus | undefined): boolean {
  return isDisplaced(status) && status?.reason === DisplacedReason.Evicted;
}

/** Of a pod that lost its place for whatever reason. */
export function isDisplaced(status: PodStatus | undefined): boolean {
  return (
    status?.phase === 'Failed' &&
    REASONS.has(status.reason ?? '') &&
    status.containerStatuses !== undefined
  );
}

export function verdictOf(status: PodStatus | undefined): EndVerdict | undefined {
  if (!status || !isDisplaced(status)) return undefined;
  const { phase, reason, message } = status;
  return { ...(phase && { phase }), ...(reason && { reason }), ...(message && { message }) };
}
