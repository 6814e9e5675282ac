/**
 * Owns: the thresholds that the node acts on, made from the configuration (spec eviction.md §2), and
 * when one is met. Pure.
 * Invariant: hard thresholds come before soft ones, each in the order of the configuration.
 */
import type { EvictionSettings } from '../config/eviction.ts';
import { thresholdAmount } from '../config/eviction.ts';
import type { DiskLayout, Observation, Observations, Signal } from './signal.ts';
import { isSignal } from './signal.ts';

export interface Threshold {
  readonly signal: Signal;
  /** Quantity or percentage, as written. */
  readonly value: string;
  /** Milliseconds that it must be met before anything is done; undefined: hard, at once. */
  readonly graceMs?: number;
  /** Quantity or percentage above the threshold that must be free again. */
  readonly minReclaim?: string;
}

export interface ThresholdInput {
  readonly eviction: EvictionSettings;
  readonly enforceNodeAllocatable: readonly string[];
}

/** All thresholds but those that are switched off, and those on containerfs, which follow others (§1). */
export function thresholdsOf({ eviction, enforceNodeAllocatable }: ThresholdInput): Threshold[] {
  const { hard, soft, softGraceMs, minimumReclaim } = eviction;
  const make = (signal: string, value: string, graceMs?: number): Threshold[] => {
    if (!isSignal(signal) || isContainerFs(signal)) return [];
    if (thresholdAmount(value, 1) === undefined) return [];
    const minReclaim = minimumReclaim[signal];
    return [
      {
        ...{ signal, value },
        ...(graceMs === undefined ? {} : { graceMs }),
        ...(minReclaim === undefined ? {} : { minReclaim }),
      },
    ];
  };
  const hardOnes = Object.entries(hard).flatMap(([signal, value]) => make(signal, value));
  if (enforceNodeAllocatable.includes('pods')) {
    const memory = hardOnes.find(({ signal }) => signal === 'memory.available');
    const own = hardOnes.some(({ signal }) => signal === 'allocatableMemory.available');
    if (memory && !own) hardOnes.push({ ...memory, signal: 'allocatableMemory.available' });
  }
  const softOnes = Object.entries(soft).flatMap(([signal, value]) =>
    make(signal, value, softGraceMs[signal] ?? 0),
  );
  return [...hardOnes, ...softOnes];
}

/** Signals of containerfs that the configuration names in vain. */
export function ignoredSignals({ hard, soft }: EvictionSettings): string[] {
  return [...new Set([...Object.keys(hard), ...Object.keys(soft)])].filter(isContainerFs);
}

/** With those on containerfs: as on nodefs, or as on imagefs where that alone has the writable layers. */
export function withContainerFs(thresholds: readonly Threshold[], layout: DiskLayout): Threshold[] {
  const source = layout === 'imagefs' ? 'imagefs' : 'nodefs';
  const copies = thresholds.flatMap((threshold): Threshold[] => {
    const [fs, what] = threshold.signal.split('.');
    if (fs !== source) return [];
    const signal = what === 'inodesFree' ? 'containerfs.inodesFree' : 'containerfs.available';
    return [{ ...threshold, signal }];
  });
  return [...thresholds, ...copies];
}

export function isHard(threshold: Threshold): boolean {
  return threshold.graceMs === undefined;
}

/** What must be free at least, with `withReclaim` what must be free again. */
export function amountOf(
  threshold: Threshold,
  { capacity }: Observation,
  withReclaim = false,
): number {
  const amount = thresholdAmount(threshold.value, capacity) ?? 0;
  const { minReclaim } = threshold;
  if (!withReclaim || minReclaim === undefined) return amount;
  return amount + (thresholdAmount(minReclaim, capacity) ?? capacity);
}

export function metThresholds(
  thresholds: readonly Threshold[],
  observations: Observations,
  withReclaim = false,
): Threshold[] {
  return thresholds.filter((threshold) => {
    const seen = observations.get(threshold.signal);
    return seen !== undefined && amountOf(threshold, seen, withReclaim) > seen.available;
  });
}

function isContainerFs(signal: string): boolean {
  return signal.startsWith('containerfs.');
}
