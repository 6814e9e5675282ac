/**
 * Owns: usage as a runtime reports it, from the protocol to model.ts. A runtime may leave anything out;
 * what it leaves out stays undefined, since 0 would be a lie.
 */
import type * as pb from './gen/cri_pb.ts';
import type {
  ContainerStats,
  CpuUsage,
  FsUsage,
  InterfaceUsage,
  MemoryUsage,
  SandboxStats,
} from './usage.ts';

export function containerStatsOf(stats: pb.ContainerStats): ContainerStats {
  const { attributes, cpu, memory, writableLayer } = stats;
  return {
    id: attributes?.id ?? '',
    name: attributes?.metadata?.name ?? '',
    labels: attributes?.labels ?? {},
    ...(cpu && { cpu: cpuOf(cpu) }),
    ...(memory && { memory: memoryOf(memory) }),
    ...(writableLayer && { writableLayer: fsUsageOf(writableLayer) }),
  };
}

export function sandboxStatsOf(stats: pb.PodSandboxStats): SandboxStats {
  const { attributes, linux } = stats;
  const metadata = attributes?.metadata;
  const processCount = linux?.process?.processCount?.value;
  return {
    id: attributes?.id ?? '',
    metadata: {
      name: metadata?.name ?? '',
      namespace: metadata?.namespace ?? '',
      uid: metadata?.uid ?? '',
      attempt: metadata?.attempt ?? 0,
    },
    ...(linux?.cpu && { cpu: cpuOf(linux.cpu) }),
    ...(linux?.memory && { memory: memoryOf(linux.memory) }),
    ...(linux?.network && { network: networkOf(linux.network) }),
    ...(processCount !== undefined && { processCount: Number(processCount) }),
  };
}

export function fsUsageOf(usage: pb.FilesystemUsage): FsUsage {
  return {
    mountpoint: usage.fsId?.mountpoint ?? '',
    usedBytes: numberOf(usage.usedBytes),
    inodesUsed: numberOf(usage.inodesUsed),
  };
}

function cpuOf(cpu: pb.CpuUsage): CpuUsage {
  return {
    timestamp: cpu.timestamp,
    usageCoreNanoSeconds: numberOf(cpu.usageCoreNanoSeconds),
    usageNanoCores: numberOf(cpu.usageNanoCores),
  };
}

function memoryOf(memory: pb.MemoryUsage): MemoryUsage {
  return {
    timestamp: memory.timestamp,
    workingSetBytes: numberOf(memory.workingSetBytes),
    availableBytes: numberOf(memory.availableBytes),
    usageBytes: numberOf(memory.usageBytes),
    rssBytes: numberOf(memory.rssBytes),
    pageFaults: numberOf(memory.pageFaults),
    majorPageFaults: numberOf(memory.majorPageFaults),
  };
}

function networkOf(network: pb.NetworkUsage): SandboxStats['network'] {
  const { defaultInterface } = network;
  return {
    ...(defaultInterface && { default: interfaceOf(defaultInterface) }),
    interfaces: network.interfaces.map(interfaceOf),
  };
}

function interfaceOf(usage: pb.NetworkInterfaceUsage): InterfaceUsage {
  return {
    name: usage.name,
    rxBytes: numberOf(usage.rxBytes) ?? 0,
    rxErrors: numberOf(usage.rxErrors) ?? 0,
    txBytes: numberOf(usage.txBytes) ?? 0,
    txErrors: numberOf(usage.txErrors) ?? 0,
  };
}

function numberOf(value: pb.UInt64Value | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.value);
}
