/**
 * Owns: which unused images go, and in which order: pure (spec: gc-logs-images.md §1).
 * Unlike the kubelet, which removes whatever no container has: an image that a manifest names, and the one
 * it had before, stay; only under disk pressure do they go too, last, and only where the node could get
 * them again. A node without a registry would lose a pod with its image.
 */
import type { Rank } from './image-facts.ts';

export interface ImageFact {
  readonly id: string;
  readonly size: number;
  /** By the runtime, or as the image of its sandboxes. */
  readonly pinned: boolean;
  readonly inUse: boolean;
  readonly rank: Rank;
  readonly canBeHadAgain: boolean;
  /** The greater the later it was used; undefined: never, as far as is known. */
  readonly stamp: number | undefined;
  /** All monotonic milliseconds: when this life of the agent first saw it, when it was last used, … */
  readonly detectedAt: number;
  readonly usedAt: number | undefined;
  /** … and when something was last about to be made of it, which the runtime may not show yet. */
  readonly claimedAt: number | undefined;
}

export interface FileSystem {
  readonly capacity: number;
  readonly available: number;
}

/** Between the image's being there and its container's being made. */
const CLAIM_MS = 60_000;
const RANKS: Readonly<Record<Rank, number>> = { other: 0, previous: 1, named: 2 };

export interface PlanContext {
  /** Monotonic, from before the facts were read. */
  readonly nowMs: number;
  readonly minAgeMs: number;
}

/** Bytes to free to come below the low threshold; 0 below the high one. Percentages of the capacity. */
export function bytesToFree(
  { capacity, available }: FileSystem,
  thresholds: { readonly high: number; readonly low: number },
): number {
  if (usagePercent({ capacity, available }) < thresholds.high) return 0;
  return Math.max(0, Math.floor((capacity * (100 - thresholds.low)) / 100) - available);
}

export function usagePercent({ capacity, available }: FileSystem): number {
  return 100 - Math.floor((available * 100) / capacity);
}

/** Images that may go for space, least recently used first. `ranks`: which ones at the utmost. */
export function removable(
  images: readonly ImageFact[],
  ranks: 'others' | 'all',
  { nowMs, minAgeMs }: PlanContext,
): ImageFact[] {
  return unused(images, nowMs)
    .filter((image) => image.rank === 'other' || (ranks === 'all' && image.canBeHadAgain))
    .filter((image) => (image.usedAt ?? -Infinity) < nowMs && nowMs - image.detectedAt >= minAgeMs)
    .sort(byUse);
}

/** The first of `candidates` that are enough together. */
export function enoughFor(candidates: readonly ImageFact[], bytes: number): ImageFact[] {
  const chosen: ImageFact[] = [];
  let freed = 0;
  for (const image of candidates) {
    if (freed >= bytes) break;
    chosen.push(image);
    freed += image.size;
  }
  return chosen;
}

/**
 * Images unused for longer than `maxAgeMs`, as far as this life of the agent can tell: it began at
 * `sinceMs`, and what was before is known by a clock that may have been wrong.
 */
export function expired(
  images: readonly ImageFact[],
  maxAgeMs: number,
  context: PlanContext & { readonly sinceMs: number },
): ImageFact[] {
  const { nowMs, sinceMs } = context;
  if (maxAgeMs <= 0) return [];
  return unused(images, nowMs)
    .filter(({ rank }) => rank === 'other')
    .filter(({ usedAt, detectedAt }) => nowMs - Math.max(usedAt ?? sinceMs, detectedAt) > maxAgeMs)
    .sort(byUse);
}

function unused(images: readonly ImageFact[], nowMs: number): ImageFact[] {
  return images.filter(
    ({ pinned, inUse, claimedAt }) =>
      !pinned && !inUse && nowMs - (claimedAt ?? -Infinity) >= CLAIM_MS,
  );
}

function byUse(a: ImageFact, b: ImageFact): number {
  return (
    RANKS[a.rank] - RANKS[b.rank] ||
    (a.stamp ?? -1) - (b.stamp ?? -1) ||
    a.detectedAt - b.detectedAt
  );
}
