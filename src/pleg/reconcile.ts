/**
 * Owns: what follows from a list for each pod (spec: pleg.md §3.1).
 *
 *   changes ─► records ─┬─► pod gone: cache entry dropped, events told
 *                       └─► pod held ─► inspected (bounded, one at a time per pod) ─┬─► ok
 *                                                                                   └─► error
 *   ok      status cached, record advanced to what this inspection saw, events told, pod released
 *           (or inspected again at once when a later list has changed it meanwhile)
 *   error   error cached, record kept, pod released and put on the reinspect list for the next relist
 *
 * Invariants:
 *   1. At most one inspection per pod.
 *   2. A pod is held in the cache from the list that shows a change until an inspection begun after that
 *      list ends. So `getNewerThan` never gives a status older than what a list has shown.
 *   3. Nothing is told before the cache has the status behind it, and nothing twice.
 *   4. A status call that hangs keeps its own pod held, keeps no slot of the bound for longer than
 *      INSPECTION_PATIENCE_MS, and delays no other pod and no relist.
 *
 * Unlike the kubelet: inspections run beside the relist (4), and there is no event queue that can be full:
 * listeners are called at once and must return at once.
 */
import type { RuntimePodStatus } from '../runtime/model.ts';
import type { Clock } from '../util/clock.ts';
import { Limiter } from '../util/limiter.ts';
import type { Logger } from '../util/log.ts';
import type { TaskGroup } from '../util/task-group.ts';
import type { Change } from '../wasm/relister.ts';
import type { StatusCache } from './cache.ts';
import { inspectPod, type StatusReader } from './inspect.ts';
import type { PlegMetrics } from './metric.ts';
import { RareLog } from './rare-log.ts';
import type { PodSnapshot, Records } from './record.ts';
import type { PodLifecycleEvent } from './transition.ts';

const INSPECTIONS_AT_ONCE = 4;
const INSPECTION_PATIENCE_MS = 2000;

export interface ReconcilerDeps {
  readonly runtime: StatusReader;
  readonly records: Records;
  readonly cache: StatusCache;
  /** Runs the inspections; its stop ends them. */
  readonly tasks: TaskGroup;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<PlegMetrics, 'inspected'>;
  readonly emit: (event: PodLifecycleEvent) => void;
}

export class Reconciler {
  readonly #deps: ReconcilerDeps;
  readonly #limiter: Limiter;
  readonly #errors: RareLog;
  /** Pods that have an inspection waiting or running. */
  readonly #inspecting = new Set<string>();
  #reinspect = new Set<string>();
  /** When the newest good list was asked for. */
  #listedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: ReconcilerDeps) {
    const { clock } = deps;
    this.#deps = deps;
    this.#errors = new RareLog(deps);
    this.#limiter = new Limiter({
      slots: INSPECTIONS_AT_ONCE,
      patienceMs: INSPECTION_PATIENCE_MS,
      clock,
    });
  }

  /** Whether a list may be needed soon: nothing pokes the relist when an inspection fails. */
  get busy(): boolean {
    return this.#inspecting.size > 0 || this.#reinspect.size > 0;
  }

  /** The next list has the pod inspected even without a change; told as PodSync. */
  requestReinspect(uid: string): void {
    this.#reinspect.add(uid);
  }

  /** Takes in a good list. Bookkeeping only: the calls to the runtime are made in the background. */
  take(changes: readonly Change[], listedAt: number): void {
    this.#listedAt = listedAt;
    if (changes.length === 0 && this.#reinspect.size === 0) return;
    const changed = this.#deps.records.apply(changes);
    const again = this.#reinspect;
    this.#reinspect = new Set();
    for (const uid of changed) if (!again.has(uid)) this.#reconcile(uid, false);
    for (const uid of again) this.#reconcile(uid, true);
  }

  #reconcile(uid: string, reinspect: boolean): void {
    const { records, cache, tasks } = this.#deps;
    if (!records.has(uid)) return;
    if (this.#inspecting.has(uid)) {
      if (reinspect) this.#reinspect.add(uid);
      return; // looked at again when the inspection ends
    }
    if (!reinspect && !records.isDirty(uid)) {
      cache.release(uid);
      return;
    }
    if (!records.isListed(uid)) {
      this.#gone(uid);
      return;
    }
    cache.hold(uid);
    this.#inspecting.add(uid);
    tasks.spawn(`inspection of pod ${uid}`, (signal) => this.#inspect(uid, reinspect, signal));
  }

  #gone(uid: string): void {
    const { records, cache } = this.#deps;
    const snapshot = records.snapshot(uid);
    cache.delete(uid);
    this.#errors.forget(uid);
    if (snapshot) this.#tell(snapshot, false);
    cache.release(uid);
  }

  async #inspect(uid: string, reinspect: boolean, signal: AbortSignal): Promise<void> {
    let read: 'ok' | 'failed' | 'gone';
    try {
      read = await this.#limiter.run(0, signal, () => this.#read(uid, reinspect, signal));
    } finally {
      this.#inspecting.delete(uid);
    }
    if (signal.aborted) return;
    if (read === 'failed') {
      this.#reinspect.add(uid);
      this.#deps.cache.release(uid);
    } else if (this.#deps.records.has(uid)) this.#reconcile(uid, false);
    else this.#deps.cache.release(uid);
  }

  /** The inspection proper: of the newest list, which may be later than the one that asked for it. */
  async #read(
    uid: string,
    reinspect: boolean,
    signal: AbortSignal,
  ): Promise<'ok' | 'failed' | 'gone'> {
    const { cache, clock, metrics, records, runtime } = this.#deps;
    const at = this.#listedAt;
    const snapshot = records.snapshot(uid);
    if (!snapshot || !records.isListed(uid)) return 'gone';
    const start = clock.monotonic();
    let status: RuntimePodStatus;
    try {
      status = await inspectPod(runtime, snapshot, cache.get(uid), signal);
    } catch (error) {
      if (!signal.aborted) this.#failed(snapshot, error, at);
      return 'failed';
    } finally {
      metrics.inspected(clock.monotonic() - start);
    }
    this.#errors.forget(uid);
    cache.set(uid, status, undefined, at);
    this.#tell(snapshot, reinspect);
    return 'ok';
  }

  /** The cache is told even so: a worker that waits for this status must hear that there is none. */
  #failed({ uid, name, namespace }: PodSnapshot, cause: unknown, at: number): void {
    const { cache } = this.#deps;
    const fields = { pod: `${namespace}/${name}`, uid };
    this.#errors.warn(uid, 'cannot read the status of a pod', cause, fields);
    const error = cause instanceof Error ? cause : new Error(String(cause));
    cache.set(uid, cache.get(uid), error, at);
  }

  /** Advances the record to `snapshot` and says what that means. */
  #tell(snapshot: PodSnapshot, reinspect: boolean): void {
    const { uid } = snapshot;
    const told = this.#deps.records.deliver(snapshot);
    if (told.length === 0 && reinspect) this.#deps.emit({ uid, type: 'PodSync', id: uid });
    for (const { id, transition } of told) {
      if (transition !== 'ContainerChanged') this.#deps.emit({ uid, type: transition, id });
    }
  }
}
