/**
 * Owns: one ranking of pods for eviction: writes the columns into the core, reads the order back (layout:
 * assembly/rank.ts). No pointer and no view of linear memory leaves this file.
 * Leaves to others: which pods are asked about and what their columns hold (src/eviction).
 */
import * as layout from '../../assembly/layout.ts';
import { IsletError } from '../util/errors.ts';
import type { Core } from './core.ts';

/**
 * `use`: over their request first, then by priority, then by usage above request; `priority`: by priority
 * first. Pods without statistics come before those with, in the first case whatever their priority.
 */
export type RankOrder = 'use' | 'priority';

/** One pod, as one signal sees it. Amounts are whole, not negative, at most 2^53. */
export interface RankRow {
  /** undefined: there are no statistics of it. */
  readonly usage: number | undefined;
  readonly request: number;
  /** A 32-bit integer. */
  readonly priority: number;
  readonly overRequest: boolean;
}

const MODES: Record<RankOrder, number> = {
  use: layout.RANK_BY_USE,
  priority: layout.RANK_BY_PRIORITY,
};

/** Indices of `rows`, the first to be evicted first; equals keep their order. IsletError `failed`. */
export function rankRows(core: Core, rows: readonly RankRow[], order: RankOrder): number[] {
  const count = rows.length;
  const at = core.rankPrepare(count);
  if (at < 0) throw new IsletError('failed', `rank ${count} pods: the core says ${at}`);
  const view = new DataView(core.memory.buffer);
  rows.forEach((row, i) => {
    const stats = row.usage === undefined ? 0 : layout.RANK_FLAG_STATS;
    const over = row.overRequest ? layout.RANK_FLAG_OVER : 0;
    view.setFloat64(at + i * 8, row.usage ?? 0, true);
    view.setFloat64(at + count * 8 + i * 8, row.request, true);
    view.setInt32(at + count * 16 + i * 4, row.priority, true);
    view.setUint8(at + count * 24 + i, stats | over);
  });
  const result = core.rank(count, MODES[order]);
  if (result < 0) throw new IsletError('failed', `rank ${count} pods: the core says ${result}`);
  const sorted = new DataView(core.memory.buffer, at + count * 20, count * 4);
  return rows.map((_, i) => sorted.getUint32(i * 4, true));
}
