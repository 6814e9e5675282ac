/**
 * Owns: the half of the agent that needs a runtime: everything from the relist to the pod workers, put
 * together once the runtime has answered and its cgroup driver is known.
 */
import type { CriClient } from './cri/client.ts';
import type { RuntimeVersion } from './cri/model.ts';
import type { Config } from './config/model.ts';
import { findLeftovers } from './gc/leftovers.ts';
import { podsWithLogs } from './gc/log-leftovers.ts';
import { ImageAccess } from './image/access.ts';
import { UseLedger } from './image/use-ledger.ts';
import { LiveEviction, liveMemoryUse } from './live-eviction.ts';
import { LiveGuard } from './live-guard.ts';
import { liveStats } from './live-stats.ts';
import type { FileSource } from './manifest/source.ts';
import type { Counter, Registry } from './metrics/registry.ts';
import { plegMetrics } from './pleg/metric.ts';
import { Pleg } from './pleg/relist.ts';
import { ProbeManager } from './probe/manager.ts';
import { ProberMetrics } from './probe/metrics.ts';
import { AdmissionGate } from './pod/admission-gate.ts';
import { admissionMetrics } from './pod/admission-metric.ts';
import { systemAdmissionNode } from './pod/admission-node.ts';
import type { CgroupKeeper } from './pod/cgroup-keeper.ts';
import type { PodCgroups } from './pod/cgroups.ts';
import { PodManager } from './pod/manager.ts';
import { nodeCgroups } from './pod/node-cgroups.ts';
import type { DesiredPod, RuntimeView } from './pod/ports.ts';
import { RuntimeFeatures } from './runtime/features.ts';
import type { NodeFacts } from './runtime/node-facts.ts';
import { PodFiles } from './runtime/pod-files.ts';
import { withOverhead } from './runtime/runtime-class.ts';
import { isTerminalPhase } from './status/generate.ts';
import type { StatsReader } from './stats/model.ts';
import type { Stats } from './stats/reader.ts';
import type { StatusManager } from './status/manager.ts';
import type { HashKey } from './store/hash-key.ts';
import type { Store } from './store/store.ts';
import type { Clock, Random } from './util/clock.ts';
import type { Logger } from './util/log.ts';
import type { TaskGroup } from './util/task-group.ts';
import { VolumeManager } from './volume/manager.ts';
import { workerParts } from './worker-parts.ts';
import { Housekeeping } from './housekeeping.ts';
import { loadCore } from './wasm/core.ts';
import { Relister } from './wasm/relister.ts';

export interface RuntimeHalfDeps {
  readonly config: Config;
  readonly facts: NodeFacts;
  readonly cri: CriClient;
  readonly version: RuntimeVersion;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly source: FileSource;
  readonly hashKey: HashKey;
  readonly store: Store;
  readonly statuses: StatusManager;
  readonly registry: Registry;
  readonly probeRegistry: Registry;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tasks: TaskGroup;
  /** Instead of the statistics of this machine. */
  readonly stats: Pick<StatsReader, 'node' | 'pods'> | undefined;
}

const FEATURES_RETRY_MS = 2_000;
const CONTAINER_LOGS_DIR = '/var/log/containers';

export class RuntimeHalf {
  readonly version: RuntimeVersion;
  readonly pleg: Pleg;
  readonly manager: PodManager;
  readonly stats: Stats;
  readonly eviction: LiveEviction;
  readonly guard: LiveGuard;
  readonly housekeeping: Housekeeping;
  readonly #deps: RuntimeHalfDeps;
  readonly #cgroups: PodCgroups;
  readonly #keeper: CgroupKeeper;
  readonly #imageAccess: ImageAccess;
  readonly #ledger: UseLedger;
  readonly #files: PodFiles;
  readonly #probes: ProbeManager;
  readonly #features: RuntimeFeatures;

