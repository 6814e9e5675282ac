/**
 * Owns: the one who is asked how much is used. Nothing is sampled while nobody asks.
 * Invariants: who asks at the same time shares the work; an answer to a question that may be a little
 * old serves the next one for SHARED_MS.
 */
import type { UsageRuntime } from './runtime-usage.ts';
import { containerUsage, sandboxUsage } from './runtime-usage.ts';
import type { ContainerStats as RuntimeStats } from '../cri/usage.ts';
import type { Clock, Random } from '../util/clock.ts';
import { Limiter } from '../util/limiter.ts';
import type { CgroupReader } from './cgroup.ts';
import { CgroupV1 } from './cgroup-v1.ts';
import { CgroupV2 } from './cgroup-v2.ts';
import type { KeptOnDisk } from './disk-metrics.ts';
import { DiskUsage } from './disk-usage.ts';
import { readFileSystem } from './file-system.ts';
import { ImageFs } from './image-fs.ts';
import type { ImageFsDeps } from './image-fs.ts';
import type { NodeStats, PodStats, PodStatsOptions, StatsReader } from './model.ts';
import { NodeReader } from './node-reader.ts';
import { cpuOf, memoryOf, PodCgroupStats } from './pod-cgroup.ts';
import type { PodPlace } from './pod-cgroup.ts';
import { PodDiskStats } from './pod-disk.ts';
import type { PodSource } from './pod-source.ts';
import { CpuRates, SETTLE_MS } from './rate.ts';
import { mapSome, waitFor } from './wait-for.ts';

export interface StatsDeps {
  readonly source: PodSource;
  readonly runtime: UsageRuntime;
  /** Where images are: `fsUsage` of the runtime's image service. */
  readonly imageFs: ImageFsDeps['ask'];
  readonly rootDir: string;
  readonly cgroupVersion: 1 | 2;
  /** Path of the cgroup above all pods; undefined where pods have none of their own. */
  readonly podsCgroup: string | undefined;
  /** `volumeStatsAggPeriod`; volumes are not measured unless it is positive. */
  readonly volumePeriodMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** The agent's stop. */
  readonly stop: AbortSignal;
  /** Recorded trees instead of /sys/fs/cgroup and /proc. */
  readonly cgroupRoot?: string;
  readonly procDir?: string;
}

const SHARED_MS = 1_000;
const WALKS_AT_ONCE = 2;
/** A walk that takes longer delays no other. */
const WALK_PATIENCE_MS = 10_000;
const PODS_AT_ONCE = 4;
const DISK_PATIENCE_MS = 2_000;
/** Sizes of logs are kept as long where volumes are not measured. */
const DEFAULT_PERIOD_MS = 60_000;

export class Stats implements StatsReader {
  readonly cgroups: CgroupReader;
  readonly #deps: StatsDeps;
  readonly #rates = new CpuRates();
  readonly #node: NodeReader;
  readonly #kernel: PodCgroupStats;
  readonly #disk: PodDiskStats;
  readonly #imageFs: ImageFs;
  readonly #usage: DiskUsage;
  readonly #answers = new Map<string, { atMs: number; pods: Promise<readonly PodStats[]> }>();

