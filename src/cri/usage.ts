/**
 * Owns: usage as a runtime reports it, in plain words. What a runtime leaves out is undefined. Times are
 * nanoseconds since 1970, sizes bytes.
 */
import type { PodSandboxMetadata } from './model.ts';

/** How much of a file system the runtime uses for something. */
export interface FsUsage {
  /** A directory on it. */
  mountpoint: string;
  usedBytes?: number;
  inodesUsed?: number;
}

export interface CpuUsage {
  timestamp: bigint;
  usageCoreNanoSeconds?: number;
  usageNanoCores?: number;
}

export interface MemoryUsage {
  timestamp: bigint;
  workingSetBytes?: number;
  availableBytes?: number;
  usageBytes?: number;
  rssBytes?: number;
  pageFaults?: number;
  majorPageFaults?: number;
}

export interface InterfaceUsage {
  name: string;
  rxBytes: number;
  rxErrors: number;
  txBytes: number;
  txErrors: number;
}

export interface ContainerStats {
  id: string;
  name: string;
  labels: Record<string, string>;
  /** Absent for a container that does not run. */
  cpu?: CpuUsage;
  memory?: MemoryUsage;
  writableLayer?: FsUsage;
}

export interface SandboxStats {
  id: string;
  metadata: PodSandboxMetadata;
  cpu?: CpuUsage;
  memory?: MemoryUsage;
  network?: { default?: InterfaceUsage; interfaces: InterfaceUsage[] };
  processCount?: number;
}
