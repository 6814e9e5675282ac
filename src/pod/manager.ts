/**
 * Owns: the set of pod workers: one for every pod that the manifest directory asks for and for every
 * orphan that the runtime or the disk still has; who waits for whom.
 * Invariants: `reconcile` is level-driven: it compares the desired set with the workers and may be
 * called at any time; at most one worker of a full name works at a time; an orphan is only ended when
 * it is certain that no manifest asks for it.
 */
import type { ConfigObjectKey } from '../api/config-object.ts';
import { objectText } from '../api/config-object.ts';
import type { EventRecorder } from '../api/event.ts';
import { podTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { podFullName } from '../api/pod.ts';
import type { PodStatus } from '../api/status.ts';
import { EventReason } from '../api/reasons.ts';
import { configReferences } from '../manifest/config-references.ts';
import type { Counter } from '../metrics/registry.ts';
import { jsonEqual } from '../status/equal.ts';
import { isTerminalPhase } from '../status/generate.ts';
import type { Logger } from '../util/log.ts';
import type { TaskGroup } from '../util/task-group.ts';
import type { AdmissionGate } from './admission-gate.ts';
import { hostPorts, rememberedHostPorts, startRank } from './order.ts';
import type { Eviction } from './eviction.ts';
import { isEvicted, PREEMPTED } from './eviction.ts';
import type { DesiredPod, PodRef, Statuses } from './ports.ts';
import type { WorkerDeps } from './worker.ts';
import { PodWorker } from './worker.ts';

export interface PodManagerDeps {
  readonly worker: Omit<WorkerDeps, 'onState'>;
  readonly statuses: Statuses;
  readonly admission: Pick<AdmissionGate, 'standing' | 'judge' | 'forget'>;
  /** `kubelet_preemptions`, by `preemption_signal`. */
  readonly preemptions: Pick<Counter, 'inc'>;
  readonly events: EventRecorder;
  readonly logger: Logger;
  readonly tasks: TaskGroup;
  /** Pods that the runtime or the disk has something of. */
  readonly leftovers: () => Promise<PodRef[]>;
  /** Whether a leftover may belong to a manifest that cannot be read now. */
  readonly mayBeWanted: () => boolean;
}

export class PodManager {
  readonly #deps: PodManagerDeps;
  readonly #desired = new Map<string, DesiredPod>();
  readonly #workers = new Map<string, PodWorker>();
  /** Uids of pods that a changed manifest puts in the place of one that has not gone yet. */
  readonly #heirs = new Set<string>();
  #begun = false;
  #releasing = false;

  constructor(deps: PodManagerDeps) {
    this.#deps = deps;
  }

  /** Whether every pod that was there at the start has a worker. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Begins with the first desired set: leftovers first, so that their successors wait for them. */
  async begin(pods: readonly DesiredPod[]): Promise<void> {
    this.#want(pods);
    await this.adoptLeftovers();
    this.#begun = true;
    this.#reconcile();
  }

  /** Replaces the desired set. */
  update(pods: readonly DesiredPod[]): void {
    this.#want(pods);
    if (this.#begun) this.#reconcile();
  }

  #want(pods: readonly DesiredPod[]): void {
    const before = new Map(this.#desired);
    this.#desired.clear();
    for (const desired of pods) {
      const { uid } = desired.pod.metadata;
      this.#desired.set(uid, desired);
      if (before.has(uid)) continue;
      for (const warning of desired.warnings) {
        const target = podTarget(desired.pod);
        this.#deps.events.event(target, 'Warning', EventReason.ManifestWarning, warning);
      }
    }
  }

  /** Something about this pod changed in the runtime. Returns whether anybody works on it. */
  poke(uid: string): boolean {
    const worker = this.#workers.get(uid);
    worker?.poke();
    return worker !== undefined;
  }

  /** ConfigMaps or Secrets changed: the pods that refer to them look again. */
  objectsChanged(changed: readonly ConfigObjectKey[]): void {
    const texts = new Set(changed.map(objectText));
    for (const [uid, { pod }] of this.#desired) {
      if (configReferences(pod).some((one) => texts.has(objectText(one)))) this.poke(uid);
    }
  }

  /** Something of the node changed that may let a pod start. */
  reconsider(): void {
    if (this.#begun) this.#releaseWaiting();
  }

  /** Whether a manifest asks for the pod or it is being ended: nobody else may touch what is its. */
  knows(uid: string): boolean {
    return this.#desired.has(uid) || this.#workers.has(uid);
  }

  /** Whether the pod has finished, its manifest is still there, and nobody needs its containers. */
  hasCompleted(uid: string): boolean {
    return this.#workers.get(uid)?.state.kind === 'completed';
  }

  /** `<name>_<namespace>` of every wanted pod. */
  wantedNames(): ReadonlySet<string> {
    return new Set([...this.#desired.values()].map((d) => podFullName(d.pod)));
  }

  /** Ends what no manifest asks for and nobody works on. */
  async adoptLeftovers(): Promise<void> {
    const leftovers = await this.#deps.leftovers();
    const unknown = leftovers.filter((r) => !this.#desired.has(r.uid) && !this.#workers.has(r.uid));
    if (unknown.length === 0) return;
    if (this.#deps.mayBeWanted()) {
      const pods = unknown.map((r) => `${r.namespace}/${r.name}`);
      this.#deps.logger.warn(
        'pods without a manifest are left alone while a manifest cannot be read and none is known from before',
        { pods },
      );
      return;
    }
    for (const ref of unknown) {
      const { uid, name, namespace } = ref;
      this.#deps.logger.info('ending a pod that no manifest asks for', { uid, name, namespace });
      this.#add(PodWorker.forOrphan(this.#workerDeps(), ref));
    }
  }

  /** The pods of the manifest directory, and those that are ending, with their live status. */
  pods(): Pod[] {
    const out: Pod[] = [];
    for (const desired of this.#desired.values()) out.push(this.#live(desired.pod));
    for (const worker of this.#workers.values()) {
      if (worker.desired && !this.#desired.has(worker.ref.uid)) {
        out.push(leaving(this.#live(worker.desired.pod), worker.removedAtMs));
      }
    }
    return out;
  }

  /** Pods that are to run: neither ended nor ending. */
  active(): Pod[] {
    return [...this.#workers.values()].flatMap(({ state, desired, ref }) => {
      const ended = isTerminalPhase(this.#deps.statuses.get(ref.uid)?.phase);
      return state.kind === 'syncing' && desired && !ended ? [desired.pod] : [];
    });
  }

  /** Ends an active pod; it comes back when the admission lets it. False when it is not active. */
  evict(uid: string, eviction: Eviction): boolean {
    return this.#workers.get(uid)?.evict(eviction) ?? false;
  }

  /** Whether a pod has still something to stop or to give back. */
  isEnding(uid: string): boolean {
    const kind = this.#workers.get(uid)?.state.kind;
    return kind === 'terminating' || kind === 'terminated';
  }

  /** Pods that were evicted and wait to come back. */
  evicted(): Pod[] {
    return [...this.#workers.values()].flatMap(({ isIdle, desired, ref }) =>
      isIdle && desired && isEvicted(this.#deps.statuses.restore(ref.uid)) ? [desired.pod] : [],
    );
  }

  /** Warnings of the manifest of a pod. */
  warnings(uid: string): readonly string[] {
    return this.#desired.get(uid)?.warnings ?? [];
  }

  /** How many workers are in each state; for the metrics. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { state } of this.#workers.values()) {
      counts.set(state.kind, (counts.get(state.kind) ?? 0) + 1);
    }
    return counts;
  }

  #live(pod: Pod): Pod {
    const status: PodStatus = this.#deps.statuses.get(pod.metadata.uid) ?? pod.status;
    return { ...pod, status };
  }

  #reconcile(): void {
    for (const [uid, worker] of this.#workers) {
      const desired = this.#desired.get(uid);
      if (desired) {
        const known = worker.desired;
        if (known && known !== desired && !sameWork(known, desired)) worker.update(desired);
      } else if (worker.desired) {
        worker.remove();
      }
    }
    for (const [uid, desired] of this.#desired) {
      if (this.#workers.has(uid)) continue;
      if (this.#hasPlaceOf(desired.pod)) this.#heirs.add(uid);
      this.#tellOfReplacement(desired.pod);
      this.#add(PodWorker.forPod(this.#workerDeps(), desired));
    }
    this.#releaseWaiting();
  }

  /** A changed manifest is another pod, never the old one changed; who looks at it wants to know. */
  #tellOfReplacement(pod: Pod): void {
    const name = podFullName(pod);
    for (const { ref } of this.#workers.values()) {
      if (`${ref.name}_${ref.namespace}` !== name) continue;
      const text = `the manifest changed: this pod replaces the one with uid ${ref.uid}`;
      this.#deps.events.event(podTarget(pod), 'Normal', EventReason.ManifestChanged, text);
    }
  }

  /** Whether a pod of this name that is about to go has a place on the node that nobody took from it. */
  #hasPlaceOf(pod: Pod): boolean {
    const name = podFullName(pod);
    return [...this.#workers.values()].some(
      ({ ref, state: { kind }, evictedAtMs }) =>
        `${ref.name}_${ref.namespace}` === name &&
        (kind === 'terminating' || kind === 'terminated') &&
        evictedAtMs === undefined,
    );
  }

  #add(worker: PodWorker): void {
    this.#workers.set(worker.ref.uid, worker);
    this.#deps.tasks.spawn(`pod ${worker.ref.name}`, (signal) => worker.run(signal));
  }

  #workerDeps(): WorkerDeps {
    return { ...this.#deps.worker, onState: (worker) => this.#onState(worker) };
  }

  #onState(worker: PodWorker): void {
    if (worker.state.kind === 'gone' && this.#workers.get(worker.ref.uid) === worker) {
      this.#workers.delete(worker.ref.uid);
      this.#heirs.delete(worker.ref.uid);
      this.#deps.admission.forget(worker.ref.uid);
      // Its manifest may be back meanwhile, with the same content and so the same uid.
      this.#reconcile();
      return;
    }
    this.#releaseWaiting();
  }

  /** Starts what may start, in an order in which no newcomer takes what another had before. */
  #releaseWaiting(): void {
    if (this.#releasing) return; // the pass under way sees what changed
    this.#releasing = true;
    try {
      const kept: Pod[] = [];
      for (const { worker, desired } of this.#idle()) {
        if (!this.#blocked(worker)) this.#decide(worker, desired.pod, kept);
        else if (this.#heirs.has(worker.ref.uid)) kept.push(desired.pod);
      }
    } finally {
      this.#releasing = false;
    }
  }

  /** `kept`: pods that wait for their predecessors, whose places are theirs. */
  #decide(worker: PodWorker, pod: Pod, kept: readonly Pod[]): void {
    const active = this.#activePods();
    const counted = new Set(active.map(podFullName));
    const others = [...active, ...kept.filter((heir) => !counted.has(podFullName(heir)))];
    const verdict = this.#deps.admission.judge(pod, others, this.#leaving());
    if (verdict.kind !== 'preempt') this.#heirs.delete(worker.ref.uid);
    switch (verdict.kind) {
      case 'start':
        worker.release({ anew: verdict.anew });
        return;
      case 'refused':
        worker.reject();
        return;
      case 'preempt':
        worker.reject(); // until the victims have ended
        for (const victim of verdict.victims) this.#preempt(victim, verdict.signal);
    }
  }

  #preempt(victim: Pod, signal: string): void {
    if (!this.evict(victim.metadata.uid, PREEMPTED)) return;
    const { events, preemptions } = this.#deps;
    events.event(podTarget(victim), 'Warning', EventReason.Preempting, PREEMPTED.message);
    preemptions.inc({ preemption_signal: signal });
  }

  #idle(): { worker: PodWorker; desired: DesiredPod }[] {
    return [...this.#workers.values()]
      .flatMap((worker) => {
        const { desired, isIdle, ref } = worker;
        if (!isIdle || !desired) return [];
        const own = this.#deps.admission.standing(ref.uid);
        const standing = this.#heirs.has(ref.uid) ? Math.min(own, 1) : own;
        return [{ worker, desired, standing, rank: startRank(desired.pod, desired.order) }];
      })
      .sort((a, b) => a.standing - b.standing || a.rank - b.rank);
  }

  /** Pods that hold something of the node. */
  #activePods(): Pod[] {
    const nowMs = this.#deps.worker.clock.monotonic();
    return [...this.#workers.values()].flatMap(({ state, desired, ref, evictedAtMs }) => {
      const { kind } = state;
      const holds =
        (kind === 'terminating' && !isOverdue(evictedAtMs, desired?.pod, nowMs)) ||
        (kind === 'syncing' && !isTerminalPhase(this.#deps.statuses.get(ref.uid)?.phase));
      return holds && desired ? [desired.pod] : [];
    });
  }

  /** Uids of pods whose containers are being stopped. */
  #leaving(): ReadonlySet<string> {
    const workers = [...this.#workers.values()];
    return new Set(workers.filter((w) => w.state.kind === 'terminating').map((w) => w.ref.uid));
  }

  /** Whether another worker must end first (spec: static-pods.md §5.3). */
  #blocked(worker: PodWorker): boolean {
    const own = worker.desired;
    if (!own) return false;
    const name = podFullName(own.pod);
    const ports = new Set(hostPorts(own.pod));
    for (const other of this.#workers.values()) {
      if (other === worker) continue;
      const { kind } = other.state;
      if (`${other.ref.name}_${other.ref.namespace}` === name) {
        if (kind !== 'purging' && kind !== 'gone' && !other.isIdle) return true;
      }
      // The successor under another name or from the same file gets the ports only when they are free.
      if (kind !== 'terminating') continue;
      if (other.desired?.file === own.file) return true;
      if (ports.size > 0 && this.#portsOf(other).some((p) => ports.has(p))) return true;
    }
    return false;
  }

  #portsOf({ desired, ref }: PodWorker): string[] {
    if (desired) return hostPorts(desired.pod);
    const known = this.#deps.worker.runtimeView.current(ref.uid);
    return known ? rememberedHostPorts(known) : [];
  }
}

/** One that cannot be ended holds nobody up for ever: the kubelet waits as long for a pod that it preempts. */
function isOverdue(evictedAtMs: number | undefined, pod: Pod | undefined, nowMs: number): boolean {
  if (evictedAtMs === undefined || !pod) return false;
  const graceMs = pod.spec.terminationGracePeriodSeconds * 1000;
  return nowMs - evictedAtMs > Math.max(10_000, 1.5 * graceMs);
}

/** A rewrite of a file that changes nothing for the worker disturbs nobody. */
function sameWork(a: DesiredPod, b: DesiredPod): boolean {
  return a.order === b.order && jsonEqual(a.pod, b.pod);
}

/** As the API shows a pod that is being terminated. */
function leaving(pod: Pod, sinceMs: number | undefined): Pod {
  const deletionTimestamp = new Date(sinceMs ?? 0).toISOString().replace(/\.\d+Z$/, 'Z');
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp } };
}
