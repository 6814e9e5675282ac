/**
 * Owns: what the node can give back before a pod has to go (spec eviction.md §4).
 */
import type { DiskLayout, Signal } from './signal.ts';

/** Who removes what nobody needs. */
export interface Reclaimer {
  /** Of pods that are still there, too. */
  deadContainers(signal: AbortSignal): Promise<void>;
  /** All that are not in use, not only down to a threshold. */
  unusedImages(signal: AbortSignal): Promise<unknown>;
}

export type Reclaim = keyof Reclaimer;

const BOTH: readonly Reclaim[] = ['deadContainers', 'unusedImages'];
const DEAD: readonly Reclaim[] = ['deadContainers'];
const IMAGES: readonly Reclaim[] = ['unusedImages'];

const PLANS: Record<DiskLayout, Record<string, readonly Reclaim[]>> = {
  one: { nodefs: BOTH, imagefs: BOTH, containerfs: BOTH },
  imagefs: { nodefs: [], imagefs: BOTH, containerfs: BOTH },
  split: { nodefs: DEAD, imagefs: IMAGES, containerfs: DEAD },
};

/** In order; nothing for memory and process ids. */
export function reclaimsFor(signal: Signal, layout: DiskLayout): readonly Reclaim[] {
  return PLANS[layout][signal.split('.')[0] ?? ''] ?? [];
}
