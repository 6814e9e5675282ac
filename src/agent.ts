/**
 * Owns: the composition root: what the agent consists of, in which order it starts and stops.
 *
 *   store ─▶ manifests ─▶ servers ─▶ (containerd of our own) ─▶ runtime answers ─▶ relist ─▶ workers
 *
 * Invariants: the servers answer before the runtime does; a runtime that is not there yet is waited
 * for, never an error; pods outlive every stop of the agent.
 */
import path from 'node:path';
import { LiveView } from './agent-view.ts';
import { nodeTarget } from './api/event.ts';
import { EventReason } from './api/reasons.ts';
import type { Config } from './config/model.ts';
import { chooseMode } from './containerd/mode.ts';
import { managedContainerd } from './containerd/managed.ts';
import { findBinary } from './containerd/host.ts';
import type { ContainerdSupervisor } from './containerd/supervisor.ts';
import { createCriClient, probeSocket } from './cri/client.ts';
import type { CriClient } from './cri/client.ts';
import type { RuntimeVersion } from './cri/model.ts';
import { socketPathOf } from './cri/endpoint.ts';
import { ensureLocalImages } from './image/busybox.ts';
import type { LocalImage } from './image/busybox.ts';
import { loadManifest } from './manifest/load.ts';
import { FileSource } from './manifest/source.ts';
import { Registry } from './metrics/registry.ts';
import { RuntimeHalf } from './runtime-half.ts';
import { readNodeFacts } from './runtime/node-facts.ts';
import type { NodeFacts } from './runtime/node-facts.ts';
import { swapInUse } from './runtime/swap.ts';
import { serveHealthz } from './server/healthz.ts';
import { readOnlyServer } from './server/read-only.ts';
import { serveSocket } from './server/socket.ts';
import type { SocketServer } from './server/socket.ts';
import type { AgentView } from './server/view.ts';
import type { StatsReader } from './stats/model.ts';
import { StatusManager } from './status/manager.ts';
import { openHashKey } from './store/hash-key.ts';
import type { HashKey } from './store/hash-key.ts';
import { openStore } from './store/store.ts';
import type { Store } from './store/store.ts';
import type { Clock, Random } from './util/clock.ts';
import { codeOf, IsletError, messageOf } from './util/errors.ts';
import type { Logger } from './util/log.ts';
import { TaskGroup } from './util/task-group.ts';

export interface AgentDeps {
  readonly config: Config;
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Images to make and import where they are missing, beside the pause image of a containerd of our own. */
  readonly localImages: readonly LocalImage[];
  /** Instead of the statistics of this machine. */
  readonly stats?: Pick<StatsReader, 'node' | 'pods'>;
}

const RUNTIME_RETRY_MS = 1_000;
const PROBE_TIMEOUT_MS = 3_000;
const EMPTY_POLL_MS = 200;
const SOCKET_RETRY_MS = 10_000;

export class Agent {
  readonly view: AgentView;
  readonly #deps: AgentDeps;
  readonly #facts: NodeFacts;
  readonly #tasks: TaskGroup;
  readonly #store: Store;
  readonly #source: FileSource;
  readonly #hashKey: HashKey;
  readonly #statuses: StatusManager;
  readonly #registry = new Registry();
  readonly #probeRegistry = new Registry();
  /** What `stop` undoes, newest first. */
  readonly #undo: (() => Promise<void> | void)[] = [];
  #half: RuntimeHalf | undefined;
  #managed: ContainerdSupervisor | undefined;

