/**
 * Owns: columns of text as kubectl lays them out: as wide as the widest cell plus three, at least six;
 * the last one as it is.
 */
import type { Colour, Paint } from './colour.ts';

export interface Cell {
  readonly text: string;
  readonly colour?: Colour;
}

export interface TableOptions {
  readonly paint: Paint;
  /** Lines are cut here; never when absent. */
  readonly columns?: number;
  readonly indent?: string;
}

const GAP = 3;
const NARROWEST = 6;

/** The lines of a table; rows may be shorter than the header. */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly (Cell | string)[])[],
  options: TableOptions,
): string[] {
  const all = [header, ...rows].map((row) => row.map(asCell));
  const widths = header.map((_, column) => {
    const longest = Math.max(...all.map((row) => width(row[column]?.text ?? '')));
    return Math.max(longest + GAP, NARROWEST);
  });
  return all.map((row) => lineOf(row, widths, options));
}

function lineOf(row: readonly Cell[], widths: readonly number[], options: TableOptions): string {
  const { paint, columns = Number.POSITIVE_INFINITY, indent = '' } = options;
  let line = indent;
  let room = columns - indent.length;
  for (const [i, cell] of row.entries()) {
    const text = cut(cell.text, room);
    room -= width(text);
    const gap = i === row.length - 1 ? 0 : (widths[i] ?? 0) - width(text);
    const padding = Math.min(Math.max(0, gap), room);
    line += paint(text, cell.colour) + ' '.repeat(padding);
    room -= padding;
    if (room <= 0) break;
  }
  return line;
}

function asCell(cell: Cell | string): Cell {
  return typeof cell === 'string' ? { text: cell } : cell;
}

/** Code points; good enough for names and messages, wrong for East Asian wide characters. */
function width(text: string): number {
  return [...text].length;
}

function cut(text: string, room: number): string {
  if (width(text) <= room) return text;
  return room < 1 ? '' : `${[...text].slice(0, room - 1).join('')}…`;
}
