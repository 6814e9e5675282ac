/**
 * Owns: the pressure conditions that the node reports, and the word about each change of them.
 */
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget } from '../api/event.ts';
import type { NodeCondition } from '../api/node.ts';
import { NodeReason } from '../api/reasons.ts';
import type { Gauge } from '../metrics/registry.ts';
import { apiTime } from '../status/time.ts';
import type { PressureCondition } from './signal.ts';
import { CONDITIONS } from './signal.ts';

export interface PressureDeps {
  readonly nodeName: string;
  readonly events: EventRecorder;
  /** 1 for each condition that is reported. */
  readonly gauge: Pick<Gauge, 'set'>;
  /** Wall milliseconds. */
  readonly wall: () => number;
}

const REASONS: Record<PressureCondition, readonly [begin: string, end: string]> = {
  MemoryPressure: [NodeReason.HasInsufficientMemory, NodeReason.HasSufficientMemory],
  DiskPressure: [NodeReason.HasDiskPressure, NodeReason.HasNoDiskPressure],
  PIDPressure: [NodeReason.HasInsufficientPID, NodeReason.HasSufficientPID],
};

const WORDS: Record<PressureCondition, readonly [under: string, not: string]> = {
  MemoryPressure: [
    'kubelet has insufficient memory available',
    'kubelet has sufficient memory available',
  ],
  DiskPressure: ['kubelet has disk pressure', 'kubelet has no disk pressure'],
  PIDPressure: ['kubelet has insufficient PID available', 'kubelet has sufficient PID available'],
};

/** Made before the parts that ask for it; none until the node was looked at. */
export class NodePressure {
  readonly #deps: PressureDeps;
  readonly #since: Map<PressureCondition, number>;
  #current: readonly PressureCondition[] = [];

  constructor(deps: PressureDeps) {
    this.#deps = deps;
    for (const condition of CONDITIONS) deps.gauge.set(0, { condition });
    this.#since = new Map(CONDITIONS.map((condition) => [condition, deps.wall()]));
  }

  current(): readonly PressureCondition[] {
    return this.#current;
  }

  /** As the node's status has them (spec node-api.md §3). */
  conditions(): NodeCondition[] {
    return CONDITIONS.map((type) => {
      const isUnder = this.#current.includes(type);
      const which = isUnder ? 0 : 1;
      return {
        type,
        status: isUnder ? 'True' : 'False',
        lastTransitionTime: apiTime(this.#since.get(type) ?? 0),
        reason: REASONS[type][which].replace(/^Node/, 'Kubelet'),
        message: WORDS[type][which],
      };
    });
  }

  /** Returns whether anything changed. */
  set(next: readonly PressureCondition[]): boolean {
    const changed = CONDITIONS.filter((one) => next.includes(one) !== this.#current.includes(one));
    this.#current = next;
    const { nodeName, events, gauge, wall } = this.#deps;
    for (const condition of changed) {
      this.#since.set(condition, wall());
      gauge.set(next.includes(condition) ? 1 : 0, { condition });
      const reason = REASONS[condition][next.includes(condition) ? 0 : 1];
      const text = `Node ${nodeName} status is now: ${reason}`;
      events.event(nodeTarget(nodeName), 'Normal', reason, text);
    }
    return changed.length > 0;
  }
}
