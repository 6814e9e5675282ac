/**
 * Owns: stopping the pods before the node stops (spec node-api.md §5): group after group by ascending priority,
 * each with its period; meanwhile nothing is admitted.
 * Unlike the kubelet: the two system classes count with their numbers; and the pods come back by themselves
 * when the node starts again, or when its shutdown was called off.
 * Leaves to others: how a shutdown is noticed (shutdown-watch.ts, the process's signals).
 */
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { podPriority } from '../api/priority.ts';
import { DisplacedReason, EventReason } from '../api/reasons.ts';
import type { ShutdownGracePeriod } from '../config/model.ts';
import type { Clock } from '../util/clock.ts';
import type { Eviction } from './eviction.ts';

export interface ShutdownGroup {
  /** Infinity: as long as its pods may take by their own manifests. */
  readonly periodMs: number;
  readonly pods: readonly Pod[];
}

export interface ShutdownDeps {
  /** Empty: two groups, the critical ones last, each pod with its own grace period. */
  readonly periods: readonly ShutdownGracePeriod[];
  readonly pods: {
    active(): readonly Pod[];
    evict(uid: string, eviction: Eviction): boolean;
    isEnding(uid: string): boolean;
    reconsider(): void;
  };
  readonly nodeName: string;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** Told when it begins and when the last pod has stopped; wall milliseconds. */
  readonly onTimes: (times: { startMs: number; endMs: number | undefined }) => void;
}

const OWN_GRACE: readonly ShutdownGracePeriod[] = [
  { priority: 0, periodMs: Infinity },
  { priority: 2_000_000_000, periodMs: Infinity },
];
const POLL_MS = 100;
/** Beyond the grace period: for the signal, the runtime and the volumes. */
const SLACK_MS = 10_000;
const MESSAGE = 'Pod was terminated in response to imminent node shutdown.';

/** In the order in which they stop; each pod in that of the largest priority not above its own. */
export function shutdownGroups(
  pods: readonly Pod[],
  periods: readonly ShutdownGracePeriod[],
): ShutdownGroup[] {
  const sorted = [...periods].sort((a, b) => a.priority - b.priority);
  const groups = sorted.map(({ periodMs }) => ({ periodMs, pods: [] as Pod[] }));
  for (const pod of pods) {
    const own = podPriority(pod);
    const at = sorted.findLastIndex(({ priority }) => priority <= own);
    groups[Math.max(at, 0)]?.pods.push(pod);
  }
  return groups;
}

export class Shutdown {
  readonly #deps: ShutdownDeps;
  #underWay = false;

  constructor(deps: ShutdownDeps) {
    this.#deps = deps;
  }

  get isUnderWay(): boolean {
    return this.#underWay;
  }

  /** Resolves when all pods have stopped, or had their time to; a second call finds nothing to stop. */
  async begin(signal: AbortSignal): Promise<void> {
    const { periods, pods, clock, onTimes } = this.#deps;
    this.#underWay = true;
    this.#say('Shutdown manager detected shutdown event');
    const startMs = clock.wall();
    onTimes({ startMs, endMs: undefined });
    const groups = shutdownGroups(pods.active(), periods.length > 0 ? periods : OWN_GRACE);
    for (const group of groups) {
      if (!this.#underWay) return;
      await this.#stop(group, signal);
    }
    onTimes({ startMs, endMs: clock.wall() });
  }

  /** The node goes on. */
  cancel(): void {
    if (!this.#underWay) return;
    this.#underWay = false;
    this.#say('Shutdown manager detected shutdown cancellation');
    this.#deps.pods.reconsider();
  }

  async #stop({ pods: members, periodMs }: ShutdownGroup, signal: AbortSignal): Promise<void> {
    const { pods, clock } = this.#deps;
    const graces = members.map((pod) => {
      const own = pod.spec.terminationGracePeriodSeconds;
      const graceSeconds = Math.min(Math.floor(periodMs / 1000), own);
      pods.evict(pod.metadata.uid, {
        reason: DisplacedReason.Terminated,
        message: MESSAGE,
        graceSeconds,
        disruption: true,
      });
      return graceSeconds;
    });
    const longest = Math.max(0, ...graces) * 1000 + SLACK_MS;
    const end = clock.monotonic() + Math.min(periodMs, longest);
    const ending = (): boolean => members.some(({ metadata }) => pods.isEnding(metadata.uid));
    while (ending() && this.#underWay && clock.monotonic() < end)
      await clock.sleep(POLL_MS, signal);
  }

  #say(text: string): void {
    const { events, nodeName } = this.#deps;
    events.event(nodeTarget(nodeName), 'Normal', EventReason.Shutdown, text);
  }
}
