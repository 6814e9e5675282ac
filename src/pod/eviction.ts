/**
 * Owns: what the eviction of a pod makes of its status, and how such a status is recognised again, also
 * by the next agent (spec eviction.md §7).
 * Leaves to others: who is evicted and when it may come back (src/eviction).
 */
import type { Pod } from '../api/pod.ts';
import { EvictionReason } from '../api/reasons.ts';
import type { PodStatus } from '../api/status.ts';
import { apiTime } from '../status/time.ts';

export interface Eviction {
  readonly message: string;
  /** Seconds that the containers get, whatever the manifest says. */
  readonly graceSeconds: number;
  /** Whether it is the node that needs what the pod has; false: the pod is above a limit of its own. */
  readonly disruption: boolean;
}

/** What holds over anything that the containers' own ends would make of the status. */
export type EndVerdict = Pick<PodStatus, 'phase' | 'reason' | 'message'>;

export function evictedStatus(
  pod: Pod,
  now: PodStatus,
  eviction: Eviction,
  wallMs: number,
): PodStatus {
  const { message, disruption } = eviction;
  const type = 'DisruptionTarget';
  const others = (now.conditions ?? pod.status.conditions ?? []).filter((c) => c.type !== type);
  const lastTransitionTime = apiTime(wallMs);
  const condition = {
    ...{ type, status: 'True' as const, lastProbeTime: null, lastTransitionTime },
    ...{ reason: 'TerminationByKubelet', message },
  };
  return {
    ...now,
    ...{ phase: 'Failed', reason: EvictionReason.Evicted, message },
    conditions: disruption ? [condition, ...others] : others,
    // What tells it from a pod that was never let in.
    containerStatuses: now.containerStatuses ?? [],
  };
}

/** Of a pod that was evicted: it was let in before. */
export function isEvicted(status: PodStatus | undefined): boolean {
  return (
    status?.phase === 'Failed' &&
    status.reason === EvictionReason.Evicted &&
    status.containerStatuses !== undefined
  );
}

export function verdictOf(status: PodStatus | undefined): EndVerdict | undefined {
  if (!status || !isEvicted(status)) return undefined;
  const { phase, reason, message } = status;
  return { ...(phase && { phase }), ...(reason && { reason }), ...(message && { message }) };
}
