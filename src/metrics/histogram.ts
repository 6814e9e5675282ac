/**
 * Owns: a distribution in fixed buckets. Bounds are upper bounds, ascending, without +Inf, which is
 * always there; counts are kept per bucket and summed up only when exposed.
 */
import { Family, NO_LABELS, formatNumber, sample } from './series.ts';
import type { Labels } from './series.ts';

/** Seconds; what Prometheus clients use where nothing else is said. */
export const DEFAULT_BUCKETS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** `count` bounds, the first `start`, each `factor` times the one before. */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => Number((start * factor ** i).toPrecision(15)));
}

interface Distribution {
  /** One more than there are bounds: the last counts what is above them all. */
  readonly counts: Float64Array;
  sum: number;
}

export class Histogram extends Family<Distribution> {
  readonly kind = 'histogram';
  readonly bounds: readonly number[];

  constructor(
    name: string,
    help: string,
    bounds: readonly number[],
    labelNames: readonly string[],
  ) {
    super(name, help, labelNames);
    this.bounds = bounds;
    if (labelNames.length === 0) this.series.set('', emptyDistribution(bounds));
    if (bounds.some((bound, i) => i > 0 && bound <= (bounds[i - 1] ?? bound))) {
      throw new Error(`metric ${name}: buckets are not ascending`);
    }
  }

  observe(value: number, labels: Labels = NO_LABELS): void {
    const key = this.key(labels);
    let entry = this.series.get(key);
    if (!entry) {
      entry = emptyDistribution(this.bounds);
      this.series.set(key, entry);
    }
    let i = 0;
    while (i < this.bounds.length && value > (this.bounds[i] ?? Infinity)) i++;
    entry.counts[i] = (entry.counts[i] ?? 0) + 1;
    entry.sum += value;
  }

  protected samples(key: string, value: Distribution): string {
    const prefix = key === '' ? '' : `${key},`;
    let below = 0;
    let text = '';
    value.counts.forEach((count, i) => {
      below += count;
      const bound = formatNumber(this.bounds[i] ?? Infinity);
      text += sample(`${this.name}_bucket`, `${prefix}le="${bound}"`, below);
    });
    return (
      text + sample(`${this.name}_sum`, key, value.sum) + sample(`${this.name}_count`, key, below)
    );
  }
}

function emptyDistribution(bounds: readonly number[]): Distribution {
  return { counts: new Float64Array(bounds.length + 1), sum: 0 };
}
