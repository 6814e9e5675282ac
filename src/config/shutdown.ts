/**
 * Owns: how long pods have to stop before the node does (spec node-api.md §5): the kubelet's two ways to say
 * so as one list.
 */
import type { ShutdownGracePeriod } from './model.ts';

export interface ShutdownFields {
  readonly totalMs: number;
  /** The last part of the total. */
  readonly criticalMs: number;
  readonly byPriority: readonly {
    readonly priority?: number;
    readonly shutdownGracePeriodSeconds?: number;
  }[];
}

const CRITICAL_PRIORITY = 2_000_000_000;

/** By ascending priority; empty: pods are not stopped before the node. */
export function shutdownGracePeriods(fields: ShutdownFields): ShutdownGracePeriod[] {
  const { totalMs, criticalMs, byPriority } = fields;
  if (byPriority.length > 0) {
    return byPriority
      .map(({ priority = 0, shutdownGracePeriodSeconds: seconds = 0 }) => ({
        priority,
        periodMs: seconds * 1000,
      }))
      .sort((a, b) => a.priority - b.priority);
  }
  if (totalMs === 0) return [];
  return [
    { priority: 0, periodMs: totalMs - criticalMs },
    { priority: CRITICAL_PRIORITY, periodMs: criticalMs },
  ];
}
