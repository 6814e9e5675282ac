/**
 * Owns: keeping the cgroups beside and above the pods right over time (spec/cri-mapping.md §6): they exist
 * before the first pod, the weight of the burstable class follows its pods, what is reserved for others is
 * enforced; each minute, and the weights whenever a pod comes or goes.
 * Invariant: a limit that the kernel refuses is an event and is tried again; pods run all the same.
 * Unlike the kubelet: which does not start when a reservation cannot be enforced.
 */
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { EventReason } from '../api/reasons.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Cgroups } from './ports.ts';
import type { Reservation } from './reserved-cgroups.ts';

export interface CgroupKeeperDeps {
  readonly cgroups: Cgroups & {
    ensureRoot(signal: AbortSignal): Promise<void>;
    refreshQos(
      pods: readonly Pod[],
      signal: AbortSignal,
      options?: { onlyChanged?: boolean },
    ): Promise<void>;
  };
  readonly reserved: { enforce(reservation: Reservation): Promise<void> };
  readonly reservations: readonly Reservation[];
  /** Whether all pods together are limited. */
  readonly enforcePods: boolean;
  /** Pods that have not ended. */
  readonly activePods: () => readonly Pod[];
  readonly nodeName: string;
  readonly events: EventRecorder;
  readonly clock: Clock;
}

const PERIOD_MS = 60_000;

export class CgroupKeeper implements Cgroups {
  readonly #deps: CgroupKeeperDeps;
  /** What was said to be enforced. */
  readonly #said = new Set<string>();

  constructor(deps: CgroupKeeperDeps) {
    this.#deps = deps;
  }

  /** Makes what is missing; before the first pod. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { cgroups, reservations, enforcePods } = this.#deps;
    await this.#told(signal, 'Failed to update Node Allocatable Limits', async () => {
      await cgroups.ensureRoot(signal);
      if (enforcePods) this.#say('Updated Node Allocatable limit across pods');
    });
    for (const reservation of reservations) await this.#enforce(reservation, signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.clock.sleep(PERIOD_MS, signal);
      await this.prepare(signal);
      await this.#weigh(signal);
    }
  }

  /** Makes the pod's cgroup. */
  async ensure(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.#weigh(signal, { onlyChanged: true });
    await this.#deps.cgroups.ensure(pod, signal);
  }

  async destroy(uid: string, signal: AbortSignal): Promise<void> {
    await this.#deps.cgroups.destroy(uid, signal);
    await this.#weigh(signal, { onlyChanged: true });
  }

  async #weigh(signal: AbortSignal, options: { onlyChanged?: boolean } = {}): Promise<void> {
    const { cgroups, activePods } = this.#deps;
    await this.#told(signal, 'Failed to update the cgroups of QoS classes', () =>
      cgroups.refreshQos(activePods(), signal, options),
    );
  }

  async #enforce(reservation: Reservation, signal: AbortSignal): Promise<void> {
    const { owner, cgroup } = reservation;
    const whose = owner === 'kube' ? 'Kube' : 'System';
    const failure = `Failed to enforce ${whose} Reserved Cgroup Limits on "${cgroup}"`;
    await this.#told(signal, failure, async () => {
      await this.#deps.reserved.enforce(reservation);
      this.#say(`Updated limits on ${owner} reserved cgroup ${cgroup}`);
    });
  }

  #say(text: string): void {
    const { events, nodeName } = this.#deps;
    if (this.#said.has(text)) return;
    this.#said.add(text);
    events.event(nodeTarget(nodeName), 'Normal', EventReason.NodeAllocatableEnforced, text);
  }

  async #told(signal: AbortSignal, what: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      signal.throwIfAborted();
      const { events, nodeName } = this.#deps;
      const reason = EventReason.FailedNodeAllocatableEnforcement;
      events.event(nodeTarget(nodeName), 'Warning', reason, `${what}: ${messageOf(error)}`);
    }
  }
}
