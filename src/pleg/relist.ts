/**
 * Owns: the relist loop and the face of pleg/ (spec: pleg.md §3): lists both kinds of objects as raw bytes,
 * has the Wasm core say what changed, hands that on to the reconciler, and keeps the pace.
 *
 * Invariants: one relist at a time, and it waits for nothing but its two lists; the time of a relist is
 * read before they are asked for; a relist that fails changes nothing but the health.
 * Leaves to others: what a change means for a pod (reconcile.ts), when the next one is due (pace.ts).
 */
import type { RuntimeService } from '../cri/model.ts';
import type { RuntimePodStatus } from '../runtime/model.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import { TaskGroup } from '../util/task-group.ts';
import type { Change, ListedState, Relister } from '../wasm/relister.ts';
import { StatusCache } from './cache.ts';
import { EventStream } from './events.ts';
import { Health } from './health.ts';
import type { PlegMetrics } from './metric.ts';
import { Pace } from './pace.ts';
import { RareLog } from './rare-log.ts';
import { Reconciler } from './reconcile.ts';
import { Records, type KnownPod } from './record.ts';
import type { PodLifecycleEvent } from './transition.ts';

export type PlegRuntime = Pick<
  RuntimeService,
  | 'listContainersRaw'
  | 'listPodSandboxesRaw'
  | 'decodeContainer'
  | 'decodePodSandbox'
  | 'podSandboxStatus'
  | 'containerStatus'
  | 'containerEvents'
  | 'version'
>;

export interface PlegDeps {
  readonly runtime: PlegRuntime;
  readonly relister: Relister;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PlegMetrics;
}

export type PodLifecycleListener = (event: PodLifecycleEvent) => void;

const LISTED_STATES: readonly ListedState[] = ['running', 'exited', 'created', 'unknown'];

export class Pleg {
  readonly #deps: PlegDeps;
  readonly #pace: Pace;
  readonly #records: Records;
  readonly #cache: StatusCache;
  readonly #reconciler: Reconciler;
  readonly #events: EventStream;
  readonly #health = new Health();
  readonly #tasks: TaskGroup;
  readonly #errors: RareLog;
  readonly #listeners = new Set<PodLifecycleListener>();
  #failing = false;

  constructor(deps: PlegDeps) {
    const { log, runtime } = deps;
    this.#deps = deps;
    this.#pace = new Pace(deps);
    this.#errors = new RareLog(deps);
    this.#tasks = new TaskGroup({ onError: (name, error) => log.error(name, { err: error }) });
    this.#cache = new StatusCache({ onWait: () => this.relistNow() });
    this.#records = new Records({
      decode: runtime,
      onUndecodable: (change, error) =>
        log.warn('cannot decode a listed object', { kind: change.kind, id: change.id, err: error }),
    });
    this.#reconciler = new Reconciler({
      ...deps,
      records: this.#records,
      cache: this.#cache,
      tasks: this.#tasks,
      emit: (event) => this.#emit(event),
    });
    this.#events = new EventStream({ ...deps, relistNow: () => this.relistNow() });
  }

  /** Relists until the signal aborts; resolves when nothing of it runs any more. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#tasks.spawn('event stream', (stop) => this.#events.run(stop));
    try {
      while (!signal.aborted) {
        await this.#relist(signal);
        await this.#pace.wait(this.#mayBeSlow(), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#tasks.stop();
    }
  }

  /** Asks for a relist at once; any number of calls before it begins are one. */
  relistNow(): void {
    this.#pace.poke();
  }

  /** Has the pod's status read again although its lists do not change; told as PodSync. */
  requestReinspect(uid: string): void {
    this.#reconciler.requestReinspect(uid);
    this.relistNow();
  }

  /**
   * The listener is called synchronously, once the cache has the status behind the event, and must return
   * at once. Gives back the function that removes it.
   */
  onEvent(listener: PodLifecycleListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The last good status, an empty one for a pod that the runtime does not have. */
  statusOf(uid: string): RuntimePodStatus {
    return this.#cache.get(uid);
  }

  /**
   * The pod's status as read after `monotonicMs` (Clock.monotonic), an empty one when the runtime has no
   * such pod. Waits for it and has a relist come at once. Rejects when the status could not be read.
   */
  getNewerThan(uid: string, monotonicMs: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    return this.#cache.getNewerThan(uid, monotonicMs, signal);
  }

  /** Pods of which the runtime has any sandbox or container. */
  knownPods(): KnownPod[] {
    return this.#records.known();
  }

  /** Whether the newest list has anything running of the pod; known before its status is read. */
  isRunning(uid: string): boolean {
    return this.#records.isRunning(uid);
  }

  /** undefined while healthy, else why not, in the kubelet's words. */
  healthy(): string | undefined {
    return this.#health.problem(this.#deps.clock.monotonic());
  }

  async #relist(signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#deps;
    const interval = this.#pace.begin();
    if (interval !== undefined) metrics.interval(interval);
    // Before the calls: a worker must not be given a state older than its own last action.
    const at = clock.monotonic();
    const wall = clock.wall();
    const changes = await this.#list(signal);
    if (!changes) return;
    this.#health.seen(at);
    metrics.lastSeen(wall);
    this.#reportCounts();
    this.#reconciler.take(changes, at);
    this.#cache.updateTime(at);
    this.#events.listed(at, changes);
    metrics.relisted(clock.monotonic() - at);
  }

  /** undefined when the lists cannot be had or read. */
  async #list(signal: AbortSignal): Promise<readonly Change[] | undefined> {
    const { log, relister, runtime } = this.#deps;
    try {
      const lists = await Promise.all([
        runtime.listContainersRaw(signal),
        runtime.listPodSandboxesRaw(signal),
      ]);
      const changes = relister.relist(lists[0], lists[1]);
      if (this.#failing) {
        this.#failing = false;
        this.#errors.forget('');
        log.info('listing containers and sandboxes works again');
        this.#events.runtimeCameBack();
      }
      return changes;
    } catch (error) {
      if (signal.aborted) return undefined;
      this.#failing = true;
      this.#errors.warn('', 'cannot list containers and sandboxes', error);
      return undefined;
    }
  }

  #emit(event: PodLifecycleEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        // The pod must be released all the same, or its worker would wait for ever.
        this.#deps.log.error('a listener of pod events failed', { ...event, err: error });
      }
    }
  }

  /** Unlike the kubelet: every ready sandbox counts, which differs only where a pod has two of them. */
  #reportCounts(): void {
    const { metrics, relister } = this.#deps;
    metrics.readySandboxes(relister.count('sandbox', 'running'));
    for (const state of LISTED_STATES) {
      const count = relister.count('container', state);
      if (count > 0) metrics.containers(state, count); // a state that drops to none keeps its last value
    }
  }

  #mayBeSlow(): boolean {
    return (
      this.#events.state === 'trusted' &&
      !this.#failing &&
      !this.#reconciler.busy &&
      this.#cache.waiting === 0
    );
  }
}
