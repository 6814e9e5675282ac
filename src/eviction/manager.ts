/**
 * Owns: the loop that keeps the node alive (spec eviction.md §3): look, reclaim what nobody needs, evict
 * at most one pod, wait until it is gone, look again; and let evicted pods come back afterwards.
 * Invariants: one cycle at a time; a critical pod is never evicted; a cycle that fails is logged and
 * repeated, it ends nothing.
 * Unlike the kubelet: which looks every 10 s, memory that becomes short is noticed within a second.
 * Leaves to others: what a look means (cycle.ts), whom to choose (usage.ts, wasm), ending the pod (src/pod).
 */
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget, podTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { isCriticalPod } from '../api/priority.ts';
import { EvictionReason } from '../api/reasons.ts';
import type { Eviction } from '../pod/eviction.ts';
import type { NodeStats, PodStats, StatsReader } from '../stats/model.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Core } from '../wasm/core.ts';
import { rankRows } from '../wasm/rank.ts';
import type { NodePressure } from './conditions.ts';
import type { CycleState } from './cycle.ts';
import { evaluate, isNewMemoryPressure, NO_CYCLE_YET } from './cycle.ts';
import { hasStorageLimits, limitHit } from './local-storage.ts';
import type { MemoryUse } from './memory-watch.ts';
import { grownSince, memorySlack } from './memory-watch.ts';
import { evictionMessage, reclaimMessage } from './message.ts';
import type { EvictionMetrics } from './metric.ts';
import type { Reclaimer } from './reclaim.ts';
import { reclaimsFor } from './reclaim.ts';
import type { Returns } from './returns.ts';
import type { DiskLayout, Observations } from './signal.ts';
import { diskLayoutOf, observationsOf, SIGNALS } from './signal.ts';
import type { Threshold } from './threshold.ts';
import { isHard, metThresholds, withContainerFs } from './threshold.ts';
import { rankingFor } from './usage.ts';

/** The pods, as far as eviction has to do with them. */
export interface EvictablePods {
  /** That are to run: neither ended nor ending. */
  active(): readonly Pod[];
  /** False when the pod is not active any more. */
  evict(uid: string, eviction: Eviction): boolean;
  isEnding(uid: string): boolean;
  /** That were evicted and wait to come back. */
  evicted(): readonly Pod[];
  /** Ask again who may start. */
  reconsider(): void;
}

export interface EvictionDeps {
  readonly thresholds: readonly Threshold[];
  readonly transitionMs: number;
  readonly maxPodGraceSeconds: number;
  /** `localStorageCapacityIsolation`. */
  readonly localStorage: boolean;
  readonly staticPodEviction: boolean;
  readonly stats: Pick<StatsReader, 'node' | 'pods'>;
  readonly memoryUse: MemoryUse;
  readonly pods: EvictablePods;
  readonly pressure: NodePressure;
  readonly returns: Returns;
  readonly reclaimer: Reclaimer | undefined;
  /** Made when pods are ranked for the first time. */
  readonly core: () => Core;
  readonly nodeName: string;
  readonly events: EventRecorder;
  readonly metrics: EvictionMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 10_000;
const MEMORY_PERIOD_MS = 1_000;
const GONE_POLL_MS = 1_000;
const GONE_PATIENCE_MS = 30_000;
const LEAST_GRACE_S = 1;

export class EvictionManager {
  readonly #deps: EvictionDeps;
  #state: CycleState = NO_CYCLE_YET;
  #observations: Observations = new Map();
  #layout: DiskLayout | undefined;
  #thresholds: readonly Threshold[];
  #core: Core | undefined;
  #said = '';

  constructor(deps: EvictionDeps) {
    this.#deps = deps;
    this.#thresholds = deps.thresholds;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const evicted = await this.#guarded(() => this.cycle(signal), signal);
      if (!evicted) await this.#rest(signal);
    }
  }

