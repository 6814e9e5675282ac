/**
 * Owns: statistics for tests of eviction: a node with plenty of everything, pods as small as a test can
 * say them. Sizes are bytes.
 */
import type { FsStats, NodeFsStats, NodeStats, PodStats } from '../../src/stats/model.ts';

export const GIB = 2 ** 30;
export const MIB = 2 ** 20;

export interface NodeAmounts {
  readonly memory?: number;
  /** Below the limit of the cgroup above all pods; undefined: there is none. */
  readonly podsMemory?: number;
  readonly disk?: number;
  readonly inodes?: number;
  readonly pids?: number;
  readonly timeMs?: number;
  readonly imageFs?: NodeFsStats;
}

/** Available amounts of a node with 8 GiB of memory, 100 GiB of disk, a million inodes, 32,768 pids. */
export function nodeOf(amounts: NodeAmounts = {}): NodeStats {
  const { memory = 4 * GIB, podsMemory, timeMs = 1 } = amounts;
  const { disk = 50 * GIB, inodes = 500_000, pids = 30_000, imageFs } = amounts;
  const pods = {
    name: 'pods' as const,
    memory: { timeMs, usage: GIB, workingSet: GIB, available: podsMemory ?? 0 },
  };
  return {
    startTimeMs: 0,
    memory: {
      ...{ timeMs, usage: 8 * GIB - memory, workingSet: 8 * GIB - memory },
      ...{ capacity: 8 * GIB, available: memory },
    },
    fs: fileSystemOf(1, disk, inodes, timeMs),
    ...(imageFs && { imageFs }),
    pid: { timeMs, max: 32_768, current: 32_768 - pids },
    systemContainers: podsMemory === undefined ? [] : [pods],
  };
}

export function fileSystemOf(
  device: number,
  available: number,
  inodesFree = 500_000,
  timeMs = 1,
): NodeFsStats {
  const mountpoint = `/fs${device}`;
  const inodes = 1_000_000;
  return { timeMs, available, capacity: 100 * GIB, inodes, inodesFree, device, mountpoint };
}

export interface PodAmounts {
  readonly memory?: number;
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
  readonly volumes?: PodStats['volumes'];
  readonly ephemeral?: number;
  readonly processes?: number;
}

/** Of a pod with one container, `app`. */
export function podStatsOf(uid: string, amounts: PodAmounts = {}): PodStats {
  const { memory, rootfs, logs, volumes = [], ephemeral, processes } = amounts;
  const measured =
    memory === undefined ? undefined : { timeMs: 1, usage: memory, workingSet: memory };
  return {
    ref: { uid, name: `${uid}-edge1`, namespace: 'default' },
    startTimeMs: 0,
    ...(measured && { memory: measured }),
    ...(processes !== undefined && { processCount: processes }),
    ...(ephemeral !== undefined && { ephemeralStorage: { timeMs: 1, used: ephemeral } }),
    volumes,
    containers: [
      {
        ...{ name: 'app', id: `${uid}-1`, image: 'app', startTimeMs: 0 },
        ...(measured && { memory: measured }),
        ...(rootfs && { rootfs }),
        ...(logs && { logs }),
      },
    ],
  };
}

export function used(bytes: number, inodesUsed = 0): FsStats {
  return { timeMs: 1, used: bytes, inodesUsed };
}
