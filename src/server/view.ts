/**
 * Owns: what the HTTP servers and, through the unix socket, the CLI need to know of the running
 * agent. The agent implements AgentView from what it holds in memory; every method answers at once
 * and none may wait for the runtime, so that the servers answer while the runtime hangs.
 * Leaves to others: where the facts come from (pod/, manifest/, store/, pleg/).
 */
import type { EventType } from '../api/event.ts';
import type { Node } from '../api/node.ts';
import type { Pod } from '../api/pod.ts';

/**
 * - accepted: every document of the file is a pod that runs or will run
 * - invalid: the file as it is now cannot be used (see `usingLastGood`)
 * - duplicate: another file has the same pod and was first
 * - ignored: not a manifest by its name (backup files, other extensions, directories)
 * - unreadable: cannot be read now
 * - waiting: seen, not yet judged (still being written, or behind another pod of its name)
 */
export type FileState = 'accepted' | 'invalid' | 'duplicate' | 'ignored' | 'unreadable' | 'waiting';

export interface FileView {
  /** Absolute path. */
  readonly file: string;
  readonly state: FileState;
  /** Why, one line each: errors with field paths, warnings, the reason for being ignored. */
  readonly messages: readonly string[];
  /** `<namespace>/<name>` of the pods that run from this file, names with the node's suffix. */
  readonly pods: readonly string[];
  /** The pods run from the content that was good last, not from what the file holds now. */
  readonly usingLastGood: boolean;
}

export interface EventView {
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  readonly kind: 'Pod' | 'Node';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly fieldPath?: string;
  readonly count: number;
  /** Wall times in milliseconds since 1970. */
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** All given conditions hold for an event that is returned. */
export interface EventFilter {
  readonly namespace?: string;
  /** Name of the pod with its node suffix. */
  readonly pod?: string;
  readonly uid?: string;
  /** The newest so many. */
  readonly limit?: number;
}

export interface VersionView {
  readonly islet: string;
  /** Version of Node.js. */
  readonly node: string;
  /** As the runtime reports itself, e.g. `containerd` and `1.7.24`; empty while it does not answer. */
  readonly containerRuntime: string;
  readonly containerRuntimeVersion: string;
  readonly nodeName: string;
  readonly uptimeSeconds: number;
}

/**
 * How much is used. Unlike the rest these wait, for disks and for as long as the runtime's deadline.
 * All throw IsletError when the numbers cannot be had.
 */
export interface StatsView {
  /** The body of `/stats/summary`. */
  summary(options: { readonly onlyCpuAndMemory: boolean }, signal: AbortSignal): Promise<object>;
  /** Prometheus text format 0.0.4, as for `/metrics/resource`. */
  resourceMetrics(signal: AbortSignal): Promise<string>;
  /** The same for what `/metrics` tells of disks, beside AgentView's `metrics`; never throws. */
  diskMetrics(signal: AbortSignal): Promise<string>;
  /** The same for `/metrics/cadvisor`. */
  cadvisorMetrics(signal: AbortSignal): Promise<string>;
}

/** What the node can give to its pods. */
export interface AllocatableView {
  readonly cpuMilli: number;
  /** Bytes. */
  readonly memory: number;
}

/** One health check and, when it fails, why. */
export interface HealthCheck {
  readonly name: string;
  readonly error?: string;
}

export interface AgentView {
  /** Pods as they are wanted, with their live status; pods being terminated carry a deletionTimestamp. */
  pods(): readonly Pod[];
  /** The verdict on each entry of the manifest directory, ordered by path. */
  files(): readonly FileView[];
  /** Oldest first. */
  events(filter: EventFilter): readonly EventView[];
  version(): VersionView;
  /** What the node has, and how it is. */
  node(): Node;
  /** `ping` and `log` are the server's own; the agent adds `syncloop`, `pleg`, … */
  health(): readonly HealthCheck[];
  /** Prometheus text format 0.0.4. */
  metrics(): string;
  /** The same for `/metrics/probes`. */
  probeMetrics(): string;
  readonly stats: StatsView;
  readonly allocatable: AllocatableView;
  /** What cannot be honoured of a pod's manifest, one line each. */
  warnings(uid: string): readonly string[];
}
