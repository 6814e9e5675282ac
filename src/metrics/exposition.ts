/**
 * Owns: the text form (Prometheus 0.0.4) of numbers that somebody else keeps, and that are read anew for
 * every scrape: made, written and thrown away.
 * Invariant: families come in the order in which they were first named, their samples together.
 */
import { escapeHelp, escapeLabel, formatNumber } from './series.ts';
import type { Labels } from './series.ts';

interface Family {
  readonly head: string;
  readonly lines: string[];
}

export class Exposition {
  readonly #families = new Map<string, Family>();

  /**
   * One sample; nothing when the value is not known. `timeMs` is the wall time at which it was true,
   * absent for "now".
   */
  add(
    family: { readonly name: string; readonly help: string; readonly kind: 'counter' | 'gauge' },
    labels: Labels,
    value: number | undefined,
    timeMs?: number,
  ): void {
    if (value === undefined) return;
    const { name, help, kind } = family;
    let there = this.#families.get(name);
    if (!there) {
      const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${kind}\n`;
      there = { head, lines: [] };
      this.#families.set(name, there);
    }
    const stamp = timeMs === undefined ? '' : ` ${Math.round(timeMs)}`;
    there.lines.push(`${name}${labelText(labels)} ${formatNumber(value)}${stamp}\n`);
  }

  text(): string {
    return [...this.#families.values()].map(({ head, lines }) => head + lines.join('')).join('');
  }
}

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}
