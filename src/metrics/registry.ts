/**
 * Owns: the set of the agent's metrics and their text form (Prometheus text format 0.0.4).
 * Invariants: a name stands for one kind of metric with one set of labels; output is ordered by name
 * and labels, so two expositions of the same state are equal. Asking again for a metric that exists
 * gives the same one, so a part that is made anew (a client, a manager) goes on counting.
 * A metric without labels has the value 0 from the start, as with every Prometheus client.
 */
import { Counter } from './counter.ts';
import { Gauge } from './gauge.ts';
import { DEFAULT_BUCKETS, Histogram } from './histogram.ts';

export type { Counter } from './counter.ts';
export type { Gauge } from './gauge.ts';
export type { Histogram } from './histogram.ts';
export type { Labels } from './series.ts';

/** The `content-type` of what `expose()` returns. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type Metric = Counter | Gauge | Histogram;

const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

export class Registry {
  private readonly metrics = new Map<string, Metric>();

  counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    const made = this.add(new Counter(name, help, labelNames));
    if (made instanceof Counter) return made;
    throw clash(made);
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): Gauge {
    const made = this.add(new Gauge(name, help, labelNames));
    if (made instanceof Gauge) return made;
    throw clash(made);
  }

  histogram(
    name: string,
    help: string,
    buckets: readonly number[] = DEFAULT_BUCKETS,
    labelNames: readonly string[] = [],
  ): Histogram {
    const made = this.add(new Histogram(name, help, buckets, labelNames));
    if (made instanceof Histogram) return made;
    throw clash(made);
  }

  /** All metrics that have a value; each line ends with a newline. */
  expose(): string {
    return [...this.metrics.values()]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((metric) => metric.expose())
      .join('');
  }

  /** The metric of that name: the one that is there, or the one given. */
  private add(metric: Metric): Metric {
    const { name, labelNames } = metric;
    const there = this.metrics.get(name);
    if (there) {
      if (there.labelNames.join() !== labelNames.join()) throw clash(there);
      return there;
    }
    if (!METRIC_NAME.test(name) || !labelNames.every((label) => LABEL_NAME.test(label))) {
      throw new Error(`metric ${name}{${labelNames.join(',')}}: not a name of a metric or label`);
    }
    this.metrics.set(name, metric);
    return metric;
  }
}

function clash(there: Metric): Error {
  return new Error(`metric ${there.name} is a ${there.kind} of {${there.labelNames.join(',')}}`);
}
