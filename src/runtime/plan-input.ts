/**
 * Owns: what the plan is made from, beside the pod.
 */
import type { Pod } from '../api/pod.ts';
import type { RuntimePodStatus } from './model.ts';
import type { ObjectHashes } from './object-hash.ts';

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
  /** Of a pod that asks for restarts on change: what its ConfigMaps and Secrets are now. */
  readonly objectHashes?: ObjectHashes | undefined;
  /** Dead instances of a container that stay beside a newer one; default 1. */
  readonly deadToKeep?: number;
  /** Newest sandbox attempt that was ever tried, so that a reserved name is not tried twice. */
  readonly lastTriedAttempt: number | undefined;
}