  /** One look at the node; true when a pod was evicted, and is gone or had its time to go. */
  async cycle(signal: AbortSignal): Promise<boolean> {
    const { stats, clock, transitionMs, pressure, pods, returns } = this.#deps;
    const node = await stats.node(signal);
    const layout = this.#adapt(node);
    const observations = observationsOf(node);
    this.#observations = observations;
    const { state, conditions, due } = evaluate({
      thresholds: this.#thresholds,
      observations,
      state: this.#state,
      nowMs: clock.monotonic(),
      transitionMs,
    });
    this.#state = state;
    if (conditions.length > 0) returns.retract();
    if (pressure.set(conditions)) pods.reconsider();
    if (await this.#enforceLimits(layout, signal)) return true;
    const [first] = due;
    if (!first) {
      if (conditions.length === 0) this.#letReturn();
      return false;
    }
    return this.#relieve(first, due, observations, layout, signal);
  }

  /** File systems are told apart when the runtime has said where its images are. */
  #adapt(node: NodeStats): DiskLayout {
    const layout = diskLayoutOf(node);
    if (layout !== this.#layout) this.#thresholds = withContainerFs(this.#deps.thresholds, layout);
    this.#layout = layout;
    return layout;
  }

  async #relieve(
    first: Threshold,
    due: readonly Threshold[],
    observations: Observations,
    layout: DiskLayout,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { nodeName, events, metrics, clock } = this.#deps;
    const { resource } = SIGNALS[first.signal];
    const target = nodeTarget(nodeName);
    events.event(target, 'Warning', EvictionReason.EvictionThresholdMet, reclaimMessage(resource));
    if (await this.#reclaim(first, layout, signal)) return false;
    for (const { signal: name } of due) {
      const seen = observations.get(name);
      if (!seen) continue;
      const ageMs = Math.max(0, clock.wall() - seen.timeMs);
      metrics.statsAge.observe(ageMs / 1000, { eviction_signal: name });
    }
    const candidates = this.#evictable();
    const disk = resource === 'ephemeral-storage' || resource === 'inodes';
    const podStats = await this.#statsOfPods(disk, signal);
    const { rows, order } = rankingFor(first.signal, layout, candidates, podStats);
    this.#core ??= this.#deps.core();
    for (const index of rankRows(this.#core, rows, order)) {
      const pod = candidates[index];
      if (!pod) continue;
      const message = evictionMessage(
        { resource, due, observations },
        pod,
        podStats.get(pod.metadata.uid),
      );
      const graceSeconds = this.#graceOf(first, pod);
      if (this.#evict(pod, { message, graceSeconds, disruption: true }, first.signal)) {
        await this.#untilGone([pod], signal);
        return true;
      }
    }
    this.#say(`no pod can be evicted to reclaim ${resource}`);
    return false;
  }

  /** True when nothing is short any more. */
  async #reclaim(first: Threshold, layout: DiskLayout, signal: AbortSignal): Promise<boolean> {
    const { reclaimer, logger, stats } = this.#deps;
    const steps = reclaimer ? reclaimsFor(first.signal, layout) : [];
    if (!reclaimer || steps.length === 0) return false;
    for (const step of steps) {
      try {
        await reclaimer[step](signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn('the node could not reclaim all that nobody needs', { step, err: error });
      }
    }
    const after = observationsOf(await stats.node(signal));
    return metThresholds(this.#thresholds, after, true).length === 0;
  }

  /** Evicts every pod that is above a limit of its own. */
  async #enforceLimits(layout: DiskLayout, signal: AbortSignal): Promise<boolean> {
    if (!this.#deps.localStorage) return false;
    const limited = this.#evictable().filter(hasStorageLimits);
    if (limited.length === 0) return false;
    const podStats = await this.#statsOfPods(true, signal);
    const evicted = limited.filter((pod) => {
      const stats = podStats.get(pod.metadata.uid);
      const hit = stats && limitHit(pod, stats, layout !== 'one');
      if (!hit) return false;
      const { message } = hit;
      const eviction = { message, graceSeconds: LEAST_GRACE_S, disruption: false };
      return this.#evict(pod, eviction, hit.signal);
    });
    await this.#untilGone(evicted, signal);
    return evicted.length > 0;
  }

  #evict(pod: Pod, eviction: Eviction, why: string): boolean {
    const { pods, events, metrics, returns, clock, logger } = this.#deps;
    const { uid, name, namespace } = pod.metadata;
    if (!pods.evict(uid, eviction)) return false;
    logger.info('pod evicted', { pod: name, namespace, uid, signal: why });
    events.event(podTarget(pod), 'Warning', EvictionReason.Evicted, eviction.message);
    metrics.evictions.inc({ eviction_signal: why });
    returns.evicted(uid, clock.monotonic());
    return true;
  }

  #evictable(): Pod[] {
    const { pods, staticPodEviction } = this.#deps;
    return pods.active().filter((pod) => !isCriticalPod(pod, staticPodEviction));
  }

  async #statsOfPods(disk: boolean, signal: AbortSignal): Promise<Map<string, PodStats>> {
    const all = await this.#deps.stats.pods(signal, { fresh: true, disk });
    return new Map(all.map((one) => [one.ref.uid, one]));
  }

