/**
 * Owns: the words for what was found in a file, and the guess at what was meant.
 */
import type { Tree } from './tree.ts';

const LONGEST = 60;

/** `the number 80`, `the string "x"`, `true (written yes)`, `a list`: for "found …" in messages. */
export function describe(tree: Tree): string {
  switch (tree.type) {
    case 'object':
      return 'a mapping';
    case 'list':
      return 'a list';
    case 'null':
      return 'null';
    case 'string':
      return `the string ${quoted(tree.text)}`;
    case 'number':
      return `the number ${asWritten(tree.text, tree.written)}`;
    case 'bool':
      return asWritten(tree.text, tree.written);
  }
}

/** The same for values that must not be shown, such as those of a Secret. */
export function describeType(tree: Tree): string {
  switch (tree.type) {
    case 'object':
      return 'a mapping';
    case 'list':
      return 'a list';
    case 'null':
      return 'null';
    case 'string':
      return 'a string';
    case 'number':
      return 'a number';
    case 'bool':
      return 'a boolean';
  }
}

function asWritten(text: string, written: string | undefined): string {
  return written === undefined || written === text ? text : `${text} (written ${written})`;
}

/** In double quotes, one line, cut when long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

/** The candidate that differs from `name` only in case, punctuation or up to two letters. */
export function similar(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > LONGEST) return undefined;
  const bare = letters(name);
  const same = candidates.find((candidate) => letters(candidate) === bare);
  if (same !== undefined) return same;
  const most = bare.length <= 4 ? 1 : 2;
  let best: string | undefined;
  let least = most + 1;
  for (const candidate of candidates) {
    const distance = editDistance(bare, letters(candidate), most);
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

function letters(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours; anything over `most` is `most + 1`. */
function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cell = (di: number, dj: number): number =>
        (di === 0 ? row : rows[i - di])?.[j - dj] ?? 0;
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let distance = Math.min(cell(1, 1) + change, cell(1, 0) + 1, cell(0, 1) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, cell(2, 2) + 1);
      }
      row.push(distance);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? most + 1;
}
