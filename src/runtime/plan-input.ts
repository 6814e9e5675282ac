/**
 * Owns: what the plan is made from, beside the pod.
 */
import type { Pod } from '../api/pod.ts';
import type { RuntimePodStatus } from './model.ts';

/** What the probes say of a container id. */
export interface ProbeVerdicts {
  livenessFailed(containerId: string): boolean;
  startupFailed(containerId: string): boolean;
  /** undefined while the startup probe has no result. */
  startupSucceeded(containerId: string): boolean | undefined;
}

export interface PlanInput {
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly probes: ProbeVerdicts;
  /** Newest sandbox attempt that was ever tried, so that a reserved name is not tried twice. */
  readonly lastTriedAttempt: number | undefined;
}