  constructor(deps: StatsDeps) {
    const { rootDir, clock, random, stop, volumePeriodMs, source } = deps;
    const { cgroupRoot = '/sys/fs/cgroup', procDir = '/proc' } = deps;
    this.#deps = deps;
    const cgroups = deps.cgroupVersion === 1 ? new CgroupV1(cgroupRoot) : new CgroupV2(cgroupRoot);
    const rates = this.#rates;
    this.cgroups = cgroups;
    this.#imageFs = new ImageFs({ ask: deps.imageFs, clock, stop });
    this.#node = new NodeReader({
      ...{ rootDir, procDir, cgroups, clock, rates },
      podsCgroup: deps.podsCgroup,
      imageFs: this.#imageFs,
    });
    this.#kernel = new PodCgroupStats({ cgroups, rates, procDir, clock });
    this.#usage = new DiskUsage({
      ...{ clock, random, stop },
      periodMs: volumePeriodMs > 0 ? volumePeriodMs : DEFAULT_PERIOD_MS,
      walks: new Limiter({ slots: WALKS_AT_ONCE, patienceMs: WALK_PATIENCE_MS, clock }),
    });
    this.#disk = new PodDiskStats({ source, usage: this.#usage, volumes: volumePeriodMs > 0 });
  }

  node(signal: AbortSignal): Promise<NodeStats> {
    return this.#node.read(signal);
  }

  /** Waits, where needed, so that what is asked next has CPU rates. */
  async settle(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const pods = this.#kernel.sample(this.#places());
    const now = clock.monotonic();
    const node = this.#node.rated().every((cgroup) => this.#rates.has(cgroup, now));
    if (!node) await this.#node.read(signal);
    if (!node || !pods) await clock.sleep(SETTLE_MS, signal);
  }

  async pods(signal: AbortSignal, options: PodStatsOptions = {}): Promise<readonly PodStats[]> {
    const { fresh = false, disk = true } = options;
    const now = this.#deps.clock.monotonic();
    const key = `${fresh} ${disk}`;
    const last = this.#answers.get(key);
    if (!fresh && last && now - last.atMs < SHARED_MS) return waitFor(last.pods, signal);
    const pods = this.#read(fresh, disk, this.#deps.stop);
    // Whoever comes while it is under way, or soon after, may have it; a failure is nobody else's.
    this.#answers.set(key, { atMs: now, pods });
    pods.catch(() => this.#answers.delete(key));
    return waitFor(pods, signal);
  }

  /** undefined when a disk takes too long to answer. */
  async kept(signal: AbortSignal): Promise<KeptOnDisk | undefined> {
    const { source, clock, stop } = this.#deps;
    const done = new AbortController();
    const late = clock.sleep(DISK_PATIENCE_MS, AbortSignal.any([signal, done.signal]));
    try {
      const kept = this.#disk.kept(source.pods(), clock.wall(), stop);
      return await Promise.race([kept, late.then(() => undefined)]);
    } finally {
      done.abort();
      late.catch(() => undefined);
    }
  }

  async #read(fresh: boolean, disk: boolean, signal: AbortSignal): Promise<readonly PodStats[]> {
    const places = this.#places();
    const blind = places.some(({ containers }) => containers.some((c) => c.cgroup === undefined));
    const ids = places.flatMap(({ containers }) => containers.map(({ id }) => id));
    const { runtime, clock } = this.#deps;
    const told =
      disk || blind ? await containerUsage(runtime, ids, signal) : new Map<string, RuntimeStats>();
    const pods = places.map((place) => ({ place, stats: this.#kernel.read(place, told, disk) }));
    const whole = await this.#fillPods(pods, signal);
    if (!disk) return whole.map(({ stats }) => stats);
    const timeMs = clock.wall();
    const [fs, images] = await Promise.all([
      readFileSystem(this.#deps.rootDir, timeMs),
      this.#imageFs.read(timeMs, signal),
    ]);
    this.#usage.retain(new Set(places.flatMap((place) => this.#disk.directories(place))));
    const pass = { timeMs, fresh, runtime: told, node: { ...images, fs } };
    return mapSome(whole, PODS_AT_ONCE, ({ place, stats }) =>
      this.#disk.add(stats, place, pass, signal),
    );
  }

  /** Pods whose cgroup is not found get the runtime's word on the sandbox. */
  async #fillPods(
    pods: readonly { place: PodPlace; stats: PodStats }[],
    signal: AbortSignal,
  ): Promise<readonly { place: PodPlace; stats: PodStats }[]> {
    const blind = pods.filter(({ place }) => place.cgroup === undefined);
    if (blind.length === 0) return pods;
    const uids = blind.map(({ stats }) => stats.ref.uid);
    const told = await sandboxUsage(this.#deps.runtime, uids, signal);
    return pods.map(({ place, stats }) => {
      const usage = place.cgroup === undefined ? told.get(stats.ref.uid) : undefined;
      if (!usage) return { place, stats };
      const cpu = usage.cpu && cpuOf(usage.cpu);
      const memory = usage.memory && memoryOf(usage.memory);
      const { processCount, network } = usage;
      return {
        place,
        stats: {
          ...stats,
          ...(cpu && { cpu }),
          ...(memory && { memory }),
          ...(processCount !== undefined && { processCount }),
          ...(network && { network: { timeMs: this.#deps.clock.wall(), ...network } }),
        },
      };
    });
  }

  #places(): PodPlace[] {
    const { source } = this.#deps;
    const places = source
      .pods()
      .flatMap((pod) => this.#kernel.find(pod, source.cgroupOf(pod)) ?? []);
    const there = new Set(
      places.flatMap((p) => [p.cgroup, ...p.containers.map(({ cgroup }) => cgroup)]),
    );
    const own = new Set(this.#node.rated());
    this.#rates.retain((cgroup) => there.has(cgroup) || own.has(cgroup) || !cgroup.startsWith('/'));
    return places;
  }
}
