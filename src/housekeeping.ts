/**
 * Owns: the wiring of what keeps the node clean: the logs of containers, dead containers, images.
 */
import path from 'node:path';
import { parseQuantity, value } from './api/quantity.ts';
import type { Config } from './config/model.ts';
import type { CriClient } from './cri/client.ts';
import type { Reclaimer } from './eviction/reclaim.ts';
import { ContainerGc } from './gc/container-gc.ts';
import type { GcPod } from './gc/dead-plan.ts';
import { ImageGc } from './gc/image-gc.ts';
import type { ContainerLog } from './gc/log-keeper.ts';
import { LogKeeper } from './gc/log-keeper.ts';
import type { ImageAccess } from './image/access.ts';
import type { UseLedger } from './image/use-ledger.ts';
import type { Registry } from './metrics/registry.ts';
import type { Pleg } from './pleg/relist.ts';
import type { PodManager } from './pod/manager.ts';
import type { PodFiles } from './runtime/pod-files.ts';
import { isTerminalPhase } from './status/generate.ts';
import { readFileSystem } from './stats/file-system.ts';
import type { Store } from './store/store.ts';
import type { Clock } from './util/clock.ts';
import { Limiter } from './util/limiter.ts';
import type { Logger } from './util/log.ts';
import type { TaskGroup } from './util/task-group.ts';

export interface HousekeepingDeps {
  readonly config: Config;
  readonly cri: CriClient;
  readonly pleg: Pleg;
  readonly manager: PodManager;
  readonly store: Store;
  readonly registry: Registry;
  readonly files: PodFiles;
  readonly ledger: UseLedger;
  readonly imageAccess: ImageAccess;
  readonly containerLogsDir: string;
  /** False while a manifest that cannot be read may name any pod. */
  readonly podsAreCertain: () => boolean;
  /** False while a manifest that was not taken may name any image. */
  readonly imagesAreCertain: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A compression that takes longer lets the next one begin. */
const COMPRESS_PATIENCE_MS = 600_000;

export class Housekeeping implements Reclaimer {
  readonly #deps: HousekeepingDeps;
  readonly #logs: LogKeeper | undefined;
  readonly #containers: ContainerGc;
  readonly #images: ImageGc;

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
    this.#logs = this.#logKeeper();
    this.#containers = this.#containerGc();
    this.#images = this.#imageGc();
  }

  /** To be called when all pods are known. */
  begin(tasks: TaskGroup): void {
    const logs = this.#logs;
    if (logs) tasks.spawn('container logs', (stop) => logs.run(stop));
    tasks.spawn('container GC', (stop) => this.#containers.run(stop));
    tasks.spawn('image GC', (stop) => this.#images.run(stop));
  }

  /** A container was started, with its log. */
  started(id: string, log: string): void {
    this.#logs?.started(id, log);
  }

  /** What the runtime has of some pod is another than before. */
  podChanged(): void {
    this.#logs?.poke();
  }

  deadContainers(signal: AbortSignal): Promise<void> {
    return this.#containers.deadContainers(signal);
  }

  unusedImages(signal: AbortSignal): Promise<number> {
    return this.#images.unusedImages(signal);
  }

  /** undefined where the configuration wants none. */
  #logKeeper(): LogKeeper | undefined {
    const { config, cri, clock, logger } = this.#deps;
    const { kubelet } = config;
    const quantity = parseQuantity(kubelet.containerLogMaxSize);
    if (!quantity || quantity.nano <= 0n) return undefined;
    return new LogKeeper({
      logs: () => this.#containerLogs(),
      reopen: (id, signal) => cri.runtime.reopenContainerLog(id, signal),
      limits: { maxSize: value(quantity), maxFiles: kubelet.containerLogMaxFiles },
      intervalMs: kubelet.containerLogMonitorIntervalMs,
      workers: new Limiter({
        slots: kubelet.containerLogMaxWorkers,
        patienceMs: COMPRESS_PATIENCE_MS,
        clock,
      }),
      clock,
      logger,
    });
  }

  *#containerLogs(): Generator<ContainerLog> {
    const { pleg, manager, config } = this.#deps;
    const below = config.kubelet.podLogsDir + path.sep;
    for (const { uid } of pleg.knownPods()) {
      if (!manager.knows(uid)) continue;
      for (const { id, logPath, state } of pleg.statusOf(uid).containers) {
        if (state !== 'running' && state !== 'exited') continue;
        if (logPath.startsWith(below)) yield { id, path: logPath, running: state === 'running' };
      }
    }
  }

  #containerGc(): ContainerGc {
    const { config, cri, pleg, manager, store, files, containerLogsDir, podsAreCertain, clock } =
      this.#deps;
    return new ContainerGc({
      pods: () => this.#gcPods(),
      isAlive: (uid) => manager.knows(uid) || pleg.knownPods().some((pod) => pod.uid === uid),
      wantedNames: () => (podsAreCertain() ? manager.wantedNames() : undefined),
      adoptLeftovers: () => manager.adoptLeftovers(),
      runtime: cri.runtime,
      ...{ files, containerLogsDir, clock },
      podLogsDir: config.kubelet.podLogsDir,
      settings: config.deadContainers,
      onRemoved: () => pleg.relistNow(),
      nodeName: config.nodeName,
      events: store.events,
    });
  }

  #gcPods(): GcPod[] {
    const { pleg, manager } = this.#deps;
    const own = pleg.knownPods().filter(({ uid }) => manager.knows(uid));
    return own.map(({ uid }) => ({
      status: pleg.statusOf(uid),
      ended: manager.hasCompleted(uid),
    }));
  }

  #imageGc(): ImageGc {
    const { config, cri, manager, store, registry, ledger, imageAccess, clock, logger } =
      this.#deps;
    const { kubelet, islet } = config;
    return new ImageGc({
      images: cri.images,
      containers: (signal) => cri.runtime.listContainers({}, signal),
      sandboxImages: async (signal) => {
        const told = await cri.runtime.sandboxImage(signal);
        return told === undefined ? [islet.pauseImage] : [islet.pauseImage, told];
      },
      pods: () => manager.pods(),
      hasEnded: ({ status }) => isTerminalPhase(status.phase),
      isCertain: this.#deps.imagesAreCertain,
      ...{ ledger, clock, logger },
      fileSystem: (directory) => readFileSystem(directory, clock.wall()),
      onRemoved: (left) => imageAccess.prune(() => Promise.resolve(left)),
      settings: {
        highPercent: kubelet.imageGCHighThresholdPercent,
        lowPercent: kubelet.imageGCLowThresholdPercent,
        minAgeMs: kubelet.imageMinimumGCAgeMs,
        maxAgeMs: kubelet.imageMaximumGCAgeMs,
      },
      nodeName: config.nodeName,
      events: store.events,
      collected: registry.counter(
        'kubelet_image_garbage_collected_total',
        'Total number of images garbage collected by the kubelet, whether through disk usage or image age.',
        ['reason'],
      ),
    });
  }
}
