/**
 * Owns: which probe workers there are, and what they found out, by container id.
 * Invariants: `ensure` is level-driven: it may be called at any time and makes the workers those that the
 * pod needs; a pod without probes costs nothing; results of a container that no worker watches do not
 * exist.
 * Leaves to others: what results do to a pod (runtime/plan.ts, status/container-health.ts).
 *
 * Who decides whether a container is ready: the result here, where there is one. A worker starts with what
 * was last reported of the very container it watches (decide.ts), and container-health.ts keeps that, too,
 * until the worker has been made. So both say the same, and the status that the status manager stores is
 * all that has to outlive the agent.
 */
import type { EventRecorder } from '../api/event.ts';
import { isSidecar } from '../api/pod.ts';
import type { Container, Pod } from '../api/pod.ts';
import type { PodStatus } from '../api/status.ts';
import type { RuntimeService } from '../cri/model.ts';
import type { ProbeVerdicts } from '../runtime/plan-input.ts';
import type { Clock, Random } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import type { TaskGroup } from '../util/task-group.ts';
import { containerStatusOf, isFinished } from './decide.ts';
import type { ProbeMetrics } from './metrics.ts';
import type { ProbeKind } from './model.ts';
import { PROBE_KINDS, hasProbes, probeOf } from './model.ts';
import { Prober } from './prober.ts';
import { ProbeResultTable } from './results.ts';
import type { ProbeWorkerDeps } from './worker.ts';
import { ProbeWorker } from './worker.ts';

export interface ProbeManagerDeps {
  readonly runtime: Pick<RuntimeService, 'execSync' | 'version'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventRecorder;
  readonly logger: Logger;
  /** Primary first. */
  readonly nodeIps: readonly string[];
  /** Monotonic milliseconds: when the agent started. */
  readonly agentStartedMs: number;
  /** `<major>.<minor>` in the User-Agent of probes; default that of the kubelet islet follows. */
  readonly version?: string;
  /**
   * A readiness or startup result is new, or liveness has failed: to be shown in the status, and acted on.
   * Called from within a worker; must not throw.
   */
  readonly onResult: (podUid: string, kind: ProbeKind) => void;
  /** The last status of a pod; after a restart of the agent the stored one. */
  readonly statusOf: (uid: string) => PodStatus | undefined;
  readonly tasks: TaskGroup;
  readonly metrics?: ProbeMetrics;
}

interface ProbedPod {
  /** In no order; few. */
  readonly workers: ProbeWorker[];
  /** The pod is being terminated: nothing is started any more. */
  ending: boolean;
}

const VERSION = '1.36';

/** Reads as runtime/'s ProbeVerdicts and as status/'s ProbeResults. */
export class ProbeManager implements ProbeVerdicts {
  readonly #deps: ProbeManagerDeps;
  readonly #pods = new Map<string, ProbedPod>();
  readonly #results = new ProbeResultTable();
  readonly #workerDeps: ProbeWorkerDeps;

  constructor(deps: ProbeManagerDeps) {
    this.#deps = deps;
    const { runtime, clock, random, events, statusOf, agentStartedMs, metrics } = deps;
    const userAgent = `kube-probe/${deps.version ?? VERSION}`;
    const prober = new Prober({ runtime, events, clock, userAgent });
    this.#workerDeps = {
      ...{ clock, random, statusOf, agentStartedMs, metrics },
      results: this.#results,
      nodeIp: deps.nodeIps[0],
      attempt: (subject, limit) => prober.probe(subject, limit),
      onResult: (worker, result) => this.#onResult(worker, result),
    };
    // One listener for all workers.
    deps.tasks.signal.addEventListener('abort', () => this.#stopAll(), { once: true });
  }