  /** Throws IsletError `invalid` when the node or the configuration cannot be worked with. */
  constructor(deps: AgentDeps) {
    const { config, clock, logger } = deps;
    this.#deps = deps;
    this.#facts = readNodeFacts(config);
    refuseNode(config, this.#facts);
    this.#tasks = new TaskGroup({
      onError: (name, error) => logger.error('a task failed', { task: name, err: error }),
    });
    this.#store = openStore({
      path: path.join(config.rootDir, 'islet.db'),
      clock,
      logger,
      limits: {
        maxEvents: config.islet.eventJournalSize,
        maxAgeMs: config.islet.eventJournalMaxAgeMs,
      },
    });
    this.#statuses = new StatusManager({ store: this.#store.pods, logger });
    this.#hashKey = openHashKey(path.join(config.rootDir, 'hash.key'), logger);
    this.#source = new FileSource({
      path: config.kubelet.staticPodPath,
      fileCheckFrequencyMs: config.kubelet.fileCheckFrequencyMs,
      nodeName: config.nodeName,
      load: (content, options) =>
        loadManifest(content, { ...options, featureGates: config.kubelet.featureGates }),
      store: this.#store,
      digestOf: (content) => this.#hashKey.hash(content),
      events: this.#store.events,
      clock,
      logger,
    });
    this.view = new LiveView({
      islet: deps.version,
      nodeName: config.nodeName,
      nodeLabels: config.nodeLabels,
      facts: this.#facts,
      source: this.#source,
      statuses: this.#statuses,
      store: this.#store,
      registry: this.#registry,
      probeRegistry: this.#probeRegistry,
      clock,
      runtimeHalf: () => this.#half,
    });
  }

  /** Resolves when the servers answer; the pods come up in the background. */
  async start(): Promise<void> {
    const { signal } = this.#tasks;
    this.#undo.push(() => this.#store.close());
    this.#tasks.spawn('store', (stop) => this.#store.run(stop));
    await this.#source.start(signal);
    this.#undo.push(() => this.#source.stopped());
    await this.#serve();
    const { config, version } = this.#deps;
    const node = nodeTarget(config.nodeName);
    this.#store.events.event(node, 'Normal', EventReason.Starting, `Starting islet ${version}.`);
    this.#tasks.spawn('runtime', (stop) => this.#runPods(stop));
  }

  /** Resolves when no pod and nothing of one is left; meant for an agent that wants none. */
  async untilEmpty(signal: AbortSignal): Promise<void> {
    while (!this.#half?.isEmpty()) await this.#deps.clock.sleep(EMPTY_POLL_MS, signal);
  }

  /** Stops all pods, by priority, before the agent ends; they come back with the next one. */
  async stopPods(signal: AbortSignal): Promise<void> {
    await this.#half?.guard.stopPods(signal);
  }

  /** Ends a containerd of our own, which otherwise outlives the agent as the pods do. */
  async stopContainerd(): Promise<void> {
    await this.#managed?.stop();
  }

  /**
   * Ends the agent; pods go on, and so does a containerd of our own: the output of containers passes
   * through it, so they would stand still when their pipes are full. The next agent adopts it.
   */
  async stop(): Promise<void> {
    const stopped = this.#tasks.stop();
    for (const undo of this.#undo.splice(0).reverse()) await undo();
    await stopped;
  }

  async #serve(): Promise<void> {
    const { config, clock, logger: log } = this.#deps;
    const { view } = this;
    const { kubelet, islet } = config;
    const { podLogsDir } = kubelet;
    const { socketPath } = islet;
    await this.#serveCli(() => serveSocket({ view, socketPath, podLogsDir, clock, log }));
    if (kubelet.readOnlyPort > 0) {
      const server = readOnlyServer({ view, clock, log });
      await server.listen({
        host: kubelet.address,
        port: kubelet.readOnlyPort,
        setting: 'readOnlyPort',
      });
      this.#undo.push(() => server.close());
    }
    if (kubelet.healthzPort > 0) {
      const address = {
        host: kubelet.healthzBindAddress,
        port: kubelet.healthzPort,
        setting: 'healthzPort',
      };
      this.#tasks.spawn('healthz', (stop) => serveHealthz(address, { clock, log }, stop));
    }
  }

  /** A full or read-only disk has no room for a socket; that must not keep the pods from being looked after. */
  async #serveCli(serve: () => Promise<SocketServer>): Promise<void> {
    const { clock, logger } = this.#deps;
    try {
      const socket = await serve();
      this.#undo.push(() => socket.close());
    } catch (error) {
      if (codeOf(error) !== 'failed') throw error; // taken, or a path that cannot be one
      logger.error('the command line cannot reach the agent; it is tried again', { err: error });
      this.#tasks.spawn('socket', async (signal) => {
        await clock.sleep(SOCKET_RETRY_MS, signal);
        await this.#serveCli(serve);
      });
    }
  }

  async #runPods(signal: AbortSignal): Promise<void> {
    const { config, clock, random, logger } = this.#deps;
    const endpoint = await this.#runtimeEndpoint(signal);
    const cri = createCriClient({
      endpoint,
      imageEndpoint: config.kubelet.imageServiceEndpoint,
      requestTimeoutMs: config.kubelet.runtimeRequestTimeoutMs,
      clock,
      logger,
      metrics: this.#registry,
      onReconnect: () => this.#half?.reconnected(),
    });
    this.#undo.push(() => cri.close());
    const version = await this.#untilAnswered(cri, signal);
    const half = new RuntimeHalf({
      ...{ config, facts: this.#facts, cri, version, source: this.#source, store: this.#store },
      ...{ statuses: this.#statuses, registry: this.#registry, clock, random, logger },
      cgroupDriver: await this.#cgroupDriver(cri, signal),
      hashKey: this.#hashKey,
      probeRegistry: this.#probeRegistry,
      tasks: this.#tasks,
      stats: this.#deps.stats,
    });
    this.#half = half;
    await half.begin(signal);
  }

  /** Where the runtime is; starts one of our own when that is the mode. */
  async #runtimeEndpoint(signal: AbortSignal): Promise<string> {
    const { config, clock, random, logger } = this.#deps;
    const { containerRuntimeEndpoint: endpoint, containerRuntimeEndpointSet } = config.kubelet;
    const mode = await chooseMode(
      { mode: config.islet.containerd, endpointSet: containerRuntimeEndpointSet },
      async () =>
        (await probeSocket({ endpoint, timeoutMs: PROBE_TIMEOUT_MS, clock, signal })) !== undefined,
    );
    if (mode === 'external') {
      await this.#makeImages({ socket: socketPathOf(endpoint) }, [], signal);
      return endpoint;
    }
    const managed = managedContainerd({
      ...{ config, clock, random, log: logger },
      ready: async (socket, stop) =>
        (await probeSocket({
          endpoint: socket,
          timeoutMs: PROBE_TIMEOUT_MS,
          clock,
          signal: stop,
        })) !== undefined,
    });
    this.#managed = managed.supervisor;
    this.#undo.push(() => managed.supervisor.release());
    await managed.supervisor.start(signal);
    const pause = { name: config.islet.pauseImage, kind: 'pause' } as const;
    await this.#makeImages({ ...managed, socket: managed.supervisor.socket }, [pause], signal);
    return managed.endpoint;
  }

  /** Where no registry can be reached, samples and sandboxes still need their images. */
  async #makeImages(
    where: { socket: string; ctr?: string; snapshotter?: string },
    more: readonly LocalImage[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, logger, localImages } = this.#deps;
    const images = [...localImages, ...more];
    if (images.length === 0) return;
    const ctr = where.ctr ?? findBinary('ctr', process.env['PATH'] ?? '') ?? 'ctr';
    try {
      const made = await ensureLocalImages({ ...where, ctr, images, clock, signal });
      if (made.length > 0) logger.info('images made on this node', { images: made });
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('images could not be made on this node', { err: error });
    }
  }

  /** Waits for the runtime for as long as it takes, and says so once. */
  async #untilAnswered(cri: CriClient, signal: AbortSignal): Promise<RuntimeVersion> {
    const { clock, logger } = this.#deps;
    for (let said = ''; ;) {
      try {
        return await cri.runtime.version(signal);
      } catch (error) {
        signal.throwIfAborted();
        if (said !== messageOf(error)) logger.warn('waiting for the runtime', { err: error });
        said = messageOf(error);
        await clock.sleep(RUNTIME_RETRY_MS, signal);
      }
    }
  }

  /** The runtime's word counts; one that does not know the question leaves it to the configuration. */
  async #cgroupDriver(cri: CriClient, signal: AbortSignal): Promise<'cgroupfs' | 'systemd'> {
    try {
      return await cri.runtime.cgroupDriver(signal);
    } catch (error) {
      signal.throwIfAborted();
      if (codeOf(error) !== 'unimplemented') {
        this.#deps.logger.warn('the runtime does not tell its cgroup driver', { err: error });
      }
      return this.#deps.config.kubelet.cgroupDriver;
    }
  }
}

/** What an agent that would start cannot work with, in the kubelet's words where it has any. */
function refuseNode(config: Config, facts: NodeFacts): void {
  if (config.kubelet.staticPodPath === '') {
    const text = 'no manifests: set staticPodPath in the file or --pod-manifest-path';
    throw new IsletError('invalid', text);
  }
  if (facts.cgroupVersion === 1 && config.kubelet.failCgroupV1) {
    const text = 'this node has cgroup v1: set failCgroupV1: false in the configuration to use it';
    throw new IsletError('invalid', text);
  }
  if (config.kubelet.failSwapOn && swapInUse()) {
    const text =
      'running with swap on is not supported, please disable swap or set failSwapOn: false in the configuration';
    throw new IsletError('invalid', text);
  }
}
