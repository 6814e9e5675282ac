/**
 * Owns: which pods use more of the node's disk than they may (spec eviction.md §6), and in which words
 * they are told so. Pure.
 */
import type { Pod } from '../api/pod.ts';
import { amountsOf, podLimits } from '../api/qos.ts';
import type { ParsedQuantity } from '../api/quantity.ts';
import { formatQuantity, parseQuantity, value } from '../api/quantity.ts';
import type { FsStats, PodStats } from '../stats/model.ts';

export type LimitSignal =
  'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';

export interface LimitHit {
  readonly signal: LimitSignal;
  readonly message: string;
}

const STORAGE = 'ephemeral-storage';

/** Whether the pod says anything that its disk usage must be known for. */
export function hasStorageLimits(pod: Pod): boolean {
  return (
    sizedVolumes(pod).length > 0 ||
    podLimits(pod).has(STORAGE) ||
    pod.spec.containers.some((c) => c.resources?.limits?.[STORAGE] !== undefined)
  );
}

/** The first limit that the pod is above, if any. `separateImages`: writable layers are not on nodefs. */
export function limitHit(pod: Pod, stats: PodStats, separateImages: boolean): LimitHit | undefined {
  return volumeHit(pod, stats) ?? podHit(pod, stats) ?? containerHit(pod, stats, separateImages);
}

function volumeHit(pod: Pod, stats: PodStats): LimitHit | undefined {
  for (const { name, limit } of sizedVolumes(pod)) {
    const used = stats.volumes.find((volume) => volume.name === name)?.used;
    if (used === undefined || used <= value(limit)) continue;
    const message = `Usage of EmptyDir volume ${quoted(name)} exceeds the limit ${quoted(formatQuantity(limit))}. `;
    return { signal: 'emptydirfs.limit', message };
  }
  return undefined;
}

function podHit(pod: Pod, stats: PodStats): LimitHit | undefined {
  const limit = podLimits(pod).get(STORAGE);
  const used = stats.ephemeralStorage?.used;
  if (!limit || used === undefined || used <= value(limit)) return undefined;
  const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `;
  return { signal: 'ephemeralpodfs.limit', message };
}

function containerHit(pod: Pod, stats: PodStats, separateImages: boolean): LimitHit | undefined {
  for (const container of stats.containers) {
    const spec = pod.spec.containers.find(({ name }) => name === container.name);
    const limit = amountsOf(spec?.resources?.limits).get(STORAGE);
    if (!limit || limit.nano === 0n) continue;
    const used = usedOf(container.logs) + (separateImages ? 0 : usedOf(container.rootfs));
    if (used <= value(limit)) continue;
    const message = `Container ${container.name} exceeded its local ephemeral storage limit ${quoted(formatQuantity(limit))}. `;
    return { signal: 'ephemeralcontainerfs.limit', message };
  }
  return undefined;
}

function sizedVolumes(pod: Pod): { name: string; limit: ParsedQuantity }[] {
  return (pod.spec.volumes ?? []).flatMap(({ name, emptyDir }) => {
    const limit = emptyDir?.sizeLimit === undefined ? undefined : parseQuantity(emptyDir.sizeLimit);
    return limit && limit.nano > 0n ? [{ name, limit }] : [];
  });
}

function usedOf(stats: FsStats | undefined): number {
  return stats?.used ?? 0;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
