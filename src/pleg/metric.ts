/**
 * Owns: the metrics of the relist, by the kubelet's names (spec: pleg.md §8).
 * Leaves to others: the registry; what is needed of it is the small interface below.
 */
import type { ListedState } from '../wasm/relister.ts';

/** What the relist reports. Durations are milliseconds, wall times milliseconds since 1970. */
export interface PlegMetrics {
  relisted(durationMs: number): void;
  /** From the start of one relist to the start of the next. */
  interval(ms: number): void;
  inspected(durationMs: number): void;
  lastSeen(wallMs: number): void;
  readySandboxes(count: number): void;
  containers(state: ListedState, count: number): void;
  streamFailed(): void;
  streamWorks(): void;
  eventLatency(ms: number): void;
}

export interface MetricRegistry {
  counter(name: string, help: string): { inc(labels?: Record<string, string>, by?: number): void };
  gauge(
    name: string,
    help: string,
    labelNames?: string[],
  ): { set(value: number, labels?: Record<string, string>): void };
  histogram(name: string, help: string): { observe(value: number): void };
}

export function plegMetrics(registry: MetricRegistry): PlegMetrics {
  const duration = registry.histogram(
    'kubelet_pleg_relist_duration_seconds',
    'Duration in seconds for relisting pods in PLEG.',
  );
  const interval = registry.histogram(
    'kubelet_pleg_relist_interval_seconds',
    'Interval in seconds between relisting in PLEG.',
  );
  const podDuration = registry.histogram(
    'kubelet_pleg_pod_relist_duration_seconds',
    'Duration in seconds for reading the status of one pod in PLEG.',
  );
  // Unlike the kubelet: there is no event queue that could be full, so this stays 0.
  registry.counter('kubelet_pleg_discard_events', 'The number of discard events in PLEG.');
  const lastSeen = registry.gauge(
    'kubelet_pleg_last_seen_seconds',
    'Timestamp in seconds when PLEG was last seen active.',
  );
  const pods = registry.gauge(
    'kubelet_running_pods',
    'Number of pods that have a running pod sandbox',
  );
  const containers = registry.gauge(
    'kubelet_running_containers',
    'Number of currently running containers',
    ['container_state'],
  );
  return {
    relisted: (ms) => duration.observe(ms / 1000),
    interval: (ms) => interval.observe(ms / 1000),
    inspected: (ms) => podDuration.observe(ms / 1000),
    lastSeen: (ms) => lastSeen.set(ms / 1000),
    readySandboxes: (count) => pods.set(count),
    containers: (state, count) => containers.set(count, { container_state: state }),
    ...streamMetrics(registry),
  };
}

function streamMetrics(
  registry: MetricRegistry,
): Pick<PlegMetrics, 'streamFailed' | 'streamWorks' | 'eventLatency'> {
  const failed = registry.counter(
    'kubelet_evented_pleg_connection_error_count',
    'The number of errors encountered during the establishment of streaming connection with the CRI runtime.',
  );
  const works = registry.counter(
    'kubelet_evented_pleg_connection_success_count',
    'The number of times a streaming client was obtained to receive CRI Events.',
  );
  const latency = registry.histogram(
    'kubelet_evented_pleg_connection_latency_seconds',
    'The latency of streaming connection with the CRI runtime, measured in seconds.',
  );
  return {
    streamFailed: () => failed.inc(),
    streamWorks: () => works.inc(),
    eventLatency: (ms) => latency.observe(ms / 1000),
  };
}
