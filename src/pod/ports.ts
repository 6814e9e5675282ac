/**
 * Owns: what pod/ needs from the parts below, as small interfaces of its own, so that the workers can
 * be tested with real files and a fake runtime, or the other way round.
 */
import type { Pod } from '../api/pod.ts';
import type { PodStatus } from '../api/status.ts';
import type { MountedVolume } from '../runtime/mounts.ts';
import type { RuntimePodStatus } from '../runtime/model.ts';
import type { ProbeVerdicts } from '../runtime/plan-input.ts';
import type { ProbeResults } from '../status/input.ts';

export interface PodRef {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** What the runtime is known to run. */
export interface RuntimeView {
  /** Facts newer than `monotonicMs`; waits for them. Rejects with the error of the last inspection. */
  getNewerThan(uid: string, monotonicMs: number, signal: AbortSignal): Promise<RuntimePodStatus>;
  /** What is known now, possibly nothing. */
  current(uid: string): RuntimePodStatus | undefined;
  /** Look again soon. */
  relistNow(): void;
}

export interface Volumes {
  setUp(pod: Pod, signal: AbortSignal): Promise<ReadonlyMap<string, MountedVolume>>;
  /**
   * Brings the content of volumes that are set up already up to date: configMap, secret, downwardAPI,
   * projected. Cheap when nothing changed. Throws one IsletError that names the volumes that failed.
   */
  refresh(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Unmounts and removes everything below the pod's directory. */
  tearDown(uid: string, signal: AbortSignal): Promise<void>;
}

export interface Cgroups {
  ensure(pod: Pod, signal: AbortSignal): Promise<void>;
  destroy(uid: string, signal: AbortSignal): Promise<void>;
}

export interface Statuses {
  get(uid: string): PodStatus | undefined;
  restore(uid: string): PodStatus | undefined;
  set(pod: Pod, status: PodStatus): boolean;
  remove(uid: string): void;
}

/** The probes of all pods, and what they say. */
export interface Probes extends ProbeVerdicts, ProbeResults {
  /** Starts the probes that the pod is missing; to be called in each pass. */
  ensure(pod: Pod): void;
  /** The status as it was generated now. */
  observe(uid: string, status: PodStatus): void;
  /** The pod is being ended: readiness goes on, nothing restarts it any more. */
  stopLivenessAndStartup(uid: string): void;
  remove(uid: string): void;
}

/** A pod that the manifest directory asks for. */
export interface DesiredPod {
  readonly pod: Pod;
  readonly file: string;
  /** Place in the order of files, from 0. */
  readonly order: number;
  /** Fields that cannot be honoured, one line each. */
  readonly warnings: readonly string[];
}

export function refOf(pod: Pod): PodRef {
  const { uid, name, namespace } = pod.metadata;
  return { uid, name, namespace };
}