  constructor(deps: RuntimeHalfDeps) {
    const { config, facts, cri, clock, logger, statuses } = deps;
    this.#deps = deps;
    this.version = deps.version;
    this.pleg = new Pleg({
      runtime: cri.runtime,
      relister: new Relister({ core: loadCore(), random: deps.random }),
      clock,
      log: logger,
      metrics: plegMetrics(deps.registry),
    });
    this.#features = new RuntimeFeatures(cri.runtime);
    const { registry, store } = deps;
    const { events, evictions: memory } = store;
    this.eviction = new LiveEviction({ config, registry, events, memory, clock, logger });
    const cgroups = nodeCgroups({
      ...{ config, driver: deps.cgroupDriver, facts, events: deps.store.events, clock },
      activePods: () => this.manager.pods().filter((p) => !isTerminalPhase(p.status.phase)),
    });
    this.#cgroups = cgroups.pods;
    this.#keeper = cgroups.keeper;
    this.#probes = new ProbeManager({
      ...{ runtime: cri.runtime, clock, logger, random: deps.random, tasks: deps.tasks },
      events: deps.store.events,
      nodeIps: facts.nodeIps,
      agentStartedMs: clock.monotonic(),
      onResult: (uid) => void this.manager.poke(uid),
      statusOf: (uid) => statuses.get(uid),
      metrics: new ProberMetrics(deps.probeRegistry),
    });
    this.#imageAccess = new ImageAccess({
      policy: config.kubelet.imagePullCredentialsVerificationPolicy,
      allowlist: config.kubelet.preloadedImagesVerificationAllowlist,
      records: deps.store.imageAccess,
    });
    this.#ledger = new UseLedger({ uses: store.images, sources: store.imageSources, clock });
    const { rootDir } = config;
    this.stats = liveStats({
      ...{ config, facts, cri, clock, random: deps.random, cgroupDriver: deps.cgroupDriver },
      pods: () => this.manager.pods(),
      stop: deps.tasks.signal,
    });
    this.#files = new PodFiles({
      rootDir,
      podLogsDir: config.kubelet.podLogsDir,
      containerLogsDir: CONTAINER_LOGS_DIR,
      clusterDomain: config.kubelet.clusterDomain,
    });
    const volumes = new VolumeManager({
      ...{ rootDir, clock, logger, events: deps.store.events },
      persistentVolumeDir: config.islet.persistentVolumeDir,
      allocatable: facts.allocatable,
      objects: deps.source.configs,
    });
    const { sync, end } = workerParts({
      ...{ ...deps, volumes, features: this.#features, files: this.#files, probes: this.#probes },
      ...{ cgroups: this.#cgroups, keeper: this.#keeper, ledger: this.#ledger },
      imageAccess: this.#imageAccess,
      runtimeView: this.#runtimeView(),
      onStarted: (id, log) => this.housekeeping.started(id, log),
    });
    const { tasks } = deps;
    const node = { config, registry, events: store.events, clock, logger, tasks };
    this.guard = new LiveGuard({ ...node, pleg: this.pleg, manager: () => this.manager });
    const metrics = admissionMetrics(registry);
    this.manager = new PodManager({
      worker: {
        sync,
        end,
        runtimeView: this.#runtimeView(),
        statuses,
        clock,
        random: deps.random,
        logger,
        syncFrequencyMs: config.kubelet.syncFrequencyMs,
      },
      statuses,
      admission: this.#admission(metrics.rejections),
      preemptions: metrics.preemptions,
      events: deps.store.events,
      logger,
      tasks: deps.tasks,
      leftovers: () =>
        findLeftovers({
          inLogs: () => podsWithLogs(config.kubelet.podLogsDir),
          inRuntime: () => this.pleg.knownPods(),
          onDisk: () => volumes.podsOnDisk(),
          inStore: () => deps.store.pods.all(),
          wantedNames: () => this.manager.wantedNames(),
        }),
      mayBeWanted: () => this.#mayBeWanted(),
    });
    this.housekeeping = new Housekeeping({
      ...{ config, cri, clock, logger, pleg: this.pleg, manager: this.manager },
      ...{ store: deps.store, registry: deps.registry, files: this.#files, ledger: this.#ledger },
      containerLogsDir: CONTAINER_LOGS_DIR,
      imageAccess: this.#imageAccess,
      podsAreCertain: () => !this.#mayBeWanted(),
      imagesAreCertain: () => this.#allRead(),
    });
  }

  /** Starts relisting and working; resolves when every known pod has a worker. */
  async begin(signal: AbortSignal): Promise<void> {
    const { tasks, source, logger } = this.#deps;
    const keeper = this.#keeper;
    await keeper.prepare(signal);
    tasks.spawn('cgroups', (stop) => keeper.run(stop));
    this.pleg.onEvent(({ uid }) => {
      if (!this.manager.poke(uid)) this.#adoptSoon();
      this.housekeeping.podChanged();
    });
    tasks.spawn('relist', (stop) => this.pleg.run(stop));
    const { images } = this.#deps.cri;
    tasks.spawn('image records', (stop) => this.#imageAccess.prune(() => images.listImages(stop)));
    await this.pleg.getNewerThan('', 0, signal); // the first good list
    await this.#askFeatures(signal); // admission needs to know
    source.subscribe((pods) => {
      this.manager.update(this.#priced(pods));
      this.#adoptSoon();
    });
    source.subscribeObjects((changed) => this.manager.objectsChanged(changed));
    await this.manager.begin(this.#priced(source.current()));
    const { stats = this.stats } = this.#deps;
    const memoryUse = liveMemoryUse(this.#deps);
    const parts = { stats, memoryUse, pods: this.manager, reclaimer: this.housekeeping };
    this.guard.start();
    tasks.spawn('eviction', (stop) => this.eviction.run(parts, stop));
    this.housekeeping.begin(tasks);
    logger.debug('all pods are known', { pods: source.current().length });
  }

  /** With what the sandboxes of their runtime classes cost. */
  #priced(pods: readonly DesiredPod[]): DesiredPod[] {
    const { runtimeClasses } = this.#deps.config.islet;
    return pods.map((desired) => {
      const pod = withOverhead(desired.pod, runtimeClasses);
      return pod === desired.pod ? desired : { ...desired, pod };
    });
  }

  /** Whether it has begun and there is no pod, wanted or left over. */
  isEmpty(): boolean {
    return this.manager.begun && this.manager.counts().size === 0;
  }

  /** Brings the gauges of the workers up to date; called when somebody reads the metrics. */
  reportWorkers(): void {
    const { registry, source } = this.#deps;
    const working = registry.gauge('kubelet_working_pods', 'Number of pods by lifecycle.', [
      'lifecycle',
    ]);
    for (const [lifecycle, count] of this.manager.counts()) working.set(count, { lifecycle });
    registry
      .gauge('kubelet_desired_pods', 'The number of pods the node is to run.', ['static'])
      .set(source.current().length, { static: 'true' });
  }

  #adoptSoon(): void {
    const { tasks } = this.#deps;
    tasks.spawn('look for leftovers', () => this.manager.adoptLeftovers());
  }

  #admission(rejections: Counter): AdmissionGate {
    const { config, facts, statuses, store, clock } = this.#deps;
    return new AdmissionGate({
      node: systemAdmissionNode(config, {
        ...{ facts, features: this.#features },
        pressure: () => this.eviction.conditions(),
        isShuttingDown: () => this.guard.isShuttingDown(),
      }),
      isRunning: (uid) => this.pleg.isRunning(uid),
      mayReturn: (uid) => this.eviction.mayReturn(uid),
      ...{ statuses, events: store.events, clock },
      rejections,
    });
  }

  /** The connection is there again: what runs and what the runtime can do may have changed. */
  reconnected(): void {
    this.pleg.relistNow();
    this.#deps.tasks.spawn('runtime features', (stop) => this.#askFeatures(stop));
  }

  /** One try now; after a failure it goes on in the background, because pods may wait for the answer. */
  async #askFeatures(signal: AbortSignal): Promise<void> {
    const { logger, tasks, clock } = this.#deps;
    try {
      await this.#features.status(signal);
      this.manager.reconsider();
    } catch (error) {
      signal.throwIfAborted();
      logger.debug('the runtime does not tell what it can do', { err: error });
      tasks.spawn('runtime features', async (stop) => {
        await clock.sleep(FEATURES_RETRY_MS, stop);
        await this.#askFeatures(stop);
      });
    }
  }

  #runtimeView(): RuntimeView {
    const { pleg } = this;
    return {
      getNewerThan: (uid, ms, signal) => pleg.getNewerThan(uid, ms, signal),
      current: (uid) => pleg.statusOf(uid),
      relistNow: () => pleg.relistNow(),
    };
  }

  /** A manifest that has an error names images too, which the node may not get again once it is put right. */
  #allRead(): boolean {
    const { source } = this.#deps;
    if (source.trouble() !== undefined) return false;
    return source.verdicts().every(({ state }) => state === 'accepted' || state === 'ignored');
  }

  /**
   * Without a memory of what was good last (a new database), a manifest that cannot be read now may be
   * that of any pod that runs.
   */
  #mayBeWanted(): boolean {
    const { source, store } = this.#deps;
    if (source.trouble() !== undefined) return true;
    if (!store.recovered) return false;
    return source
      .verdicts()
      .some((v) => v.state !== 'accepted' && v.state !== 'ignored' && !v.usingLastGood);
  }
}
