/**
 * Owns: the life of one pod uid: one serial loop through the states of worker-state.ts.
 * Invariants: passes of one pod never overlap; a poke is never lost; what a pass throws is retried with
 * a growing pause and stops no other pod.
 */
import { setMaxListeners } from 'node:events';
import type { KillOptions } from '../runtime/kill.ts';
import { isRunningPod } from '../runtime/model.ts';
import { isTerminalPhase } from '../status/generate.ts';
import { nextDelay } from '../util/backoff.ts';
import type { Clock, Random } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { Wakeup } from '../util/wakeup.ts';
import type { PodEnd } from './end.ts';
import type { Eviction } from './eviction.ts';
import { evictedStatus, isDisplaced, isEvicted, verdictOf } from './eviction.ts';
import { startRank } from './order.ts';
import type { DesiredPod, PodRef, RuntimeView, Statuses } from './ports.ts';
import { refOf } from './ports.ts';
import type { PodMemory, PodSync } from './sync.ts';
import { afterTerminated } from './worker-state.ts';
import type { EndCause, WorkerState } from './worker-state.ts';

export interface WorkerDeps {
  readonly sync: Pick<PodSync, 'sync' | 'refresh'>;
  readonly end: Pick<PodEnd, 'stop' | 'release' | 'clear' | 'purge'>;
  readonly runtimeView: RuntimeView;
  readonly statuses: Statuses;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly syncFrequencyMs: number;
  /** Called after every change of state. */
  readonly onState: (worker: PodWorker) => void;
}

const RETRY = { baseMs: 1_000, maxMs: 10_000 };
const NETWORK_RETRY_MS = 1_000;
const JITTER = 0.5;
/** Whatever its manifest says, a pod that is removed has a second for its hooks. */
const REMOVAL: KillOptions = { leastGraceSeconds: 1 };

export class PodWorker {
  readonly ref: PodRef;
  readonly #deps: WorkerDeps;
  readonly #wakeup = new Wakeup();
  readonly #memory: PodMemory;
  #desired: DesiredPod | undefined;
  #state: WorkerState;
  #pass: AbortController | undefined;
  #retryMs: number | undefined;
  #removedAtMs: number | undefined;
  #evictedAtMs: number | undefined;
  #anew = false;

