/**
 * Owns: what /proc tells of the machine as a whole.
 */
import path from 'node:path';
import { readNumber, readPairs, readText } from './text-file.ts';

export interface Machine {
  /** Bytes. */
  readonly memoryCapacity: number;
  readonly swapCapacity: number;
  readonly swapFree: number;
}

const KIB = 1024;
const THREADS_UNKNOWN = Number.MAX_SAFE_INTEGER;

export function readMachine(procDir: string): Machine {
  const info = readPairs(path.join(procDir, 'meminfo'));
  const bytes = (name: string): number => (info?.get(name) ?? 0) * KIB;
  return {
    memoryCapacity: bytes('MemTotal'),
    swapCapacity: bytes('SwapTotal'),
    swapFree: bytes('SwapFree'),
  };
}

/** Wall milliseconds of the boot; 0 when unknown. */
export function bootTimeMs(procDir: string): number {
  const text = readText(path.join(procDir, 'stat')) ?? '';
  return Number(/^btime (\d+)$/m.exec(text)?.[1] ?? 0) * 1000;
}

/** Process ids there can be, and tasks there are (spec eviction.md §1). */
export function readPids(procDir: string): { max: number; current: number } {
  const sys = (name: string): number =>
    readNumber(path.join(procDir, 'sys/kernel', name)) ?? THREADS_UNKNOWN;
  // 0.08 0.03 0.01 2/345 6789: running and all tasks in the fourth field.
  const load = readText(path.join(procDir, 'loadavg')) ?? '';
  const current = Number(/^\S+ \S+ \S+ \d+\/(\d+)/.exec(load)?.[1] ?? 0);
  return { max: Math.min(sys('pid_max'), sys('threads-max')), current };
}
