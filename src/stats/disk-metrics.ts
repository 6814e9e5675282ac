/**
 * Owns: the series of `/metrics` about what pods keep on disks (spec http-api.md §7): how full claims are,
 * and how much the logs of each container take.
 * Invariant: the runtime is not asked.
 */
import { Exposition } from '../metrics/exposition.ts';
import type { FsStats, PodRef } from './model.ts';

export interface KeptOnDisk {
  readonly claims: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly fs: FsStats;
  }[];
  readonly logs: readonly {
    readonly ref: PodRef;
    readonly container: string;
    /** Bytes. */
    readonly used: number;
  }[];
}

const volume = (name: string, help: string) =>
  ({ name: `kubelet_volume_stats_${name}`, help, kind: 'gauge' }) as const;

const VOLUME = {
  capacity: volume('capacity_bytes', 'Capacity in bytes of the volume'),
  available: volume('available_bytes', 'Number of available bytes in the volume'),
  used: volume('used_bytes', 'Number of used bytes in the volume'),
  inodes: volume('inodes', 'Maximum number of inodes in the volume'),
  inodesFree: volume('inodes_free', 'Number of free inodes in the volume'),
  inodesUsed: volume('inodes_used', 'Number of used inodes in the volume'),
} as const;

const LOGS = {
  name: 'kubelet_container_log_filesystem_used_bytes',
  help: "Bytes used by the container's logs on the filesystem.",
  kind: 'gauge',
} as const;

export function diskMetrics({ claims, logs }: KeptOnDisk): string {
  const out = new Exposition();
  for (const { namespace, name, fs } of claims) {
    const labels = { namespace, persistentvolumeclaim: name };
    for (const key of Object.keys(VOLUME) as (keyof typeof VOLUME)[])
      out.add(VOLUME[key], labels, fs[key]);
  }
  for (const { ref, container, used } of logs) {
    const { uid, namespace, name: pod } = ref;
    out.add(LOGS, { uid, namespace, pod, container }, used);
  }
  return out.text();
}
