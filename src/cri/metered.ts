/**
 * Owns: counting and timing of calls to the runtime, under the kubelet's metric names (spec:
 * http-api.md), once for all calls. A stream is counted when it opens and when it fails; its
 * duration means nothing and is not observed.
 */
import type { Counter, Histogram, Registry } from '../metrics/registry.ts';
import { DEFAULT_BUCKETS, exponentialBuckets } from '../metrics/histogram.ts';
import type { Clock } from '../util/clock.ts';
import type { Transport, WireCall } from './transport.ts';

export class MeteredTransport implements Transport {
  private readonly inner: Transport;
  private readonly clock: Clock;
  private readonly metrics: CallMetrics;
  private readonly labels = new Map<string, { operation_type: string }>();

  constructor(deps: {
    readonly inner: Transport;
    readonly clock: Clock;
    readonly registry: Registry;
  }) {
    this.inner = deps.inner;
    this.clock = deps.clock;
    this.metrics = callMetrics(deps.registry);
  }

  async unary(call: WireCall): Promise<Uint8Array> {
    const labels = this.labelsOf(call.rpc);
    const handler = call.runtimeHandler;
    const sandbox = handler === undefined ? undefined : { runtime_handler: handler };
    const start = this.clock.monotonic();
    this.metrics.total.inc(labels);
    try {
      return await this.inner.unary(call);
    } catch (error) {
      this.metrics.errors.inc(labels);
      if (sandbox) this.metrics.sandboxErrors.inc(sandbox);
      throw error;
    } finally {
      const seconds = (this.clock.monotonic() - start) / 1000;
      this.metrics.duration.observe(seconds, labels);
      if (sandbox) this.metrics.sandboxDuration.observe(seconds, sandbox);
    }
  }

  async *stream(call: WireCall): AsyncGenerator<Uint8Array, void, undefined> {
    const labels = this.labelsOf(call.rpc);
    this.metrics.total.inc(labels);
    try {
      yield* this.inner.stream(call);
    } catch (error) {
      this.metrics.errors.inc(labels);
      throw error;
    }
  }

  private labelsOf(rpc: string): { operation_type: string } {
    let labels = this.labels.get(rpc);
    if (!labels) this.labels.set(rpc, (labels = { operation_type: operationType(rpc) }));
    return labels;
  }
}

/** The kubelet's word for a call: `RunPodSandbox` is `run_podsandbox`. */
export function operationType(rpc: string): string {
  if (rpc === 'UpdateContainerResources') return 'update_container';
  return rpc
    .replace('PodSandbox', 'Podsandbox')
    .replace(/(?<=.)[A-Z]/g, '_$&')
    .toLowerCase();
}

interface CallMetrics {
  readonly total: Counter;
  readonly duration: Histogram;
  readonly errors: Counter;
  readonly sandboxDuration: Histogram;
  readonly sandboxErrors: Counter;
}

function callMetrics(registry: Registry): CallMetrics {
  const operation = ['operation_type'];
  const handler = ['runtime_handler'];
  return {
    total: registry.counter(
      'kubelet_runtime_operations_total',
      'Cumulative number of runtime operations by operation type.',
      operation,
    ),
    duration: registry.histogram(
      'kubelet_runtime_operations_duration_seconds',
      'Duration in seconds of runtime operations, by operation type.',
      exponentialBuckets(0.005, 2.5, 14),
      operation,
    ),
    errors: registry.counter(
      'kubelet_runtime_operations_errors_total',
      'Cumulative number of runtime operation errors by operation type.',
      operation,
    ),
    sandboxDuration: registry.histogram(
      'kubelet_run_podsandbox_duration_seconds',
      'Duration in seconds of the run_podsandbox operations, by runtime handler.',
      DEFAULT_BUCKETS,
      handler,
    ),
    sandboxErrors: registry.counter(
      'kubelet_run_podsandbox_errors_total',
      'Cumulative number of the run_podsandbox operation errors by runtime handler.',
      handler,
    ),
  };
}
