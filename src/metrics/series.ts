/**
 * Owns: one metric family's series, keyed by their labels. A series' key is its labels as they are
 * exposed (`a="x",b="y"`, in declared order), so exposition has nothing left to do but sort.
 */

export type Labels = Readonly<Record<string, string>>;

export const NO_LABELS: Labels = {};

/** What every kind of metric has besides its own verbs. */
export abstract class Family<Value> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  protected readonly series = new Map<string, Value>();
  abstract readonly kind: 'counter' | 'gauge' | 'histogram';

  constructor(name: string, help: string, labelNames: readonly string[]) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
  }

  /** Forgets one series, e.g. of a pod that is gone. */
  remove(labels: Labels): void {
    this.series.delete(this.key(labels));
  }

  /** Forgets all series. */
  clear(): void {
    this.series.clear();
  }

  /** `# HELP`, `# TYPE` and the samples, ordered by labels; nothing while there is no series. */
  expose(): string {
    if (this.series.size === 0) return '';
    const samples = [...this.series]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => this.samples(key, value));
    const head = `# HELP ${this.name} ${escapeHelp(this.help)}\n# TYPE ${this.name} ${this.kind}\n`;
    return head + samples.join('');
  }

  protected abstract samples(key: string, value: Value): string;

  /** Throws when the labels are not exactly the declared ones: that is a broken caller. */
  protected key(labels: Labels): string {
    let key = '';
    for (const name of this.labelNames) {
      const value = labels[name];
      if (value === undefined) throw new Error(`metric ${this.name}: label ${name} is missing`);
      key += `${key === '' ? '' : ','}${name}="${escapeLabel(value)}"`;
    }
    if (Object.keys(labels).length !== this.labelNames.length) {
      throw new Error(`metric ${this.name}: has labels ${this.labelNames.join(', ')} only`);
    }
    return key;
  }
}

export function sample(name: string, key: string, value: number): string {
  return `${name}${key === '' ? '' : `{${key}}`} ${formatNumber(value)}\n`;
}

export function formatNumber(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

export function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

export function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
