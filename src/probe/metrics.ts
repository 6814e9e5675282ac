/**
 * Owns: the metrics of probing (spec: probes.md §5), served at `/metrics/probes`.
 */
import { DEFAULT_BUCKETS } from '../metrics/histogram.ts';
import type { Counter, Histogram, Registry } from '../metrics/registry.ts';
import type { ProbeKind } from './model.ts';
import { PROBE_TITLES } from './model.ts';

/** Which worker a measurement is of. */
export interface ProbeSeries {
  readonly kind: ProbeKind;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
  readonly podUid: string;
}

export interface ProbeMetrics {
  /** One attempt has ended, with all its tries; `success` undefined: nothing was found out. */
  probed(series: ProbeSeries, success: boolean | undefined, seconds: number): void;
  /** The worker has ended. */
  forget(series: ProbeSeries): void;
}

const RESULTS = ['successful', 'failed', 'unknown'] as const;

export class ProberMetrics implements ProbeMetrics {
  readonly #total: Counter;
  readonly #seconds: Histogram;

  constructor(registry: Registry) {
    this.#total = registry.counter(
      'prober_probe_total',
      'Cumulative number of a liveness, readiness or startup probe for a container by result.',
      ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
    );
    this.#seconds = registry.histogram(
      'prober_probe_duration_seconds',
      'Duration in seconds for a probe response.',
      DEFAULT_BUCKETS,
      ['probe_type', 'container', 'pod', 'namespace'],
    );
  }

  /** Unlike the kubelet, where nothing is ever `unknown`: attempts that could not run are. */
  probed(series: ProbeSeries, success: boolean | undefined, seconds: number): void {
    const result = success === undefined ? 'unknown' : success ? 'successful' : 'failed';
    this.#total.inc({ ...labelsOf(series), result, pod_uid: series.podUid });
    if (success === true) this.#seconds.observe(seconds, labelsOf(series));
  }

  forget(series: ProbeSeries): void {
    const labels = labelsOf(series);
    for (const result of RESULTS) {
      this.#total.remove({ ...labels, result, pod_uid: series.podUid });
    }
    this.#seconds.remove(labels);
  }
}

function labelsOf({ kind, container, pod, namespace }: ProbeSeries): {
  probe_type: string;
  container: string;
  pod: string;
  namespace: string;
} {
  return { probe_type: PROBE_TITLES[kind], container, pod, namespace };
}
