/**
 * Owns: when to look at a log again, from how it grows: pure.
 * Why not at a fixed interval: a log of 50 MB/s overshoots 1 MiB by 500 MB in ten seconds, and a look
 * every few milliseconds at logs that rest would cost the node more than all else.
 */
import type { LogLimits } from './rotation-plan.ts';

export interface Growth {
  readonly size: number;
  /** Monotonic milliseconds of the look. */
  readonly atMs: number;
  /** Bytes per millisecond. */
  readonly rate: number;
}

/** What a container is feared to write all of a sudden, in bytes per millisecond: 50 MB/s. */
const BURST = 50_000;
const SHORTEST_MS = 10;
const LONGEST_MS = 1_000;
/** Of the time that is left until the log is full: it may get faster. */
const EARLY = 0.7;

/** A log that was rotated or emptied has grown by what it has now. */
export function grown(before: Growth, size: number, atMs: number): Growth {
  const gained = size >= before.size ? size - before.size : size;
  const now = gained / Math.max(1, atMs - before.atMs);
  return { size, atMs, rate: gained === 0 ? 0 : Math.max(now, before.rate / 2) };
}

/**
 * How long nobody need look: in that time a burst from nothing fills no more than half of what the older
 * parts may take.
 */
export function blindMs({ maxSize, maxFiles }: LogLimits): number {
  return clamp(((maxFiles - 1) * maxSize) / 2 / BURST);
}

/** Milliseconds to the next look; undefined: the log rests, and the next write is soon enough. */
export function nextLookMs(growth: Growth, limits: LogLimits): number | undefined {
  if (growth.rate === 0) return undefined;
  const left = Math.max(0, limits.maxSize - growth.size);
  return Math.min(blindMs(limits), clamp((EARLY * left) / growth.rate));
}

function clamp(ms: number): number {
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms));
}
