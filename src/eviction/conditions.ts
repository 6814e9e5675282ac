/**
 * Owns: the pressure conditions that the node reports, and the word about each change of them.
 */
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget } from '../api/event.ts';
import { NodeReason } from '../api/reasons.ts';
import type { Gauge } from '../metrics/registry.ts';
import type { PressureCondition } from './signal.ts';
import { CONDITIONS } from './signal.ts';

export interface PressureDeps {
  readonly nodeName: string;
  readonly events: EventRecorder;
  /** 1 for each condition that is reported. */
  readonly gauge: Pick<Gauge, 'set'>;
}

const REASONS: Record<PressureCondition, readonly [begin: string, end: string]> = {
  MemoryPressure: [NodeReason.HasInsufficientMemory, NodeReason.HasSufficientMemory],
  DiskPressure: [NodeReason.HasDiskPressure, NodeReason.HasNoDiskPressure],
  PIDPressure: [NodeReason.HasInsufficientPID, NodeReason.HasSufficientPID],
};

/** Made before the parts that ask for it; none until the node was looked at. */
export class NodePressure {
  readonly #deps: PressureDeps;
  #current: readonly PressureCondition[] = [];

  constructor(deps: PressureDeps) {
    this.#deps = deps;
    for (const condition of CONDITIONS) deps.gauge.set(0, { condition });
  }

  current(): readonly PressureCondition[] {
    return this.#current;
  }

  /** Returns whether anything changed. */
  set(next: readonly PressureCondition[]): boolean {
    const changed = CONDITIONS.filter((one) => next.includes(one) !== this.#current.includes(one));
    this.#current = next;
    const { nodeName, events, gauge } = this.#deps;
    for (const condition of changed) {
      gauge.set(next.includes(condition) ? 1 : 0, { condition });
      const reason = REASONS[condition][next.includes(condition) ? 0 : 1];
      const text = `Node ${nodeName} status is now: ${reason}`;
      events.event(nodeTarget(nodeName), 'Normal', reason, text);
    }
    return changed.length > 0;
  }
}
