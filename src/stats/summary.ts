/**
 * Owns: the JSON of `/stats/summary` (spec http-api.md §5): the kubelet's names and units.
 * Invariant: what is not known is absent; times are RFC 3339 with whole seconds.
 */
import { known } from './known.ts';
import type {
  ContainerStats,
  CpuStats,
  FsStats,
  InterfaceStats,
  MemoryStats,
  NetworkStats,
  NodeStats,
  PodStats,
  Pressure,
  SwapStats,
  SystemContainerStats,
  VolumeStats,
} from './model.ts';

export interface SummaryInput {
  readonly nodeName: string;
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
  /** `only_cpu_and_memory`. */
  readonly onlyCpuAndMemory: boolean;
}

export function summary(input: SummaryInput): object {
  const { nodeName, node, onlyCpuAndMemory: less } = input;
  const usage = {
    nodeName,
    systemContainers: node.systemContainers.map(systemContainer),
    startTime: rfc3339(node.startTimeMs),
    ...usageOf(node, less),
  };
  const pods = input.pods.map((pod) => podSummary(pod, less));
  if (less) return { node: usage, pods };
  const { timeMs, max, current } = node.pid;
  return {
    node: known({
      ...usage,
      network: node.network && network(node.network),
      fs: fs(node.fs),
      runtime: known({
        imageFs: node.imageFs && fs(node.imageFs),
        containerFs: node.containerFs && fs(node.containerFs),
      }),
      rlimit: { time: rfc3339(timeMs), maxpid: max, curproc: current },
    }),
    pods,
  };
}

function podSummary(pod: PodStats, less: boolean): object {
  const about = {
    podRef: pod.ref,
    startTime: rfc3339(pod.startTimeMs),
    containers: pod.containers.map((container) => containerSummary(container, less)),
    ...usageOf(pod, less),
  };
  if (less) return about;
  const { processCount, ephemeralStorage } = pod;
  return known({
    ...about,
    network: pod.network && network(pod.network),
    volume: pod.volumes.length === 0 ? undefined : pod.volumes.map((v) => volume(v, pod)),
    'ephemeral-storage': ephemeralStorage && fs(ephemeralStorage),
    process_stats: processCount === undefined ? undefined : { process_count: processCount },
  });
}

function containerSummary(container: ContainerStats, less: boolean): object {
  const about = {
    name: container.name,
    startTime: rfc3339(container.startTimeMs),
    ...usageOf(container, less),
  };
  if (less) return about;
  const { rootfs, logs } = container;
  return known({ ...about, rootfs: rootfs && fs(rootfs), logs: logs && fs(logs) });
}

function systemContainer({ name, startTimeMs, cpu, memory }: SystemContainerStats): object {
  return known({
    name,
    startTime: startTimeMs === undefined ? undefined : rfc3339(startTimeMs),
    cpu: cpu && cpuSummary(cpu),
    memory: memory && memorySummary(memory),
  });
}

function usageOf(
  stats: Pick<PodStats, 'cpu' | 'memory' | 'swap' | 'io'>,
  less: boolean,
): Record<string, unknown> {
  const { cpu, memory, swap, io } = stats;
  return known({
    cpu: cpu && cpuSummary(cpu),
    memory: memory && memorySummary(memory),
    swap: swap && swapSummary(swap),
    io: less || !io ? undefined : { time: rfc3339(io.timeMs), psi: pressure(io.psi) },
  });
}

function cpuSummary({ timeMs, usageNanoCores, usageCoreNanoSeconds, psi }: CpuStats): object {
  return known({
    time: rfc3339(timeMs),
    usageNanoCores,
    usageCoreNanoSeconds,
    psi: psi && pressure(psi),
  });
}

function memorySummary(memory: MemoryStats): object {
  return known({
    time: rfc3339(memory.timeMs),
    availableBytes: memory.available,
    usageBytes: memory.usage,
    workingSetBytes: memory.workingSet,
    rssBytes: memory.rss,
    pageFaults: memory.pageFaults,
    majorPageFaults: memory.majorPageFaults,
    psi: memory.psi && pressure(memory.psi),
  });
}

function swapSummary({ timeMs, usage, available }: SwapStats): object {
  return known({ time: rfc3339(timeMs), swapAvailableBytes: available, swapUsageBytes: usage });
}

function network({ timeMs, default: chosen, interfaces }: NetworkStats): object {
  return {
    time: rfc3339(timeMs),
    ...(chosen && interfaceSummary(chosen)),
    interfaces: interfaces.map(interfaceSummary),
  };
}

function interfaceSummary({ name, rxBytes, rxErrors, txBytes, txErrors }: InterfaceStats): object {
  return { name, rxBytes, rxErrors, txBytes, txErrors };
}

function fs(stats: FsStats): object {
  return known({
    time: rfc3339(stats.timeMs),
    availableBytes: stats.available,
    capacityBytes: stats.capacity,
    usedBytes: stats.used,
    inodesFree: stats.inodesFree,
    inodes: stats.inodes,
    inodesUsed: stats.inodesUsed,
  });
}

function volume(stats: VolumeStats, { ref }: PodStats): object {
  const { claim } = stats;
  const pvcRef = claim === undefined ? undefined : { name: claim, namespace: ref.namespace };
  return known({ ...fs(stats), name: stats.name, pvcRef });
}

/** `full` has no meaning for the CPU of a node; the kubelet shows zeros. */
function pressure({ full, some }: Pressure): object {
  return { full: full ?? { total: 0, avg10: 0, avg60: 0, avg300: 0 }, some };
}

function rfc3339(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}
