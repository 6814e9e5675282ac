/**
 * Owns: the plain TypeScript twin of the ranking core: the kubelet's comparators one after the other, by
 * the sort of the language, which is stable.
 */
import type { RankOrder, RankRow } from '../../src/wasm/rank.ts';

type Comparator = (a: RankRow, b: RankRow) => number;

const overRequest: Comparator = (a, b) =>
  statsMissing(a, b) ?? Number(b.overRequest) - Number(a.overRequest);
const priority: Comparator = (a, b) => a.priority - b.priority;
const excess: Comparator = (a, b) => statsMissing(a, b) ?? excessOf(b) - excessOf(a);

const COMPARATORS: Record<RankOrder, readonly Comparator[]> = {
  use: [overRequest, priority, excess],
  priority: [priority, excess],
};

export function rankTwin(rows: readonly RankRow[], order: RankOrder): number[] {
  const indexed = rows.map((row, index) => ({ row, index }));
  indexed.sort((a, b) => {
    for (const compare of COMPARATORS[order]) {
      const result = compare(a.row, b.row);
      if (result !== 0) return result;
    }
    return 0;
  });
  return indexed.map(({ index }) => index);
}

/** Decides when one of the two has no statistics. */
function statsMissing(a: RankRow, b: RankRow): number | undefined {
  if (a.usage !== undefined && b.usage !== undefined) return undefined;
  return Number(a.usage !== undefined) - Number(b.usage !== undefined);
}

function excessOf(row: RankRow): number {
  return (row.usage ?? 0) - row.request;
}
