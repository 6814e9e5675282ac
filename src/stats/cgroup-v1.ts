/**
 * Owns: the files of cgroup v1, where each controller is a hierarchy of its own below the root.
 * Leaves to others: which cgroups there are (pod/cgroups.ts), rates (rate.ts).
 */
import path from 'node:path';
import type { CgroupLimits, CgroupReader, MemoryReading } from './cgroup.ts';
import { limitOf, parsePids, workingSet } from './cgroup.ts';
import { known } from './known.ts';
import type { CpuStats } from './model.ts';
import { readNumber, readPairs, readText, subdirectories } from './text-file.ts';

type Controller = 'cpu' | 'cpuacct' | 'memory' | 'pids';

export class CgroupV1 implements CgroupReader {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  #file(controller: Controller, cgroup: string, name: string): string {
    return path.join(this.#root, controller, cgroup, name);
  }

  cpu(cgroup: string, timeMs: number): CpuStats | undefined {
    const number = (name: string): number | undefined =>
      readNumber(this.#file('cpuacct', cgroup, name));
    const usageCoreNanoSeconds = number('cpuacct.usage');
    if (usageCoreNanoSeconds === undefined) return undefined;
    return known({
      timeMs,
      usageCoreNanoSeconds,
      userNanoSeconds: number('cpuacct.usage_user'),
      systemNanoSeconds: number('cpuacct.usage_sys'),
      throttling: this.#throttling(cgroup),
    });
  }

  #throttling(cgroup: string): CpuStats['throttling'] {
    const stat = readPairs(this.#file('cpu', cgroup, 'cpu.stat'));
    const periods = stat?.get('nr_periods') ?? 0;
    if (stat === undefined || periods === 0) return undefined;
    return {
      periods,
      throttledPeriods: stat.get('nr_throttled') ?? 0,
      throttledNanoSeconds: stat.get('throttled_time') ?? 0,
    };
  }

  memory(cgroup: string, timeMs: number): MemoryReading | undefined {
    const number = (name: string): number | undefined =>
      readNumber(this.#file('memory', cgroup, name));
    const usage = number('memory.usage_in_bytes');
    const stat = readPairs(this.#file('memory', cgroup, 'memory.stat'));
    if (usage === undefined || stat === undefined) return undefined;
    // The `total_` values are those of the cgroup and all below it.
    const total = (name: string): number | undefined => stat.get(`total_${name}`) ?? stat.get(name);
    const limit = limitOf(number('memory.limit_in_bytes'));
    const swap = total('swap');
    return {
      memory: known({
        timeMs,
        ...workingSet(usage, total('inactive_file') ?? 0, limit),
        rss: total('rss'),
        cache: total('cache'),
        mappedFile: total('mapped_file'),
        pageFaults: total('pgfault'),
        majorPageFaults: total('pgmajfault'),
        failures: number('memory.failcnt'),
        maxUsage: number('memory.max_usage_in_bytes'),
      }),
      ...(swap !== undefined && {
        swap: known({ timeMs, usage: swap, available: this.#swapLeft(cgroup, limit, swap) }),
      }),
    };
  }

  /** The limit of v1 is one of memory and swap together. */
  #swapLeft(cgroup: string, memoryLimit: number | undefined, used: number): number | undefined {
    const both = limitOf(readNumber(this.#file('memory', cgroup, 'memory.memsw.limit_in_bytes')));
    if (both === undefined || memoryLimit === undefined) return undefined;
    return Math.max(0, both - memoryLimit - used);
  }

  tasks(cgroup: string): number | undefined {
    return readNumber(this.#file('pids', cgroup, 'pids.current'));
  }

  /** Pressure of cgroups is a thing of v2. */
  pressure(): undefined {
    return undefined;
  }

  limits(cgroup: string): CgroupLimits {
    const number = (controller: Controller, name: string): number | undefined =>
      readNumber(this.#file(controller, cgroup, name));
    const quota = number('cpu', 'cpu.cfs_quota_us');
    const memory = limitOf(number('memory', 'memory.limit_in_bytes'));
    const both = limitOf(number('memory', 'memory.memsw.limit_in_bytes'));
    return known({
      cpuShares: number('cpu', 'cpu.shares'),
      cpuQuota: quota !== undefined && quota > 0 ? quota : undefined,
      cpuPeriod: number('cpu', 'cpu.cfs_period_us'),
      memory,
      swap: both !== undefined && memory !== undefined ? Math.max(0, both - memory) : undefined,
      pids: limitOf(number('pids', 'pids.max')),
    });
  }

  children(cgroup: string): string[] {
    return subdirectories(this.#file('memory', cgroup, ''));
  }

  pids(cgroup: string): number[] {
    return parsePids(readText(this.#file('memory', cgroup, 'cgroup.procs')));
  }
}
