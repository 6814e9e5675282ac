/**
 * Owns: what the agent itself uses.
 * Unlike the kubelet: its process, not the cgroup it happens to run in, which an edge device shares with
 * its login shell or its supervisor.
 */
import type { Clock } from '../util/clock.ts';
import type { SystemContainerStats } from './model.ts';
import type { CpuRates } from './rate.ts';

const NANOSECONDS = 1000;
/** Key of its rate; no cgroup is called so. */
const SELF = 'self';

export function ownStats(timeMs: number, rates: CpuRates, clock: Clock): SystemContainerStats {
  const { userCPUTime, systemCPUTime, minorPageFault, majorPageFault } = process.resourceUsage();
  const rss = process.memoryUsage.rss();
  const cpu = {
    timeMs,
    usageCoreNanoSeconds: (userCPUTime + systemCPUTime) * NANOSECONDS,
    userNanoSeconds: userCPUTime * NANOSECONDS,
    systemNanoSeconds: systemCPUTime * NANOSECONDS,
  };
  return {
    name: 'kubelet',
    startTimeMs: Math.round(timeMs - process.uptime() * 1000),
    cpu: rates.withRate(SELF, cpu, clock.monotonic()),
    memory: {
      ...{ timeMs, usage: rss, workingSet: rss, rss },
      pageFaults: minorPageFault + majorPageFault,
      majorPageFaults: majorPageFault,
    },
  };
}
