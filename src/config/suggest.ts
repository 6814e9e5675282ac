/**
 * Owns: guessing which known name somebody meant.
 */

/** The known name that differs only in case or separators, or by at most two letters; or undefined. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replace(/[-_.]/g, '');
  const wanted = plain(name);
  const same = known.find((candidate) => plain(candidate) === wanted);
  if (same !== undefined) return same;
  const close = known
    .map((candidate) => ({ candidate, distance: editDistance(wanted, plain(candidate)) }))
    .filter(({ distance }) => distance <= Math.min(2, Math.floor(wanted.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return close[0]?.candidate;
}

/** Letters to insert, delete or replace to turn one into the other. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const change = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const remove = (previous[column] ?? 0) + 1;
      const insert = (current[column - 1] ?? 0) + 1;
      current.push(Math.min(change, remove, insert));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
