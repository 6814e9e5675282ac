/**
 * Owns: what one pod keeps on disks: writable layers, logs, volumes, its hosts file, and their sum.
 */
import type { Pod } from '../api/pod.ts';
import type { ContainerStats as RuntimeStats } from '../cri/usage.ts';
import type { KeptOnDisk } from './disk-metrics.ts';
import type { DiskUsage } from './disk-usage.ts';
import { fileUse } from './disk-walk.ts';
import type { DiskUse } from './disk-walk.ts';
import { readFileSystem } from './file-system.ts';
import type { FsStats, NodeFsStats, NodeStats, PodStats, VolumeStats } from './model.ts';
import type { PodSource, SizedVolume } from './pod-source.ts';
import type { PodPlace } from './pod-cgroup.ts';

export interface PodDiskDeps {
  readonly source: Pick<PodSource, 'logDir' | 'hostsFile' | 'volumes'>;
  readonly usage: DiskUsage;
  /** False: `volumeStatsAggPeriod` is not positive, volumes are not measured. */
  readonly volumes: boolean;
}

/** What is the same for all pods of one pass. */
export interface DiskPass {
  readonly timeMs: number;
  readonly fresh: boolean;
  /** How full the node's file systems are. */
  readonly node: Pick<NodeStats, 'containerFs'> & { readonly fs: NodeFsStats | undefined };
  /** The runtime's word, by container id. */
  readonly runtime: ReadonlyMap<string, RuntimeStats>;
}

const NOTHING: DiskUse = { used: 0, inodesUsed: 0 };

export class PodDiskStats {
  readonly #deps: PodDiskDeps;

  constructor(deps: PodDiskDeps) {
    this.#deps = deps;
  }

  /** The directories that are walked for a pod. */
  directories({ pod }: PodPlace): string[] {
    const { source } = this.#deps;
    const walked = this.#volumes(pod).filter(({ how }) => how === 'walk');
    return [source.logDir(pod), ...walked.map(({ dir }) => dir)];
  }

  /** The pod's statistics with everything about disks. */
  async add(
    stats: PodStats,
    { pod }: PodPlace,
    pass: DiskPass,
    signal: AbortSignal,
  ): Promise<PodStats> {
    const { source, usage } = this.#deps;
    const { timeMs, node } = pass;
    const [logs, hosts, volumes] = await Promise.all([
      usage.of(source.logDir(pod), pass, signal),
      fileUse(source.hostsFile(pod)),
      Promise.all(this.#volumes(pod).map((volume) => this.#volume(volume, pass, signal))),
    ]);
    const layers = stats.containers.map(({ id }) => layerOf(pass.runtime.get(id)));
    const measured = volumes.filter((volume) => volume !== undefined);
    const local = measured.filter((volume) => volume.local).map(useOf);
    const parts = [logs, hosts, ...layers, ...local].filter((part) => part !== undefined);
    return {
      ...stats,
      containers: stats.containers.map((container, i) => ({
        ...container,
        rootfs: { ...room(node.containerFs, timeMs), ...layers[i] },
        logs: { ...room(node.fs, timeMs), ...(logs?.parts.get(container.name) ?? NOTHING) },
      })),
      volumes: measured,
      ephemeralStorage: { ...room(node.fs, timeMs), ...sum(parts) },
    };
  }

  /** What can be told without the runtime: claims, each once, and logs. */
  async kept(pods: readonly Pod[], timeMs: number, signal: AbortSignal): Promise<KeptOnDisk> {
    const { source, usage } = this.#deps;
    const claims = new Map<string, KeptOnDisk['claims'][number]>();
    const logs: KeptOnDisk['logs'][number][] = [];
    for (const pod of pods) {
      const { uid, name, namespace } = pod.metadata;
      for (const { claim, dir } of this.#volumes(pod)) {
        if (claim === undefined || claims.has(`${namespace}/${claim}`)) continue;
        const fs = await readFileSystem(dir, timeMs);
        if (fs) claims.set(`${namespace}/${claim}`, { namespace, name: claim, fs });
      }
      const use = await usage.of(source.logDir(pod), { fresh: false }, signal);
      const ref = { uid, name, namespace };
      for (const [container, { used }] of use?.parts ?? []) logs.push({ ref, container, used });
    }
    return { claims: [...claims.values()], logs };
  }

  #volumes(pod: PodPlace['pod']): readonly SizedVolume[] {
    return this.#deps.volumes ? this.#deps.source.volumes(pod) : [];
  }

  /** undefined for a volume that is not set up. */
  async #volume(
    { name, dir, how, local, claim }: SizedVolume,
    pass: DiskPass,
    signal: AbortSignal,
  ): Promise<VolumeStats | undefined> {
    const about = { name, local, ...(claim !== undefined && { claim }) };
    if (how === 'statfs') {
      const fs = await readFileSystem(dir, pass.timeMs);
      return fs && { ...room(fs, pass.timeMs), ...useOf(fs), ...about };
    }
    const use = await this.#deps.usage.of(dir, pass, signal);
    return use && { ...room(pass.node.fs, pass.timeMs), ...useOf(use), ...about };
  }
}

/** The size of the writable layer; undefined while the runtime does not tell. */
function layerOf(stats: RuntimeStats | undefined): DiskUse | undefined {
  const { usedBytes, inodesUsed } = stats?.writableLayer ?? {};
  return usedBytes === undefined ? undefined : { used: usedBytes, inodesUsed: inodesUsed ?? 0 };
}

function useOf({ used, inodesUsed }: Partial<DiskUse>): DiskUse {
  return { used: used ?? 0, inodesUsed: inodesUsed ?? 0 };
}

function sum(parts: readonly DiskUse[]): DiskUse {
  return parts.reduce(
    (all, part) => ({
      used: all.used + part.used,
      inodesUsed: all.inodesUsed + part.inodesUsed,
    }),
    NOTHING,
  );
}

/** The file system's side of it. */
function room(fs: NodeFsStats | undefined, timeMs: number): FsStats {
  if (!fs) return { timeMs };
  const { available, capacity, inodes, inodesFree } = fs;
  return { timeMs, available, capacity, inodes, inodesFree };
}
