/**
 * Owns: the life of one worker: one container of one pod, one kind of probe (spec: probes.md §2).
 * Invariants: attempts of a worker never overlap; ticks keep their distance however long an attempt takes,
 * and missed ones are not made up for; a poke is never lost; after `stop()` nothing is stored any more.
 * Leaves to others: the decisions (decide.ts), the attempt (prober.ts), which workers there are
 * (manager.ts).
 *
 *   look ──▶ probe ──▶ conclude ──▶ wait for a tick or a poke ──▶ look …
 *     └── nothing left to do, or stop() ──▶ ended
 */
import type { Container, Pod, Probe } from '../api/pod.ts';
import type { PodStatus } from '../api/status.ts';
import type { Clock, Random } from '../util/clock.ts';
import type { Decision } from './decide.ts';
import { FRESH, conclude, decide } from './decide.ts';
import type { ProbeMetrics, ProbeSeries } from './metrics.ts';
import type { ProbeKind, ProbeSubject } from './model.ts';
import type { ProbeResultTable } from './results.ts';
import { TimeLimit } from './time-limit.ts';

export interface ProbeWorkerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly results: ProbeResultTable;
  readonly statusOf: (uid: string) => PodStatus | undefined;
  /** One attempt; rejects only when the worker is stopped. */
  readonly attempt: (subject: ProbeSubject, limit: TimeLimit) => Promise<boolean | undefined>;
  /** Where a pod on the host's network is. */
  readonly nodeIp: string | undefined;
  /** Monotonic: when the agent started. */
  readonly agentStartedMs: number;
  /** A result that others act on is new: of readiness or startup any, of liveness a failure. */
  readonly onResult: (worker: ProbeWorker, result: boolean) => void;
  readonly metrics: ProbeMetrics | undefined;
}

/** What a worker works for; replaced when the manifest changes. */
export interface ProbeAssignment {
  readonly pod: Pod;
  readonly container: Container;
  readonly probe: Probe;
}

/**
 * Ticks lie on tenths of a second. Unlike the kubelet: hundreds of probes share ten wake-ups a second, which
 * halves what they cost.
 */
const GRID_MS = 100;

const STOPPED = new Error('the probe worker was stopped');
const POKED = new Error('poked');

export class ProbeWorker {
  readonly kind: ProbeKind;
  readonly name: string;
  readonly #deps: ProbeWorkerDeps;
  readonly #stop = new AbortController();
  readonly #limit: TimeLimit;
  /** Aborted by a poke; replaced when that has been seen, so that a tick makes nothing new. */
  #pause = new AbortController();
  #assignment: ProbeAssignment;
  #memory = FRESH;
  #nextTickMs = 0;

  constructor(deps: ProbeWorkerDeps, kind: ProbeKind, assignment: ProbeAssignment) {
    this.#deps = deps;
    this.kind = kind;
    this.name = assignment.container.name;
    this.#assignment = assignment;
    this.#limit = new TimeLimit(deps.clock, this.#stop.signal);
    // At once, so that what was known before a restart of the agent is known before anything is planned.
    this.#look();
  }

  get pod(): Pod {
    return this.#assignment.pod;
  }

  /** The newest manifest wins; counters stay, a new period starts at once. */
  update(pod: Pod, container: Container, probe: Probe): void {
    const before = this.#assignment;
    if (before.pod === pod) return;
    this.#assignment = { pod, container, probe };
    if (before.probe.periodSeconds !== probe.periodSeconds) this.poke();
  }

  /** Probe now; the next tick is one period later. */
  poke(): void {
    this.#pause.abort(POKED);
  }

  /** Ends the worker; what it stored is forgotten at once. */
  stop(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(STOPPED);
    this.#pause.abort(STOPPED);
    const { containerId } = this.#memory;
    if (containerId !== undefined) this.#deps.results.set(this.kind, containerId, undefined);
    this.#deps.metrics?.forget(this.#series());
  }

