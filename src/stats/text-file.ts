/**
 * Owns: reading the small files in which the kernel tells numbers, and the two forms they have.
 * They are read at once (`readFileSync`): the kernel makes them on the spot, no disk is asked, and that
 * costs a tenth of what a turn of the thread pool does.
 * Invariant: a file that is not there, or goes away while it is read, is undefined and no error.
 */
import { readdirSync, readFileSync } from 'node:fs';

export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Names of the directories in `dir`; none when it is not there. */
export function subdirectories(dir: string): string[] {
  try {
    const entries = readdirSync(dir, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch {
    return [];
  }
}

/** A file that holds one number; undefined for `max`, which is none. */
export function readNumber(file: string): number | undefined {
  return numberOf(readText(file)?.trim());
}

/** `key value` lines, or `key: value unit` ones. */
export function readPairs(file: string): ReadonlyMap<string, number> | undefined {
  const text = readText(file);
  if (text === undefined) return undefined;
  const pairs = new Map<string, number>();
  for (const line of text.split('\n')) {
    const end = line.search(/[: ]/);
    if (end <= 0) continue;
    const value = Number.parseInt(line.slice(end + 1), 10);
    if (!Number.isNaN(value)) pairs.set(line.slice(0, end), value);
  }
  return pairs;
}

export function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}
