/**
 * Owns: the cheap look at memory between two cycles. A look at the whole node each second would cost more
 * than the rest of an idle agent; this reads one line of the kernel or two, and says only whether memory
 * has become so much shorter since the last look that a threshold may be met.
 * Invariant: it may call too often, never too late by more than what moved between the two measures.
 */
import fs from 'node:fs';
import type { CycleState } from './cycle.ts';
import type { Observations } from './signal.ts';
import { SIGNALS } from './signal.ts';
import type { Threshold } from './threshold.ts';
import { amountOf } from './threshold.ts';

/** Bytes in use, by one or more measures that grow when memory becomes short; undefined: not known. */
export type MemoryUse = () => readonly number[] | undefined;

/** Bytes until the nearest memory threshold that the last cycle has not found met; undefined: there is none. */
export function memorySlack(
  thresholds: readonly Threshold[],
  observations: Observations,
  state: CycleState,
): number | undefined {
  const slacks = thresholds.flatMap((threshold) => {
    const seen = observations.get(threshold.signal);
    if (SIGNALS[threshold.signal].resource !== 'memory' || !seen) return [];
    return state.firstMet.has(threshold) ? [] : [seen.available - amountOf(threshold, seen)];
  });
  return slacks.length === 0 ? undefined : Math.min(...slacks);
}

/** Most that any measure has grown; Infinity where that is not known. */
export function grownSince(
  before: readonly number[] | undefined,
  now: readonly number[] | undefined,
): number {
  if (!before || !now) return Infinity;
  return Math.max(...now.map((bytes, index) => bytes - (before[index] ?? -Infinity)));
}

/** From /proc/meminfo, and the usage file of the cgroup above all pods where there is one. */
export function systemMemoryUse(podsUsageFile: string | undefined, procDir = '/proc'): MemoryUse {
  return () => {
    try {
      const meminfo = fs.readFileSync(`${procDir}/meminfo`, 'latin1');
      const taken = -(kib(meminfo, 'MemFree') + kib(meminfo, 'Inactive(file)')) * 1024;
      if (podsUsageFile === undefined) return [taken];
      return [taken, Number(fs.readFileSync(podsUsageFile, 'latin1'))];
    } catch {
      return undefined;
    }
  };
}

function kib(meminfo: string, name: string): number {
  const at = meminfo.indexOf(`${name}:`);
  return at < 0 ? 0 : Number.parseInt(meminfo.slice(at + name.length + 1), 10);
}
