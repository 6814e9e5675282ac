/** Owns: a number that only grows while the process lives. */
import { Family, NO_LABELS, sample } from './series.ts';
import type { Labels } from './series.ts';

export class Counter extends Family<number> {
  readonly kind = 'counter';

  constructor(name: string, help: string, labelNames: readonly string[]) {
    super(name, help, labelNames);
    if (labelNames.length === 0) this.series.set('', 0);
  }

  inc(labels: Labels = NO_LABELS, by = 1): void {
    if (!(by >= 0)) throw new Error(`metric ${this.name}: a counter cannot change by ${by}`);
    const key = this.key(labels);
    this.series.set(key, (this.series.get(key) ?? 0) + by);
  }

  protected samples(key: string, value: number): string {
    return sample(this.name, key, value);
  }
}
