/**
 * Owns: `/metrics/cadvisor`: the series of it that dashboards and alerts are made of, with cAdvisor's
 * names and labels. A row is a container, a pod's cgroup (container and image empty) or the node (id `/`).
 * Unlike the kubelet: only the core series; block devices, sockets and load averages are left out, and
 * the network of a pod is on the row of the pod, since its sandbox has no row.
 */
import { Exposition } from '../metrics/exposition.ts';
import type { CgroupLimits, CgroupReader } from './cgroup.ts';
import type {
  CpuStats,
  FsStats,
  InterfaceStats,
  MemoryStats,
  NetworkStats,
  NodeStats,
  PodStats,
  Pressure,
  SwapStats,
} from './model.ts';
import * as family from './cadvisor-families.ts';

export interface CadvisorInput {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
  readonly cpus: number;
  readonly cgroups: Pick<CgroupReader, 'limits' | 'tasks'>;
}

type RowLabels = Readonly<
  Record<'container' | 'id' | 'image' | 'name' | 'namespace' | 'pod', string>
>;

interface Row {
  readonly labels: RowLabels;
  /** Path of the cgroup; undefined where it was not found. */
  readonly cgroup: string | undefined;
  readonly stats: {
    readonly startTimeMs?: number;
    readonly cpu?: CpuStats;
    readonly memory?: MemoryStats;
    readonly swap?: SwapStats;
    readonly io?: { readonly timeMs: number; readonly psi: Pressure };
    readonly network?: NetworkStats;
    readonly fs?: FsStats;
  };
}

const NANO = 1e9;
const MICRO = 1e6;

export function cadvisorMetrics(input: CadvisorInput): string {
  const out = new Exposition();
  for (const row of rows(input)) {
    addCpu(out, row);
    addMemory(out, row);
    addFs(out, row);
    for (const one of row.stats.network?.interfaces ?? []) addNetwork(out, row, one);
    addPressure(out, row);
    if (row.cgroup !== undefined) addSpec(out, row, row.cgroup, input.cgroups);
  }
  out.add(family.CORES, {}, input.cpus);
  out.add(family.MACHINE_MEMORY, {}, input.node.memory.capacity);
  const { swap } = input.node;
  out.add(family.MACHINE_SWAP, {}, swap && swap.usage + (swap.available ?? 0));
  return out.text();
}

function* rows({ node, pods }: CadvisorInput): Generator<Row> {
  const none = { container: '', id: '/', image: '', name: '', namespace: '', pod: '' };
  yield { labels: none, cgroup: '/', stats: node };
  for (const { ref, cgroup, containers, ...stats } of pods) {
    const labels = { ...none, id: cgroup ?? '', namespace: ref.namespace, pod: ref.name };
    yield { labels, cgroup, stats };
    for (const { name, id, image, rootfs, cgroup: own, ...usage } of containers) {
      yield {
        labels: { ...labels, container: name, id: own ?? '', image, name: id },
        cgroup: own,
        stats: { ...usage, fs: rootfs },
      };
    }
  }
}

function addCpu(out: Exposition, { labels, stats: { cpu } }: Row): void {
  if (!cpu) return;
  const { timeMs, throttling } = cpu;
  const seconds = (ns: number | undefined): number | undefined =>
    ns === undefined ? ns : ns / NANO;
  const usage = { ...labels, cpu: 'total' };
  out.add(family.CPU_USAGE, usage, seconds(cpu.usageCoreNanoSeconds), timeMs);
  out.add(family.CPU_USER, labels, seconds(cpu.userNanoSeconds), timeMs);
  out.add(family.CPU_SYSTEM, labels, seconds(cpu.systemNanoSeconds), timeMs);
  out.add(family.CFS_PERIODS, labels, throttling?.periods, timeMs);
  out.add(family.CFS_THROTTLED, labels, throttling?.throttledPeriods, timeMs);
  out.add(family.CFS_SECONDS, labels, seconds(throttling?.throttledNanoSeconds), timeMs);
}

