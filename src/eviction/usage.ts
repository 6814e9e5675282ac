/**
 * Owns: how much of a resource each pod uses and has asked for, as the ranking wants it (spec
 * eviction.md §5).
 * Invariant: a pod without statistics has no usage; one whose statistics lack a number has used 0 of it.
 */
import type { Pod } from '../api/pod.ts';
import { podPriority } from '../api/priority.ts';
import { amountValue, podRequests } from '../api/qos.ts';
import type { ContainerStats, PodStats } from '../stats/model.ts';
import type { RankOrder, RankRow } from '../wasm/rank.ts';
import type { DiskLayout, Signal } from './signal.ts';
import { SIGNALS } from './signal.ts';

/** What of a pod lies on a file system. */
type Part = 'rootfs' | 'logs' | 'volumes';

const ALL: readonly Part[] = ['rootfs', 'logs', 'volumes'];
const NODE_PARTS: readonly Part[] = ['logs', 'volumes'];
const LAYERS: readonly Part[] = ['rootfs'];

const PARTS: Record<DiskLayout, Record<'nodefs' | 'imagefs' | 'containerfs', readonly Part[]>> = {
  one: { nodefs: ALL, imagefs: ALL, containerfs: ALL },
  imagefs: { nodefs: NODE_PARTS, imagefs: LAYERS, containerfs: LAYERS },
  split: { nodefs: ALL, imagefs: [], containerfs: ALL },
};

export interface Ranking {
  readonly rows: readonly RankRow[];
  readonly order: RankOrder;
}

/** One row for each pod, in their order. */
export function rankingFor(
  signal: Signal,
  layout: DiskLayout,
  pods: readonly Pod[],
  stats: ReadonlyMap<string, PodStats>,
): Ranking {
  const order = SIGNALS[signal].resource === 'pids' ? 'priority' : 'use';
  const rows = pods.map((pod) => rowOf(signal, layout, pod, stats.get(pod.metadata.uid)));
  return { rows, order };
}

function rowOf(signal: Signal, layout: DiskLayout, pod: Pod, stats: PodStats | undefined): RankRow {
  const priority = podPriority(pod);
  const usage = stats && usageOf(signal, layout, stats);
  switch (SIGNALS[signal].resource) {
    case 'memory': {
      const request = amountValue(podRequests(pod), 'memory');
      return { usage, request, priority, overRequest: (usage ?? 0) > request };
    }
    case 'ephemeral-storage': {
      const request = amountValue(podRequests(pod), 'ephemeral-storage');
      return { usage, request, priority, overRequest: (usage ?? 0) > request };
    }
    case 'inodes': {
      // Nobody can ask for inodes, and yet what is asked for in bytes is taken off: as the kubelet does.
      const request = amountValue(podRequests(pod), 'ephemeral-storage');
      return { usage, request, priority, overRequest: (usage ?? 0) > 0 };
    }
    case 'pids':
      return { usage, request: 0, priority, overRequest: false };
  }
}

function usageOf(signal: Signal, layout: DiskLayout, stats: PodStats): number {
  switch (SIGNALS[signal].resource) {
    case 'memory':
      return stats.memory?.workingSet ?? 0;
    case 'pids':
      return stats.processCount ?? 0;
    case 'ephemeral-storage':
      return diskUsage(partsFor(signal, layout), stats, 'used');
    case 'inodes':
      return diskUsage(partsFor(signal, layout), stats, 'inodesUsed');
  }
}

function partsFor(signal: Signal, layout: DiskLayout): readonly Part[] {
  const fs = signal.split('.')[0];
  return PARTS[layout][fs === 'imagefs' || fs === 'containerfs' ? fs : 'nodefs'];
}

function diskUsage(parts: readonly Part[], stats: PodStats, unit: 'used' | 'inodesUsed'): number {
  const amounts = parts.flatMap((part) => {
    if (part !== 'volumes') return stats.containers.map((c) => c[part]?.[unit]);
    return stats.volumes.filter(({ local }) => local).map((volume) => volume[unit]);
  });
  return amounts.reduce<number>((sum, amount) => sum + (amount ?? 0), 0);
}

/** What a container uses of what a message names; undefined where that is not known or not told. */
export function containerUsage(
  container: ContainerStats,
  resource: 'memory' | 'ephemeral-storage',
): number | undefined {
  if (resource === 'memory') return container.memory?.workingSet;
  const layer = container.rootfs?.used;
  const logs = container.logs?.used;
  return layer === undefined || logs === undefined ? undefined : layer + logs;
}
