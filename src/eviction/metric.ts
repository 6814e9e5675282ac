/**
 * Owns: the metrics of eviction (spec eviction.md §11).
 */
import type { Counter, Gauge, Histogram, Registry } from '../metrics/registry.ts';

export interface EvictionMetrics {
  /** By `eviction_signal`. */
  readonly evictions: Pick<Counter, 'inc'>;
  /** By `eviction_signal`, in seconds. */
  readonly statsAge: Pick<Histogram, 'observe'>;
}

/** islet's own, by `condition`: 1 while the node reports it. The kubelet leaves that to the Node object. */
export function pressureGauge(registry: Registry): Gauge {
  const help = 'Whether the node reports this condition of pressure.';
  return registry.gauge('islet_node_pressure', help, ['condition']);
}

export function evictionMetrics(registry: Registry): EvictionMetrics {
  const labels = ['eviction_signal'];
  return {
    evictions: registry.counter(
      'kubelet_evictions',
      'Cumulative number of pod evictions by eviction signal',
      labels,
    ),
    statsAge: registry.histogram(
      'kubelet_eviction_stats_age_seconds',
      'Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
      undefined,
      labels,
    ),
  };
}
