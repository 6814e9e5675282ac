/**
 * Owns: how the statistics are put together for the running agent.
 */
import type { Pod } from './api/pod.ts';
import type { Config } from './config/model.ts';
import type { CriClient } from './cri/client.ts';
import { podCgroupParent, podsCgroupPath } from './pod/cgroup-name.ts';
import type { CgroupDriver } from './pod/cgroup-name.ts';
import type { NodeFacts } from './runtime/node-facts.ts';
import { podLogDirectory } from './runtime/sandbox-config.ts';
import { Stats } from './stats/reader.ts';
import type { Clock, Random } from './util/clock.ts';
import { measuredVolumes } from './volume/measured.ts';
import { etcHostsPath } from './volume/paths.ts';

export interface LiveStatsDeps {
  readonly config: Config;
  readonly facts: NodeFacts;
  readonly cri: CriClient;
  readonly cgroupDriver: CgroupDriver;
  readonly pods: () => readonly Pod[];
  readonly clock: Clock;
  readonly random: Random;
  readonly stop: AbortSignal;
}

export function liveStats(deps: LiveStatsDeps): Stats {
  const { config, facts, cri, pods, clock, random, stop } = deps;
  const { rootDir, kubelet, islet } = config;
  const { persistentVolumeDir } = islet;
  const settings = { ...kubelet, cgroupDriver: deps.cgroupDriver };
  return new Stats({
    source: {
      pods,
      cgroupOf: (pod) => (kubelet.cgroupsPerQOS ? cgroupOf(pod, settings) : undefined),
      logDir: (pod) => podLogDirectory(pod, kubelet.podLogsDir),
      hostsFile: ({ metadata }) => etcHostsPath(rootDir, metadata.uid),
      volumes: (pod) => measuredVolumes(pod, { rootDir, persistentVolumeDir }),
    },
    runtime: cri.runtime,
    imageFs: (signal) => cri.images.fsUsage(signal),
    podsCgroup: kubelet.cgroupsPerQOS ? podsCgroupPath(settings) : undefined,
    cgroupVersion: facts.cgroupVersion,
    volumePeriodMs: kubelet.volumeStatsAggPeriodMs,
    ...{ rootDir, clock, random, stop },
  });
}

/** A uid that cannot name a cgroup has none. */
function cgroupOf(pod: Pod, settings: Parameters<typeof podCgroupParent>[1]): string | undefined {
  try {
    return podCgroupParent(pod, settings);
  } catch {
    return undefined;
  }
}
