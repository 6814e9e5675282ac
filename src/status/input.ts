/**
 * Owns: what a pod status is generated from. Plain data and look-ups that are ready: generating reads
 * no file and waits for nobody.
 */
import type { ConfigObjectKey } from '../api/config-object.ts';
import type { Pod } from '../api/pod.ts';
import type { PodStatus } from '../api/status.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../runtime/model.ts';

/** Why a container was not started the last time, as the user sees it. */
export interface StartFailure {
  readonly reason: string;
  readonly message: string;
}

/** undefined: there is no result for this container id yet. */
export interface ProbeResults {
  started(containerName: string, containerId: string): boolean | undefined;
  ready(containerName: string, containerId: string): boolean | undefined;
}

export interface StatusInput {
  readonly pod: Pod;
  readonly runtime: RuntimePodStatus;
  /** What was generated last; `{}` for a pod never seen. */
  readonly previous: PodStatus;
  /** By container name: the last start failure, while nothing has been started since. */
  readonly reasons: ReadonlyMap<string, StartFailure>;
  readonly probes: ProbeResults;
  /** By container name: the count of the newest run, for when its record is gone. */
  readonly restartCounts: ReadonlyMap<string, number>;
  /** ConfigMaps and Secrets that the pod needs and nobody provides. */
  readonly missingObjects: readonly ConfigObjectKey[];
  /** Primary first. */
  readonly nodeIps: readonly string[];
  /** Wall time in milliseconds. */
  readonly nowMs: number;
  /**
   * How long the pod has been active, in milliseconds, where the caller counts it monotonically.
   * Without it the wall time since `startTime` counts, as in the kubelet.
   */
  readonly activeMs?: number;
  /** The pod's worker has stopped all containers for good; nothing is started any more. */
  readonly terminal: boolean;
  /** What the ended container left as its last words; already read. */
  readonly terminationMessage: (container: RuntimeContainerStatus) => string | undefined;
  /** As in container ids: `containerd`. */
  readonly runtimeName: string;
}
