/**
 * Owns: the words for how much is used of what, by the node and by each pod, and the interface
 * through which everybody asks (eviction, garbage collection, the summary, the metrics).
 *
 * Units: memory and disk in bytes, CPU in nanoseconds of one core, times as wall milliseconds.
 * Invariant: a number that is not known is absent, never 0. What vanishes while it is measured is left
 * out, never an error.
 */

/** One line of a pressure file: time lost so far in microseconds, averages in percent of wall time. */
export interface PressureLine {
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** Pressure stall information; `full` is absent where the kernel has none (CPU of the node). */
export interface Pressure {
  readonly some: PressureLine;
  readonly full?: PressureLine;
}

export interface CpuStats {
  readonly timeMs: number;
  /** All of it since the cgroup was made. */
  readonly usageCoreNanoSeconds: number;
  /** Nanoseconds per second, between two samples; absent until there are two. */
  readonly usageNanoCores?: number;
  readonly userNanoSeconds?: number;
  readonly systemNanoSeconds?: number;
  /** What a CPU quota has done; absent without one. */
  readonly throttling?: {
    readonly periods: number;
    readonly throttledPeriods: number;
    readonly throttledNanoSeconds: number;
  };
  readonly psi?: Pressure;
}

export interface MemoryStats {
  readonly timeMs: number;
  readonly usage: number;
  /** Usage less inactive file pages, at least 0: what the kernel cannot get back cheaply. */
  readonly workingSet: number;
  /** Of the node: capacity; of a cgroup: its limit, absent without one. */
  readonly capacity?: number;
  /** Capacity less working set, at least 0. */
  readonly available?: number;
  readonly rss?: number;
  readonly cache?: number;
  readonly mappedFile?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  /** How often the limit was hit. */
  readonly failures?: number;
  readonly maxUsage?: number;
  readonly psi?: Pressure;
}

export interface SwapStats {
  readonly timeMs: number;
  readonly usage: number;
  /** Absent without a limit. */
  readonly available?: number;
}

/** How full a file system is, and how much of it its owner uses. */
export interface FsStats {
  readonly timeMs: number;
  readonly available?: number;
  readonly capacity?: number;
  readonly used?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
  readonly inodesUsed?: number;
}

/** A file system of the node, with the device that tells it from others. */
export interface NodeFsStats extends FsStats {
  readonly available: number;
  readonly capacity: number;
  readonly inodes: number;
  readonly inodesFree: number;
  /** `st_dev` of the directory measured. */
  readonly device: number;
  readonly mountpoint: string;
}

export interface InterfaceStats {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxErrors: number;
  readonly txBytes: number;
  readonly txErrors: number;
  /** The kernel tells these, runtimes do not. */
  readonly rxPackets?: number;
  readonly rxDropped?: number;
  readonly txPackets?: number;
  readonly txDropped?: number;
}

export interface NetworkStats {
  readonly timeMs: number;
  /** The interface that stands for all: that of the default route on the node, eth0 in a pod. */
  readonly default?: InterfaceStats;
  readonly interfaces: readonly InterfaceStats[];
}

export interface SystemContainerStats {
  readonly name: 'kubelet' | 'pods';
  readonly startTimeMs?: number;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
}

export interface NodeStats {
  /** When the machine booted. */
  readonly startTimeMs: number;
  readonly cpu?: CpuStats;
  /** `memory.available` is eviction's signal of that name. */
  readonly memory: MemoryStats & { readonly capacity: number; readonly available: number };
  readonly swap?: SwapStats;
  readonly io?: { readonly timeMs: number; readonly psi: Pressure };
  readonly network?: NetworkStats;
  /** Of the root directory. */
  readonly fs: NodeFsStats;
  /** Of the runtime's images; absent until the runtime has told where that is. */
  readonly imageFs?: NodeFsStats;
  /** Of writable layers: `imageFs` unless the runtime keeps them elsewhere. */
  readonly containerFs?: NodeFsStats;
  readonly pid: { readonly timeMs: number; readonly max: number; readonly current: number };
  /** `pods` is the cgroup above all pods; its memory has a capacity when pods are limited. */
  readonly systemContainers: readonly SystemContainerStats[];
}

export interface PodRef {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export interface ContainerStats {
  readonly name: string;
  /** The runtime's id. */
  readonly id: string;
  readonly image: string;
  /** Path of its cgroup; absent where it was not found. */
  readonly cgroup?: string;
  readonly startTimeMs: number;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
  readonly io?: { readonly timeMs: number; readonly psi: Pressure };
  /** `used` and `inodesUsed` are the writable layer's. */
  readonly rootfs?: FsStats;
  /** `used` and `inodesUsed` are those of its log directory. */
  readonly logs?: FsStats;
}

export interface VolumeStats extends FsStats {
  readonly name: string;
  /** Whether it counts as the pod's use of the node's disk: emptyDir of the default medium, configMap. */
  readonly local: boolean;
  readonly claim?: string;
}

export interface PodStats {
  readonly ref: PodRef;
  readonly cgroup?: string;
  readonly startTimeMs: number;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
  readonly io?: { readonly timeMs: number; readonly psi: Pressure };
  /** Absent on the network of the host. */
  readonly network?: NetworkStats;
  /** Tasks, threads included: what uses up process ids. */
  readonly processCount?: number;
  /** Writable layers, logs, local volumes, hosts file: all that the pod keeps on the node's disk. */
  readonly ephemeralStorage?: FsStats;
  readonly volumes: readonly VolumeStats[];
  /** Running containers, as ordered in the manifest, init containers first. */
  readonly containers: readonly ContainerStats[];
}

export interface PodStatsOptions {
  /**
   * True: CPU, memory and process counts as of now, disk usage as new as can be had for a small part
   * of the CPU. False or absent: what another has just been told may do (1 s).
   */
  readonly fresh?: boolean;
  /** False: nothing of disks and networks; the runtime is not asked. Default true. */
  readonly disk?: boolean;
}

/** Answers from files of the kernel; an unresponsive runtime makes them poorer, never late by more than its deadline. */
export interface StatsReader {
  /** Cheap enough to be asked every second. */
  node(signal: AbortSignal): Promise<NodeStats>;
  /** Of pods that have a running container or a cgroup. */
  pods(signal: AbortSignal, options?: PodStatsOptions): Promise<readonly PodStats[]>;
}
