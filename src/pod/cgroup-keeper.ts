/**
 * Owns: keeping the cgroups above the pods right over time (spec/cri-mapping.md §6): they exist before
 * the first pod, and the weight of the burstable class follows its pods, every minute.
 * Invariant: a limit that the kernel refuses is an event and is tried again; pods run all the same.
 */
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { EventReason } from '../api/reasons.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';

export interface CgroupKeeperDeps {
  readonly cgroups: {
    ensureRoot(signal: AbortSignal): Promise<void>;
    refreshQos(pods: readonly Pod[], signal: AbortSignal): Promise<void>;
  };
  /** Pods that have not ended. */
  readonly activePods: () => readonly Pod[];
  readonly nodeName: string;
  readonly events: EventRecorder;
  readonly clock: Clock;
}

const PERIOD_MS = 60_000;

export class CgroupKeeper {
  readonly #deps: CgroupKeeperDeps;

  constructor(deps: CgroupKeeperDeps) {
    this.#deps = deps;
  }

  /** Makes what is missing; before the first pod. */
  async prepare(signal: AbortSignal): Promise<void> {
    await this.#told(signal, () => this.#deps.cgroups.ensureRoot(signal));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { cgroups, activePods, clock } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(PERIOD_MS, signal);
      await this.#told(signal, async () => {
        await cgroups.ensureRoot(signal);
        await cgroups.refreshQos(activePods(), signal);
      });
    }
  }

  async #told(signal: AbortSignal, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      signal.throwIfAborted();
      const { events, nodeName } = this.#deps;
      const text = `Failed to update Node Allocatable Limits: ${messageOf(error)}`;
      const reason = EventReason.FailedNodeAllocatableEnforcement;
      events.event(nodeTarget(nodeName), 'Warning', reason, text);
    }
  }
}
