/**
 * Owns: one pass over one pod: status, plan, preparation, execution (spec/pod-lifecycle.md §3).
 * Invariant: level-driven: a pass re-reads everything, may be cut off anywhere and repeated at will.
 * Leaves to others: when a pass runs and which state the pod is in (worker.ts), the decisions
 * (runtime/plan.ts, status/generate.ts).
 */
import type { ConfigObjects } from '../api/config-object.ts';
import type { EventRecorder } from '../api/event.ts';
import { podTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { allContainers } from '../api/pod.ts';
import { EventReason, WaitingReason } from '../api/reasons.ts';
import type { RuntimeService } from '../cri/model.ts';
import { configReferences, missingObjects } from '../manifest/config-references.ts';
import type { CrashBackoff } from '../runtime/crash-backoff.ts';
import type { ExecuteOutcome, PodExecutor } from '../runtime/execute.ts';
import type { RuntimePodStatus } from '../runtime/model.ts';
import type { MountedVolume } from '../runtime/mounts.ts';
import { objectHashes } from '../runtime/object-hash.ts';
import { computePodActions } from '../runtime/plan.ts';
import type { PlanInput } from '../runtime/plan-input.ts';
import type { PodFiles } from '../runtime/pod-files.ts';
import { redactedStatus } from '../runtime/redact.ts';
import type { StartFailure } from '../runtime/start.ts';
import type { Step } from '../runtime/step.ts';
import { DEADLINE_REASON, generatePodStatus, isTerminalPhase } from '../status/generate.ts';
import type { TerminationMessages } from '../status/termination-message.ts';
import type { HashKey } from '../store/hash-key.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Limiter, Slot } from '../util/limiter.ts';
import type { EndVerdict } from './eviction.ts';
import type { Cgroups, Probes, RuntimeView, Statuses, Volumes } from './ports.ts';

export interface SyncDeps {
  readonly runtimeView: RuntimeView;
  readonly runtime: Pick<RuntimeService, 'status'>;
  readonly statuses: Statuses;
  readonly messages: TerminationMessages;
  readonly executor: PodExecutor;
  readonly backoff: CrashBackoff;
  readonly volumes: Volumes;
  readonly cgroups: Cgroups;
  readonly files: PodFiles;
  readonly probes: Probes;
  readonly events: EventRecorder;
  readonly objects: ConfigObjects;
  readonly hashKey: HashKey;
  readonly clock: Clock;
  /** Bounds how many pods put load on the runtime at once. */
  readonly starts: Limiter;
  readonly nodeIps: readonly string[];
  readonly runtimeName: string;
  /** Dead instances of a container that stay beside a newer one. */
  readonly deadToKeep: number;
}

/** What a worker remembers of its pod between two passes. */
export interface PodMemory {
  /** By container name: why its last start failed. */
  reasons: Map<string, StartFailure>;
  /** End of the last pass that changed something in the runtime, monotonic. */
  actedAtMs: number;
  /** When the pod was first worked on, monotonic; what `activeDeadlineSeconds` counts from. */
  activeSinceMs: number;
  lastTriedAttempt: number | undefined;
  /** Why it ends, where that is not for its containers to say. */
  verdict: EndVerdict | undefined;
}

export type SyncResult =
  /** Nothing more to do until something changes, or after `retryMs`. */
  | { readonly kind: 'settled'; readonly retryMs: number | undefined }
  /** Something failed; the usual retry. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly networkNotReady: boolean }
  /** The pod has ended by itself. */
  | { readonly kind: 'terminal' };

const AFTER_CREATE: ReadonlySet<string> = new Set([
  WaitingReason.CreateContainerError,
  WaitingReason.RunContainerError,
  WaitingReason.PostStartHookError,
]);

/** The runtime's network is not there yet: common after boot, so retried sooner than other failures. */
class NetworkNotReady extends Error {}

export class PodSync {
  readonly #deps: SyncDeps;

  constructor(deps: SyncDeps) {
    this.#deps = deps;
  }

  async sync(pod: Pod, memory: PodMemory, rank: number, signal: AbortSignal): Promise<SyncResult> {
    const { runtimeView, events } = this.#deps;
    const { uid } = pod.metadata;
    let runtime: RuntimePodStatus;
    try {
      runtime = await runtimeView.getNewerThan(uid, memory.actedAtMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      const text = `error determining status: ${messageOf(error)}`;
      events.event(podTarget(pod), 'Warning', EventReason.FailedSync, text);
      return { kind: 'failed', error, networkNotReady: false };
    }
    const status = await this.refresh(pod, memory, runtime, false);
    if (isTerminalPhase(status.phase)) return { kind: 'terminal' };
    // Before the plan: the probes of a container that an earlier agent left know at once that it has started.
    this.#deps.probes.ensure(pod);
    const { lastTriedAttempt } = memory;
    const hashes = objectHashes(pod, this.#deps.objects, this.#deps.hashKey);
    const { probes } = this.#deps;
    const { deadToKeep } = this.#deps;
    const input = {
      pod,
      status: runtime,
      probes,
      objectHashes: hashes,
      lastTriedAttempt,
      deadToKeep,
    };
    const steps = computePodActions(input);
    if (steps.length > 0) return this.#act(memory, input, steps, rank, signal);
    await this.#refreshVolumes(pod, signal);
    return { kind: 'settled', retryMs: this.#deadlineIn(pod, memory) };
  }

  /** Computes and keeps the status from what is known of the runtime. */
  async refresh(
    pod: Pod,
    memory: Pick<PodMemory, 'reasons' | 'activeSinceMs' | 'verdict'>,
    runtime: RuntimePodStatus,
    terminal: boolean,
  ): Promise<ReturnType<typeof generatePodStatus>> {
    const { statuses, messages, probes, backoff, events, clock } = this.#deps;
    const { nodeIps, runtimeName, objects } = this.#deps;
    const { uid } = pod.metadata;
    const terminationMessage = await messages.load(runtime);
    const counts = allContainers(pod).flatMap((c) => {
      const count = backoff.storedCount(uid, c.name);
      return count === undefined ? [] : [[c.name, count] as const];
    });
    const previous = statuses.get(uid) ?? {};
    const generated = generatePodStatus({
      pod,
      runtime: redactedStatus(pod, runtime, objects),
      previous,
      reasons: memory.reasons,
      probes,
      restartCounts: new Map(counts),
      missingObjects: missingObjects(configReferences(pod), objects),
      nodeIps,
      nowMs: clock.wall(),
      activeMs: clock.monotonic() - memory.activeSinceMs,
      terminal,
      terminationMessage,
      runtimeName,
    });
    const status = { ...generated, ...memory.verdict };
    // Unlike the kubelet, which says it each time a status is computed: once.
    if (status.reason === DEADLINE_REASON && previous.reason !== DEADLINE_REASON) {
      const target = podTarget(pod);
      events.event(target, 'Normal', EventReason.DeadlineExceeded, status.message ?? '');
    }
    statuses.set(pod, status);
    probes.observe(uid, status);
    return status;
  }

  /** A volume that cannot follow its objects keeps what it has, and so does the pod. */
  async #refreshVolumes(pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.volumes.refresh(pod, signal);
    } catch (error) {
      signal.throwIfAborted();
      const target = podTarget(pod);
      this.#deps.events.event(target, 'Warning', EventReason.FailedMount, messageOf(error));
    }
  }

  async #act(
    memory: PodMemory,
    planned: PlanInput,
    steps: readonly Step[],
    rank: number,
    signal: AbortSignal,
  ): Promise<SyncResult> {
    const { pod, status, objectHashes: hashes } = planned;
    const turn = new StartTurn(this.#deps.starts, rank, signal);
    const slot = (): Promise<Slot> => turn.slot();
    try {
      // A new pod waits for its turn before anything is made for it; else all pods of a boot would
      // crowd in front of the first one.
      if (steps.some((s) => s.kind === 'createSandbox')) await slot();
      const volumes = await this.#prepare(pod, steps, signal);
      const input = { pod, status, steps, volumes, objectHashes: hashes, slot };
      const outcome = await this.#deps.executor.execute(input, signal);
      return await this.#conclude(pod, memory, status, steps, outcome, signal);
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'failed', error, networkNotReady: error instanceof NetworkNotReady };
    } finally {
      turn.end();
    }
  }

  async #conclude(
    pod: Pod,
    memory: PodMemory,
    runtime: RuntimePodStatus,
    steps: readonly Step[],
    outcome: ExecuteOutcome,
    signal: AbortSignal,
  ): Promise<SyncResult> {
    memory.lastTriedAttempt = outcome.triedAttempt ?? memory.lastTriedAttempt;
    if (touchedRuntime(steps, outcome)) {
      memory.actedAtMs = this.#deps.clock.monotonic();
      this.#deps.runtimeView.relistNow();
    }
    this.#remember(memory, outcome.failures, outcome.started);
    signal.throwIfAborted();
    if (outcome.failures.size > 0) {
      // What is known may be newer than what the plan was made from.
      const known = this.#deps.runtimeView.current(pod.metadata.uid) ?? runtime;
      await this.refresh(pod, memory, known, false);
    }
    if (outcome.error !== undefined) {
      return { kind: 'failed', error: outcome.error, networkNotReady: false };
    }
    // What was cleared away is started by the next pass, from what the runtime shows then.
    if (steps.some((s) => s.kind === 'resetContainer')) {
      memory.reasons.clear();
      return { kind: 'settled', retryMs: 0 };
    }
    return this.#resultOf(pod, memory, outcome.failures);
  }

  #remember(
    memory: PodMemory,
    failures: ReadonlyMap<string, StartFailure>,
    started: readonly string[],
  ): void {
    for (const name of started) memory.reasons.delete(name);
    for (const [name, failure] of failures) memory.reasons.set(name, failure);
  }

  /** Failures that say when to come back decide; others get the usual retry. */
  #resultOf(pod: Pod, memory: PodMemory, failures: ReadonlyMap<string, StartFailure>): SyncResult {
    const waits: number[] = [];
    for (const failure of failures.values()) {
      if (failure.retryAfterMs === undefined) {
        return { kind: 'failed', error: failure.message, networkNotReady: false };
      }
      waits.push(failure.retryAfterMs);
    }
    const deadline = this.#deadlineIn(pod, memory);
    const all = deadline === undefined ? waits : [...waits, deadline];
    return { kind: 'settled', retryMs: all.length > 0 ? Math.min(...all) : undefined };
  }

  /** Milliseconds until `activeDeadlineSeconds` is over. */
  #deadlineIn(pod: Pod, memory: PodMemory): number | undefined {
    const seconds = pod.spec.activeDeadlineSeconds;
    if (seconds === undefined) return undefined;
    const age = this.#deps.clock.monotonic() - memory.activeSinceMs;
    return Math.max(0, seconds * 1000 - age) + 1;
  }

  /** Everything that must be there before a sandbox or a container starts. */
  async #prepare(
    pod: Pod,
    steps: readonly Step[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, MountedVolume>> {
    if (!steps.some((s) => s.kind === 'createSandbox' || s.kind === 'startContainer')) {
      return new Map();
    }
    const { cgroups, files, volumes, events } = this.#deps;
    const attempt = async <T>(
      reason: EventReason,
      prefix: string,
      action: Promise<T>,
    ): Promise<T> => {
      try {
        return await action;
      } catch (error) {
        if (!signal.aborted) {
          events.event(podTarget(pod), 'Warning', reason, `${prefix}: ${messageOf(error)}`);
        }
        throw error;
      }
    };
    if (!pod.spec.hostNetwork && steps.some((s) => s.kind === 'createSandbox')) {
      await attempt(
        EventReason.NetworkNotReady,
        'network is not ready',
        this.#networkReady(signal),
      );
    }
    // The directory first: it is what tells the next agent of a pod whose cgroup was made.
    await attempt(
      EventReason.Failed,
      'error making pod data directories',
      files.ensurePodDirs(pod),
    );
    await attempt(
      EventReason.FailedCreatePodContainer,
      'unable to ensure pod container exists',
      cgroups.ensure(pod, signal),
    );
    return attempt(
      EventReason.FailedMount,
      'Unable to attach or mount volumes',
      volumes.setUp(pod, signal),
    );
  }

  async #networkReady(signal: AbortSignal): Promise<void> {
    const { conditions } = await this.#deps.runtime.status(signal);
    const network = conditions.find((c) => c.type === 'NetworkReady');
    if (network && !network.status) {
      throw new NetworkNotReady(
        `container runtime network not ready: NetworkReady=false reason:${network.reason} message:${network.message}`,
      );
    }
  }
}

/** The slot of one pass: taken at the first need, held to the end of the pass so that nobody overtakes half-way. */
class StartTurn {
  readonly #take: () => Promise<Slot>;
  #slot: Promise<Slot> | undefined;

  constructor(starts: Limiter, rank: number, signal: AbortSignal) {
    this.#take = () => starts.acquire(rank, signal);
  }

  slot(): Promise<Slot> {
    this.#slot ??= this.#take();
    return this.#slot;
  }

  end(): void {
    this.#slot?.then(
      (slot) => slot.release(),
      () => undefined,
    );
  }
}

/** Whether the runtime may look different now; a start that only waits for its back-off changes nothing. */
function touchedRuntime(steps: readonly Step[], outcome: ExecuteOutcome): boolean {
  if (steps.some((s) => s.kind !== 'startContainer') || outcome.started.length > 0) return true;
  return [...outcome.failures.values()].some((f) => AFTER_CREATE.has(f.reason));
}
