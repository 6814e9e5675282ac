/**
 * Owns: the files of cgroup v2, one directory for each cgroup.
 * Leaves to others: which cgroups there are (pod/cgroups.ts), rates (rate.ts).
 */
import path from 'node:path';
import type { CgroupLimits, CgroupReader, MemoryReading } from './cgroup.ts';
import { limitOf, parsePids, workingSet } from './cgroup.ts';
import { known } from './known.ts';
import type { CpuStats, Pressure } from './model.ts';
import { readPressure } from './pressure.ts';
import type { PressureResource } from './pressure.ts';
import { numberOf, readNumber, readPairs, readText, subdirectories } from './text-file.ts';

const NANOSECONDS = 1000;

export class CgroupV2 implements CgroupReader {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  #file(cgroup: string, name: string): string {
    return path.join(this.#root, cgroup, name);
  }

  cpu(cgroup: string, timeMs: number): CpuStats | undefined {
    const stat = readPairs(this.#file(cgroup, 'cpu.stat'));
    const nanoSeconds = (name: string): number | undefined => {
      const microSeconds = stat?.get(name);
      return microSeconds === undefined ? undefined : microSeconds * NANOSECONDS;
    };
    const usageCoreNanoSeconds = nanoSeconds('usage_usec');
    if (stat === undefined || usageCoreNanoSeconds === undefined) return undefined;
    const periods = stat.get('nr_periods') ?? 0;
    return known({
      timeMs,
      usageCoreNanoSeconds,
      userNanoSeconds: nanoSeconds('user_usec'),
      systemNanoSeconds: nanoSeconds('system_usec'),
      throttling:
        periods === 0
          ? undefined
          : {
              periods,
              throttledPeriods: stat.get('nr_throttled') ?? 0,
              throttledNanoSeconds: nanoSeconds('throttled_usec') ?? 0,
            },
    });
  }

  memory(cgroup: string, timeMs: number): MemoryReading | undefined {
    const stat = readPairs(this.#file(cgroup, 'memory.stat'));
    if (stat === undefined) return undefined;
    const [rss, cache] = [stat.get('anon'), stat.get('file')];
    // The root has no memory.current; what v1 would say of it is the sum of these two.
    const usage = readNumber(this.#file(cgroup, 'memory.current')) ?? sumOf(rss, cache);
    if (usage === undefined) return undefined;
    const limit = limitOf(readNumber(this.#file(cgroup, 'memory.max')));
    const swap = readNumber(this.#file(cgroup, 'memory.swap.current'));
    const swapMax = readNumber(this.#file(cgroup, 'memory.swap.max'));
    return {
      memory: known({
        timeMs,
        ...workingSet(usage, stat.get('inactive_file') ?? 0, limit),
        rss,
        cache,
        mappedFile: stat.get('file_mapped'),
        pageFaults: stat.get('pgfault'),
        majorPageFaults: stat.get('pgmajfault'),
        failures: readPairs(this.#file(cgroup, 'memory.events'))?.get('max'),
        maxUsage: readNumber(this.#file(cgroup, 'memory.peak')),
      }),
      ...(swap !== undefined && {
        swap: known({
          timeMs,
          usage: swap,
          available: swapMax === undefined ? undefined : Math.max(0, swapMax - swap),
        }),
      }),
    };
  }

  tasks(cgroup: string): number | undefined {
    return readNumber(this.#file(cgroup, 'pids.current'));
  }

  pressure(cgroup: string, resource: PressureResource): Pressure | undefined {
    return readPressure(this.#file(cgroup, `${resource}.pressure`));
  }

  limits(cgroup: string): CgroupLimits {
    const weight = readNumber(this.#file(cgroup, 'cpu.weight'));
    const [quota, period] = (readText(this.#file(cgroup, 'cpu.max')) ?? '').trim().split(' ');
    return known({
      cpuShares: weight === undefined ? undefined : sharesOf(weight),
      cpuQuota: numberOf(quota),
      cpuPeriod: numberOf(period),
      memory: limitOf(readNumber(this.#file(cgroup, 'memory.max'))),
      swap: readNumber(this.#file(cgroup, 'memory.swap.max')),
      pids: readNumber(this.#file(cgroup, 'pids.max')),
    });
  }

  children(cgroup: string): string[] {
    return subdirectories(this.#file(cgroup, ''));
  }

  pids(cgroup: string): number[] {
    return parsePids(readText(this.#file(cgroup, 'cgroup.procs')));
  }
}

function sumOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

/** The shares of v1 that a weight was made from, as runtimes convert it. */
function sharesOf(weight: number): number {
  return Math.max(2, Math.round(2 + ((weight - 1) * 262142) / 9999));
}