  /**
   * Makes the workers those that `pod` needs now: missing ones start, changed probes are taken over, those
   * not wanted any more end. To be called in every pass over the pod, before the plan is made.
   * Unlike the kubelet: a worker that lives never keeps another one from being started.
   */
  ensure(pod: Pod): void {
    const { uid } = pod.metadata;
    const known = this.#pods.get(uid);
    if (known === undefined && !hasProbes(pod)) return;
    if (known?.ending === true || this.#deps.tasks.signal.aborted) return;
    const entry = known ?? { workers: [], ending: false };
    const wanted = this.#ensureWorkers(pod, entry);
    for (const worker of entry.workers.filter((w) => !wanted.has(w))) this.#end(entry, worker);
    if (entry.workers.length > 0) this.#pods.set(uid, entry);
    else this.#pods.delete(uid);
  }

  /**
   * A status was computed: what runs and is not ready is probed at once instead of at its next tick (spec:
   * probes.md §2).
   */
  observe(uid: string, status: PodStatus): void {
    for (const worker of this.#pods.get(uid)?.workers ?? []) {
      if (worker.kind !== 'readiness') continue;
      const container = containerStatusOf(status, worker.name);
      if (container?.state.running && container.started && !container.ready) worker.poke();
    }
  }

  /** The pod begins to terminate: of regular containers only readiness goes on (spec §2). */
  stopLivenessAndStartup(uid: string): void {
    const entry = this.#pods.get(uid);
    if (entry === undefined) return;
    entry.ending = true;
    for (const worker of [...entry.workers]) {
      const regular = worker.pod.spec.containers.some((c) => c.name === worker.name);
      if (regular && worker.kind !== 'readiness') this.#end(entry, worker);
    }
  }

  /** Nothing of the pod runs any more. */
  remove(uid: string): void {
    const entry = this.#pods.get(uid);
    this.#pods.delete(uid);
    for (const worker of [...(entry?.workers ?? [])]) worker.stop();
  }

  livenessFailed(containerId: string): boolean {
    return this.#results.get('liveness', containerId) === false;
  }

  startupFailed(containerId: string): boolean {
    return this.#results.get('startup', containerId) === false;
  }

  startupSucceeded(containerId: string): boolean | undefined {
    return this.#results.get('startup', containerId);
  }

  /** Results belong to ids; the name is what status/ asks with, too. */
  started(_containerName: string, containerId: string): boolean | undefined {
    return this.#results.get('startup', containerId);
  }

  ready(_containerName: string, containerId: string): boolean | undefined {
    return this.#results.get('readiness', containerId);
  }

  /** Workers that live now. */
  get size(): number {
    let count = 0;
    for (const { workers } of this.#pods.values()) count += workers.length;
    return count;
  }

  #ensureWorkers(pod: Pod, entry: ProbedPod): Set<ProbeWorker> {
    const status = this.#deps.statusOf(pod.metadata.uid);
    const wanted = new Set<ProbeWorker>();
    for (const container of probedContainers(pod)) {
      if (isFinished(pod, container, status)) continue;
      for (const kind of PROBE_KINDS) {
        const probe = probeOf(container, kind);
        if (probe === undefined) continue;
        const there = entry.workers.find((w) => w.name === container.name && w.kind === kind);
        there?.update(pod, container, probe);
        wanted.add(
          there ??
            this.#start(entry, new ProbeWorker(this.#workerDeps, kind, { pod, container, probe })),
        );
      }
    }
    return wanted;
  }

  #start(entry: ProbedPod, worker: ProbeWorker): ProbeWorker {
    entry.workers.push(worker);
    this.#deps.tasks.spawn(`${worker.kind} probe of ${worker.pod.metadata.name}`, async () => {
      try {
        await worker.run();
      } finally {
        this.#end(entry, worker);
      }
    });
    return worker;
  }

  #end(entry: ProbedPod, worker: ProbeWorker): void {
    worker.stop();
    const at = entry.workers.indexOf(worker);
    if (at >= 0) entry.workers.splice(at, 1);
    const { uid } = worker.pod.metadata;
    // While the pod ends, the entry stays to say so.
    if (entry.workers.length === 0 && !entry.ending && this.#pods.get(uid) === entry) {
      this.#pods.delete(uid);
    }
  }

  #onResult(worker: ProbeWorker, result: boolean): void {
    const { kind, name: container } = worker;
    const { uid, name: pod, namespace } = worker.pod.metadata;
    const verdict = result ? 'succeeded' : 'failed';
    this.#deps.logger.info(`${kind} probe ${verdict}`, { pod, namespace, container });
    this.#deps.onResult(uid, kind);
  }

  #stopAll(): void {
    for (const uid of [...this.#pods.keys()]) this.remove(uid);
  }
}

function* probedContainers(pod: Pod): Generator<Container> {
  for (const container of pod.spec.initContainers ?? []) if (isSidecar(container)) yield container;
  yield* pod.spec.containers;
}