  #graceOf(threshold: Threshold, pod: Pod): number {
    if (isHard(threshold)) return LEAST_GRACE_S;
    const { terminationGracePeriodSeconds: own } = pod.spec;
    return Math.max(LEAST_GRACE_S, Math.min(this.#deps.maxPodGraceSeconds, own));
  }

  async #untilGone(evicted: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { pods, clock, logger } = this.#deps;
    const end = clock.monotonic() + GONE_PATIENCE_MS;
    const ending = (): boolean => evicted.some(({ metadata }) => pods.isEnding(metadata.uid));
    while (ending()) {
      if (clock.monotonic() >= end) {
        logger.warn('an evicted pod takes its time to end');
        return;
      }
      await clock.sleep(GONE_POLL_MS, signal);
    }
  }

  #letReturn(): void {
    const { pods, returns, clock } = this.#deps;
    this.#said = '';
    const waiting = pods.evicted();
    const known = new Set([...waiting, ...pods.active()].map(({ metadata }) => metadata.uid));
    returns.retain((uid) => known.has(uid) || pods.isEnding(uid));
    if (waiting.length > 0 && returns.permitNext(waiting, clock.monotonic())) pods.reconsider();
  }

  /** Until the next cycle is due, or memory has become short. */
  async #rest(signal: AbortSignal): Promise<void> {
    const { clock, memoryUse } = this.#deps;
    const end = clock.monotonic() + PERIOD_MS;
    let slack = memorySlack(this.#thresholds, this.#observations, this.#state);
    for (let before = memoryUse(); clock.monotonic() < end;) {
      const left = end - clock.monotonic();
      await clock.sleep(slack === undefined ? left : Math.min(left, MEMORY_PERIOD_MS), signal);
      if (slack === undefined || grownSince(before, memoryUse()) < slack) continue;
      if (await this.#guarded(() => this.#isShort(signal), signal)) return;
      slack = memorySlack(this.#thresholds, this.#observations, this.#state);
      before = memoryUse();
    }
  }

  async #isShort(signal: AbortSignal): Promise<boolean> {
    this.#observations = observationsOf(await this.#deps.stats.node(signal));
    return isNewMemoryPressure(this.#thresholds, this.#observations, this.#state);
  }

  async #guarded(work: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      this.#say(`the node's pressure is not known: ${messageOf(error)}`);
      return false;
    }
  }

  /** Once, until something else is to be said. */
  #say(text: string): void {
    if (text !== this.#said) this.#deps.logger.warn(text);
    this.#said = text;
  }
}
