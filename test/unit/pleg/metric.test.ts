/** Names and units of the relist's metrics, spec pleg.md §8. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plegMetrics, type MetricRegistry } from '../../../src/pleg/metric.ts';

test('metrics have the names and units of the kubelet', () => {
  const values: Record<string, number | string> = {};
  const registry: MetricRegistry = {
    counter: (name) => {
      values[name] = 0;
      return { inc: (_labels, by = 1) => void (values[name] = Number(values[name]) + by) };
    },
    gauge: (name) => ({
      set: (value, labels) => void (values[name] = `${value}${JSON.stringify(labels ?? {})}`),
    }),
    histogram: (name) => ({ observe: (value) => void (values[name] = value) }),
  };
  const metrics = plegMetrics(registry);
  metrics.relisted(3);
  metrics.interval(1003);
  metrics.inspected(20);
  metrics.lastSeen(1_700_000_000_500);
  metrics.readySandboxes(2);
  metrics.containers('exited', 4);
  metrics.streamFailed();
  metrics.streamWorks();
  metrics.eventLatency(5);
  assert.deepEqual(values, {
    kubelet_pleg_relist_duration_seconds: 0.003,
    kubelet_pleg_relist_interval_seconds: 1.003,
    kubelet_pleg_pod_relist_duration_seconds: 0.02,
    kubelet_pleg_discard_events: 0,
    kubelet_pleg_last_seen_seconds: '1700000000.5{}',
    kubelet_running_pods: '2{}',
    kubelet_running_containers: '4{"container_state":"exited"}',
    kubelet_evented_pleg_connection_error_count: 1,
    kubelet_evented_pleg_connection_success_count: 1,
    kubelet_evented_pleg_connection_latency_seconds: 0.005,
  });
});