  /** Resolves when there is nothing left to do, or after `stop()`. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    try {
      await this.#jitter(signal);
      this.#restartTicks();
      while (await this.#iterate(signal)) await this.#tick(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.stop();
    }
  }

  /**
   * Spreads the first probes of the pods that an agent finds when it starts.
   * Unlike the kubelet: a poke ends it, so a container that starts just then is ready no later than others.
   */
  async #jitter(signal: AbortSignal): Promise<void> {
    const { clock, random, agentStartedMs } = this.#deps;
    const period = this.#periodMs();
    if (clock.monotonic() - agentStartedMs >= period) return;
    await this.#wait(random() * period, signal);
  }

  /** Until the next tick, or a poke, which moves the ticks. */
  async #tick(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    if (await this.#wait(this.#nextTickMs - clock.monotonic(), signal)) {
      this.#restartTicks();
      return;
    }
    const late = Math.max(0, clock.monotonic() - this.#nextTickMs);
    const period = this.#periodMs();
    this.#nextTickMs += period * (1 + Math.floor(late / period));
  }

  #restartTicks(): void {
    const next = this.#deps.clock.monotonic() + this.#periodMs();
    this.#nextTickMs = Math.ceil(next / GRID_MS) * GRID_MS;
  }

  /** Resolves to whether it was poked, since the last wait or now. */
  async #wait(ms: number, signal: AbortSignal): Promise<boolean> {
    const pause = this.#pause.signal;
    await this.#deps.clock.sleep(ms, pause).catch(() => undefined);
    signal.throwIfAborted();
    if (pause.aborted) this.#pause = new AbortController();
    return pause.aborted;
  }

  /** Resolves to whether there will be another one. */
  async #iterate(signal: AbortSignal): Promise<boolean> {
    const decision = this.#look();
    const id = this.#memory.containerId;
    if (decision.next !== 'probe' || id === undefined) return decision.next !== 'exit';
    const { clock, attempt, metrics } = this.#deps;
    const { pod, container, probe } = this.#assignment;
    const subject: ProbeSubject = {
      kind: this.kind,
      ...{ pod, container, probe, containerId: id },
      podIp: this.#podIp(),
    };
    const startedMs = clock.monotonic();
    const success = await attempt(subject, this.#limit);
    signal.throwIfAborted();
    metrics?.probed(this.#series(), success, (clock.monotonic() - startedMs) / 1000);
    if (success !== undefined) this.#conclude(id, success);
    return true;
  }

  #look(): Decision {
    const { clock, results, statusOf } = this.#deps;
    const { pod } = this.#assignment;
    const decision = decide(
      {
        kind: this.kind,
        ...this.#assignment,
        status: statusOf(pod.metadata.uid),
        monotonicMs: clock.monotonic(),
        wallMs: clock.wall(),
      },
      this.#memory,
    );
    this.#memory = decision.memory;
    for (const { id, result } of decision.writes) results.set(this.kind, id, result);
    return decision;
  }

  #conclude(id: string, success: boolean): void {
    const { memory, store } = conclude(this.kind, this.#assignment.probe, this.#memory, success);
    this.#memory = memory;
    if (!store || !this.#deps.results.set(this.kind, id, success)) return;
    if (this.kind !== 'liveness' || !success) this.#deps.onResult(this, success);
  }

  #podIp(): string | undefined {
    const { pod } = this.#assignment;
    const known = this.#deps.statusOf(pod.metadata.uid)?.podIP;
    return pod.spec.hostNetwork === true ? (this.#deps.nodeIp ?? known) : known;
  }

  #periodMs(): number {
    return Math.max(1, this.#assignment.probe.periodSeconds) * 1000;
  }

  #series(): ProbeSeries {
    const { name, namespace, uid } = this.pod.metadata;
    return { kind: this.kind, container: this.name, pod: name, namespace, podUid: uid };
  }
}