  private constructor(
    deps: WorkerDeps,
    ref: PodRef,
    desired: DesiredPod | undefined,
    state: WorkerState,
  ) {
    this.#deps = deps;
    this.ref = ref;
    this.#desired = desired;
    this.#state = state;
    this.#memory = {
      reasons: new Map(),
      actedAtMs: 0,
      activeSinceMs: deps.clock.monotonic() - activeBefore(deps, ref.uid),
      lastTriedAttempt: undefined,
      verdict: verdictOf(deps.statuses.restore(ref.uid)),
    };
  }

  /** For a pod of the manifest directory; it starts when `release()` lets it. */
  static forPod(deps: WorkerDeps, desired: DesiredPod): PodWorker {
    return new PodWorker(deps, refOf(desired.pod), desired, { kind: 'waiting' });
  }

  /** For what an earlier agent left behind and no manifest asks for. */
  static forOrphan(deps: WorkerDeps, ref: PodRef): PodWorker {
    return new PodWorker(deps, ref, undefined, {
      kind: 'terminating',
      cause: 'orphaned',
      options: REMOVAL,
    });
  }

  get state(): WorkerState {
    return this.#state;
  }

  get desired(): DesiredPod | undefined {
    return this.#desired;
  }

  /** Wall time at which the manifest went, in milliseconds; what is shown as `deletionTimestamp`. */
  get removedAtMs(): number | undefined {
    return this.#removedAtMs;
  }

  /** Monotonic time at which the node took its place away. */
  get evictedAtMs(): number | undefined {
    return this.#evictedAtMs;
  }

  /** The newest manifest wins; the pass that runs now is not disturbed. */
  update(desired: DesiredPod): void {
    this.#desired = desired;
    this.poke();
  }

  /** Whether it is `release()` and `reject()` that decide about it. */
  get isIdle(): boolean {
    return this.#state.kind === 'waiting' || this.#state.kind === 'rejected';
  }

  /** Lets a waiting pod start; `anew`: an agent that was cut off has left something of its last life. */
  release({ anew = false } = {}): void {
    if (!this.isIdle) return;
    this.#anew = anew;
    // Waiting is no activity.
    this.#memory.activeSinceMs =
      this.#deps.clock.monotonic() - activeBefore(this.#deps, this.ref.uid);
    this.#memory.verdict = verdictOf(this.#deps.statuses.get(this.ref.uid));
    this.#become({ kind: 'syncing' });
  }

  /** The node does not take it for now. */
  reject(): void {
    if (this.#state.kind === 'waiting') this.#become({ kind: 'rejected' });
  }

  /** Ends a pod that is to run; false when it is not, or is ending already. */
  evict(eviction: Eviction): boolean {
    const pod = this.#desired?.pod;
    const before = this.#deps.statuses.get(this.ref.uid);
    if (!pod || this.#state.kind !== 'syncing' || isTerminalPhase(before?.phase)) return false;
    const { statuses, clock } = this.#deps;
    const { uid } = this.ref;
    // At once: an agent that ends now must find out why the pod was ending.
    statuses.set(pod, evictedStatus(pod, before ?? {}, eviction, clock.wall()));
    this.#memory.verdict = verdictOf(statuses.get(uid));
    this.#evictedAtMs = clock.monotonic();
    const { graceSeconds } = eviction;
    const options = graceSeconds === undefined ? {} : { graceSeconds };
    this.#become({ kind: 'terminating', cause: 'evicted', options });
    this.#pass?.abort(new Error('the pod loses its place'));
    return true;
  }

  /** Something may have changed: look again; while a pass is busy, at least the status is brought up to date. */
  poke(): void {
    this.#wakeup.poke();
    const { kind } = this.#state;
    if (this.#pass && (kind === 'syncing' || kind === 'terminating')) void this.#refreshStatus();
  }

  /** The manifest is gone. */
  remove(): void {
    this.#removedAtMs ??= this.#deps.clock.wall();
    switch (this.#state.kind) {
      case 'waiting':
      case 'rejected':
      case 'syncing':
        this.#become({ kind: 'terminating', cause: 'removed', options: REMOVAL });
        break;
      case 'terminating':
      case 'terminated':
        if (this.#state.cause === 'completed' || this.#state.cause === 'evicted')
          this.#become({ ...this.#state, cause: 'removed' });
        return;
      case 'completed':
        this.#become({ kind: 'purging' });
        break;
      case 'purging':
      case 'gone':
        return;
    }
    this.#pass?.abort(new Error('the manifest is gone'));
  }

  /** Runs until the pod is gone or `signal` aborts; the pod itself outlives an abort. */
  async run(signal: AbortSignal): Promise<void> {
    while (this.#state.kind !== 'gone') {
      const waitMs = await this.#once(signal);
      await this.#wakeup.wait(this.#deps.clock, waitMs, signal);
    }
  }

  /** One pass; resolves to how long to wait for the next one. */
  async #once(signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const pass = new AbortController();
    setMaxListeners(0, pass.signal); // one for each call under way; a pod may have many containers
    const stop = (): void => pass.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    this.#pass = pass;
    try {
      return await this.#dispatch(pass.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (pass.signal.aborted) return 0; // the state changed under the pass
      return this.#retry(error);
    } finally {
      signal.removeEventListener('abort', stop);
      this.#pass = undefined;
    }
  }

  async #dispatch(signal: AbortSignal): Promise<number> {
    const state = this.#state;
    switch (state.kind) {
      case 'waiting':
      case 'completed':
      case 'gone':
        return Infinity;
      case 'rejected':
        this.#deps.onState(this); // what it lacks may have come without an event
        return this.#jittered(this.#deps.syncFrequencyMs);
      case 'syncing':
        return this.#sync(signal);
      case 'terminating':
        return this.#terminate(state, signal);
      case 'terminated':
        await this.#deps.end.release(this.ref, signal);
        if (state.cause === 'evicted') await this.#clear(signal);
        this.#leave('terminated', afterTerminated);
        return 0;
      case 'purging':
        await this.#deps.end.purge(this.ref, this.#memory.actedAtMs, signal);
        this.#become({ kind: 'gone' });
        return 0;
    }
  }

  async #sync(signal: AbortSignal): Promise<number> {
    const desired = this.#desired;
    if (!desired) return Infinity;
    if (this.#anew) {
      await this.#clear(signal);
      this.#anew = false;
    }
    if (await this.#endedBefore(signal)) {
      this.#leave('syncing', () => ({ kind: 'terminated', cause: this.#ownCause() }));
      return 0;
    }
    const rank = startRank(desired.pod, desired.order);
    const result = await this.#deps.sync.sync(desired.pod, this.#memory, rank, signal);
    switch (result.kind) {
      case 'terminal':
        this.#leave('syncing', () => ({
          kind: 'terminating',
          cause: this.#ownCause(),
          options: {},
        }));
        return 0;
      case 'failed':
        if (result.networkNotReady) return this.#jittered(NETWORK_RETRY_MS);
        this.#note(result.error);
        return this.#nextRetry();
      case 'settled': {
        this.#retryMs = undefined;
        const regular = this.#jittered(this.#deps.syncFrequencyMs);
        return Math.min(regular, result.retryMs ?? Infinity);
      }
    }
  }

  /** It ended in an earlier life of the agent, and nothing of it runs: it is not started again. */
  async #endedBefore(signal: AbortSignal): Promise<boolean> {
    const { statuses, runtimeView } = this.#deps;
    if (!isTerminalPhase(statuses.restore(this.ref.uid)?.phase)) return false;
    const known = await runtimeView.getNewerThan(this.ref.uid, this.#memory.actedAtMs, signal);
    return !isRunningPod(known);
  }

  /** Until the runtime is known to have nothing of the pod: its next worker starts from there. */
  async #clear(signal: AbortSignal): Promise<void> {
    const { end, runtimeView, clock, statuses } = this.#deps;
    // A pod that is to blame for a full disk leaves nothing there.
    const keepLogs = !isEvicted(statuses.get(this.ref.uid));
    await end.clear(this.ref, this.#memory.actedAtMs, signal, { keepLogs });
    await runtimeView.getNewerThan(this.ref.uid, clock.monotonic(), signal);
  }

  /** Why it ends when nobody has said so in this life of the agent. */
  #ownCause(): EndCause {
    return isDisplaced(this.#deps.statuses.get(this.ref.uid)) ? 'evicted' : 'completed';
  }

  async #terminate(
    state: Extract<WorkerState, { kind: 'terminating' }>,
    signal: AbortSignal,
  ): Promise<number> {
    const { end, sync } = this.#deps;
    const newerThanMs = this.#memory.actedAtMs;
    const after = await end.stop(
      this.ref,
      this.#desired?.pod,
      { ...state.options, newerThanMs },
      signal,
    );
    if (this.#desired) await sync.refresh(this.#desired.pod, this.#memory, after, true);
    this.#leave('terminating', (now) => ({
      kind: 'terminated',
      cause: now.kind === 'terminating' ? now.cause : state.cause,
    }));
    return 0;
  }

  async #refreshStatus(): Promise<void> {
    const pod = this.#desired?.pod;
    const runtime = this.#deps.runtimeView.current(this.ref.uid);
    if (!pod || !runtime) return;
    // In the middle of a start: the container counts from when it runs, which the next event tells.
    if (runtime.containers.some((c) => c.state === 'created')) return;
    await this.#deps.sync.refresh(pod, this.#memory, runtime, false).catch((error: unknown) => {
      this.#note(error);
    });
  }

  /** Leaves `from`, unless somebody changed the state meanwhile. */
  #leave(from: WorkerState['kind'], next: (now: WorkerState) => WorkerState): void {
    if (this.#state.kind === from) this.#become(next(this.#state));
  }

  #become(state: WorkerState): void {
    this.#state = state;
    this.#retryMs = undefined;
    this.#wakeup.poke();
    this.#deps.onState(this);
  }

  #retry(error: unknown): number {
    this.#note(error);
    return this.#nextRetry();
  }

  #nextRetry(): number {
    this.#retryMs = nextDelay(RETRY, this.#retryMs);
    return this.#jittered(this.#retryMs);
  }

  #note(error: unknown): void {
    const { logger } = this.#deps;
    logger.debug('a pass over the pod failed', {
      pod: `${this.ref.name}_${this.ref.namespace}`,
      state: this.#state.kind,
      err: error instanceof Error ? error : messageOf(error),
    });
  }

  #jittered(ms: number): number {
    return ms * (1 + this.#deps.random() * JITTER);
  }
}

/** How long the pod was active before this agent started; only there the wall clock counts. */
function activeBefore(deps: WorkerDeps, uid: string): number {
  const startedMs = Date.parse(deps.statuses.restore(uid)?.startTime ?? '');
  return Number.isNaN(startedMs) ? 0 : Math.max(0, deps.clock.wall() - startedMs);
}
