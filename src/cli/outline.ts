/**
 * Owns: indented `Name:  value` text as `kubectl describe` has it. Values of neighbours stand in one
 * column; a value of several lines goes on below its first; a section has its parts indented below.
 */
export interface Entry {
  readonly name: string;
  /** A text, lines below one another, or entries of their own. */
  readonly value?: string | readonly string[];
  readonly parts?: readonly Entry[];
  /** Lines put as they are, indented below the name. */
  readonly lines?: readonly string[];
}

const STEP = '  ';

export function outline(entries: readonly Entry[], indent = ''): string[] {
  const named = entries.filter((entry) => entry.value !== undefined);
  const column = Math.max(0, ...named.map((entry) => entry.name.length + 1)) + STEP.length;
  return entries.flatMap((entry) => entryLines(entry, column, indent));
}

function entryLines(entry: Entry, column: number, indent: string): string[] {
  const values = typeof entry.value === 'string' ? [entry.value] : (entry.value ?? []);
  const head = `${indent}${entry.name}:`;
  const [first = '', ...more] = values;
  return [
    `${head.padEnd(indent.length + column)}${first}`.trimEnd(),
    ...more.map((line) => `${indent}${' '.repeat(column)}${line}`.trimEnd()),
    ...outline(entry.parts ?? [], indent + STEP),
    ...(entry.lines ?? []).map((line) => `${indent}${STEP}${line}`.trimEnd()),
  ];
}

/** Sorted `key=value` lines, `<none>` for no keys. */
export function pairs(
  record: Readonly<Record<string, string>> | undefined,
  between: string,
): string[] {
  const keys = Object.keys(record ?? {}).sort();
  return keys.length === 0 ? ['<none>'] : keys.map((key) => `${key}${between}${record?.[key]}`);
}

/** As kubectl shows a time: `Thu, 01 Jan 2026 00:00:00 +0000`, in UTC. */
export function fullTime(time: string | null | undefined): string {
  const ms = time ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(ms)) return '<unknown>';
  return new Date(ms).toUTCString().replace('GMT', '+0000');
}