function addMemory(out: Exposition, { labels, stats: { memory, swap } }: Row): void {
  if (!memory) return;
  const { timeMs, pageFaults, majorPageFaults } = memory;
  out.add(family.MEMORY_USAGE, labels, memory.usage, timeMs);
  out.add(family.MEMORY_WORKING_SET, labels, memory.workingSet, timeMs);
  out.add(family.MEMORY_RSS, labels, memory.rss, timeMs);
  out.add(family.MEMORY_CACHE, labels, memory.cache, timeMs);
  out.add(family.MEMORY_MAPPED_FILE, labels, memory.mappedFile, timeMs);
  out.add(family.MEMORY_SWAP, labels, swap?.usage, timeMs);
  out.add(family.MEMORY_FAILCNT, labels, memory.failures, timeMs);
  out.add(family.MEMORY_MAX, labels, memory.maxUsage, timeMs);
  const faults = (failure_type: string): Record<string, string> => ({
    ...labels,
    failure_type,
    scope: 'hierarchy',
  });
  out.add(family.MEMORY_FAILURES, faults('pgfault'), pageFaults, timeMs);
  out.add(family.MEMORY_FAILURES, faults('pgmajfault'), majorPageFaults, timeMs);
}

function addFs(out: Exposition, { labels, stats: { fs } }: Row): void {
  if (!fs) return;
  const at = { ...labels, device: '' };
  out.add(family.FS_USAGE, at, fs.used, fs.timeMs);
  out.add(family.FS_LIMIT, at, fs.capacity, fs.timeMs);
  out.add(family.FS_INODES, at, fs.inodes, fs.timeMs);
  out.add(family.FS_INODES_FREE, at, fs.inodesFree, fs.timeMs);
}

function addNetwork(out: Exposition, { labels, stats }: Row, one: InterfaceStats): void {
  const at = { ...labels, interface: one.name };
  const timeMs = stats.network?.timeMs;
  out.add(family.RX_BYTES, at, one.rxBytes, timeMs);
  out.add(family.RX_PACKETS, at, one.rxPackets, timeMs);
  out.add(family.RX_ERRORS, at, one.rxErrors, timeMs);
  out.add(family.RX_DROPPED, at, one.rxDropped, timeMs);
  out.add(family.TX_BYTES, at, one.txBytes, timeMs);
  out.add(family.TX_PACKETS, at, one.txPackets, timeMs);
  out.add(family.TX_ERRORS, at, one.txErrors, timeMs);
  out.add(family.TX_DROPPED, at, one.txDropped, timeMs);
}

function addPressure(out: Exposition, { labels, stats }: Row): void {
  const { cpu, memory, io } = stats;
  for (const [resource, psi, timeMs] of [
    ['cpu', cpu?.psi, cpu?.timeMs],
    ['memory', memory?.psi, memory?.timeMs],
    ['io', io?.psi, io?.timeMs],
  ] as const) {
    if (!psi) continue;
    out.add(family.waiting(resource), labels, psi.some.total / MICRO, timeMs);
    out.add(family.stalled(resource), labels, (psi.full?.total ?? 0) / MICRO, timeMs);
  }
}

function addSpec(
  out: Exposition,
  { labels, stats }: Row,
  cgroup: string,
  cgroups: CadvisorInput['cgroups'],
): void {
  const limits: CgroupLimits = cgroups.limits(cgroup);
  const { startTimeMs, cpu } = stats;
  out.add(family.START_TIME, labels, startTimeMs && startTimeMs / 1000);
  out.add(family.LAST_SEEN, labels, cpu && Math.floor(cpu.timeMs / 1000), cpu?.timeMs);
  out.add(family.TASKS, labels, cgroups.tasks(cgroup), cpu?.timeMs);
  out.add(family.CPU_SHARES, labels, limits.cpuShares);
  out.add(family.CPU_PERIOD, labels, limits.cpuPeriod);
  out.add(family.CPU_QUOTA, labels, limits.cpuQuota);
  // 0 is how cAdvisor says that there is no limit.
  out.add(family.MEMORY_LIMIT, labels, limits.memory ?? 0);
  out.add(family.MEMORY_SWAP_LIMIT, labels, limits.swap ?? 0);
}
