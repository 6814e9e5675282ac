/** Owns: a number that goes up and down. */
import { Family, NO_LABELS, sample } from './series.ts';
import type { Labels } from './series.ts';

export class Gauge extends Family<number> {
  readonly kind = 'gauge';

  constructor(name: string, help: string, labelNames: readonly string[]) {
    super(name, help, labelNames);
    if (labelNames.length === 0) this.series.set('', 0);
  }

  set(value: number, labels: Labels = NO_LABELS): void {
    this.series.set(this.key(labels), value);
  }

  inc(labels: Labels = NO_LABELS, by = 1): void {
    const key = this.key(labels);
    this.series.set(key, (this.series.get(key) ?? 0) + by);
  }

  dec(labels: Labels = NO_LABELS, by = 1): void {
    this.inc(labels, -by);
  }

  protected samples(key: string, value: number): string {
    return sample(this.name, key, value);
  }
}
