/**
 * Owns: how the usage of a cgroup is asked for, whichever version the node has. A cgroup is named by its
 * path below the root of the hierarchy, with a leading slash; `/` is the root.
 * Invariant: every method answers undefined (or nothing) for a cgroup that is not there or goes away
 * meanwhile; none throws.
 */
import type { CpuStats, MemoryStats, Pressure, SwapStats } from './model.ts';
import type { PressureResource } from './pressure.ts';

export interface MemoryReading {
  readonly memory: MemoryStats;
  readonly swap?: SwapStats;
}

/** What a cgroup may use. */
export interface CgroupLimits {
  readonly cpuShares?: number;
  /** Microseconds; absent without a quota. */
  readonly cpuQuota?: number;
  readonly cpuPeriod?: number;
  readonly memory?: number;
  readonly swap?: number;
  readonly pids?: number;
}

export interface CgroupReader {
  /** Without a rate: that takes two readings (rate.ts). */
  cpu(cgroup: string, timeMs: number): CpuStats | undefined;
  memory(cgroup: string, timeMs: number): MemoryReading | undefined;
  /** Processes and threads in it and below. */
  tasks(cgroup: string): number | undefined;
  pressure(cgroup: string, resource: PressureResource): Pressure | undefined;
  limits(cgroup: string): CgroupLimits;
  /** Names of the cgroups directly below. */
  children(cgroup: string): string[];
  /** Processes in the cgroup itself. */
  pids(cgroup: string): number[];
}

/** Limits above this are the kernel's way to say that there is none. */
const UNLIMITED = 2 ** 62;

export function limitOf(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 && value < UNLIMITED ? value : undefined;
}

/** What follows from usage, inactive file pages and limit. */
export function workingSet(
  usage: number,
  inactiveFile: number,
  limit: number | undefined,
): Pick<MemoryStats, 'usage' | 'workingSet' | 'capacity' | 'available'> {
  const workingSet = Math.max(0, usage - inactiveFile);
  if (limit === undefined) return { usage, workingSet };
  return { usage, workingSet, capacity: limit, available: Math.max(0, limit - workingSet) };
}

/** The process ids in a cgroup.procs file; 0 stands for one of another pid namespace. */
export function parsePids(text: string | undefined): number[] {
  return (text ?? '')
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0);
}
