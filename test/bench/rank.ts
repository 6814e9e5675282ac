/**
 * Ranking 10,000 pods for eviction: the whole call, columns written and order read, against the plain
 * twin. Prints medians; the best is held against the budget. Exits 1 when it is broken.
 */
import { loadCore } from '../../src/wasm/core.ts';
import { rankRows } from '../../src/wasm/rank.ts';
import type { RankRow } from '../../src/wasm/rank.ts';
import { rankTwin } from '../support/rank-twin.ts';

const BUDGET_MS = 3;
const PODS = 10_000;
const ROUNDS = 51;

/** Few priorities, many sizes, one in a hundred without statistics: as a node with too many pods has them. */
const rows: RankRow[] = Array.from({ length: PODS }, (_, i) => {
  const usage = (i * 2_654_435_761) % 2 ** 31;
  const request = ((i * 40_503) % 64) * 2 ** 20;
  return {
    usage: i % 100 === 0 ? undefined : usage,
    request,
    priority: (i % 7) * 100,
    overRequest: usage > request,
  };
});

function timed(run: () => void): { median: number; best: number } {
  for (let i = 0; i < 10; i++) run();
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  }).sort((a, b) => a - b);
  return { median: times[Math.floor(ROUNDS / 2)] ?? Number.NaN, best: times[0] ?? Number.NaN };
}

const core = loadCore();
const wasm = timed(() => rankRows(core, rows, 'use'));
const twin = timed(() => rankTwin(rows, 'use'));
console.table([
  {
    pods: PODS,
    'wasm (ms)': wasm.median.toFixed(2),
    'best (ms)': wasm.best.toFixed(2),
    'JS sort (ms)': twin.median.toFixed(2),
    'times slower': (twin.median / wasm.median).toFixed(1),
  },
]);
if (!(wasm.best <= BUDGET_MS)) {
  console.error(`over budget: ${wasm.best.toFixed(2)} ms for ${PODS} pods, ${BUDGET_MS} allowed`);
  process.exitCode = 1;
}
