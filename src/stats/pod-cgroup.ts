/**
 * Owns: what the kernel says of one pod and its containers: CPU, memory, swap, tasks, pressure, network.
 * Where a cgroup is not found, what the runtime says of CPU and memory counts instead.
 */
import path from 'node:path';
import type { Pod } from '../api/pod.ts';
import type { ContainerStats as RuntimeStats, CpuUsage, MemoryUsage } from '../cri/usage.ts';
import type { Clock } from '../util/clock.ts';
import type { CgroupReader } from './cgroup.ts';
import { known } from './known.ts';
import type { ContainerStats, CpuStats, MemoryStats, PodStats } from './model.ts';
import { readNetwork } from './network.ts';
import { runningContainers, timeOf } from './pod-source.ts';
import type { RunningContainer } from './pod-source.ts';
import type { CpuRates } from './rate.ts';

export interface PodCgroupDeps {
  readonly cgroups: CgroupReader;
  readonly rates: CpuRates;
  readonly procDir: string;
  readonly clock: Clock;
}

type Usage = Pick<ContainerStats, 'cpu' | 'memory' | 'swap' | 'io'>;

/** A pod's cgroup and those of its running containers, as found. */
export interface PodPlace {
  readonly pod: Pod;
  readonly cgroup: string | undefined;
  readonly containers: readonly (RunningContainer & { readonly cgroup: string | undefined })[];
}

const NANOSECONDS_PER_MS = 1_000_000n;

export class PodCgroupStats {
  readonly #deps: PodCgroupDeps;

  constructor(deps: PodCgroupDeps) {
    this.#deps = deps;
  }

  /** undefined for a pod that has neither a cgroup nor a running container. */
  find(pod: Pod, cgroup: string | undefined): PodPlace | undefined {
    const containers = runningContainers(pod);
    const { cgroups, clock } = this.#deps;
    const there = cgroup !== undefined && cgroups.cpu(cgroup, clock.wall()) ? cgroup : undefined;
    if (there === undefined && containers.length === 0) return undefined;
    // Runtimes spell it in their own ways: `<id>`, `cri-containerd-<id>.scope`, `crio-<id>`.
    const children = there === undefined ? [] : cgroups.children(there);
    const placed = containers.map((container) => {
      const name = children.find((child) => child.includes(container.id));
      return { ...container, cgroup: name === undefined ? undefined : `${there}/${name}` };
    });
    return { pod, cgroup: there, containers: placed };
  }

  /** Whether a rate can be told of each; takes the first sample of those where it cannot. */
  sample(places: readonly PodPlace[]): boolean {
    let ready = true;
    for (const { cgroup, containers } of places) {
      for (const at of [cgroup, ...containers.map((c) => c.cgroup)]) {
        if (at === undefined || this.#deps.rates.has(at, this.#deps.clock.monotonic())) continue;
        ready = false;
        this.#cpu(at, this.#deps.clock.wall());
      }
    }
    return ready;
  }

  /** `usage` is the runtime's word, by container id. */
  read(place: PodPlace, usage: ReadonlyMap<string, RuntimeStats>, network: boolean): PodStats {
    const { pod, cgroup } = place;
    const { name, namespace, uid } = pod.metadata;
    const tasks = cgroup === undefined ? undefined : this.#deps.cgroups.tasks(cgroup);
    const net = network ? this.#network(place) : undefined;
    return known({
      ref: { name, namespace, uid },
      cgroup,
      startTimeMs: timeOf(pod.status.startTime),
      ...(cgroup !== undefined && this.#usage(cgroup)),
      network: net,
      processCount: tasks,
      volumes: [],
      containers: place.containers.map((container) =>
        this.#container(container, usage.get(container.id)),
      ),
    });
  }

  #container(
    { name, id, image, startTimeMs, cgroup }: PodPlace['containers'][number],
    usage: RuntimeStats | undefined,
  ): ContainerStats {
    const read = cgroup === undefined ? {} : this.#usage(cgroup);
    const told = usage && read.cpu === undefined ? usageOf(usage) : {};
    return known({ name, id, image, cgroup, startTimeMs, ...told, ...read });
  }

  #usage(cgroup: string): Usage {
    const { cgroups, clock } = this.#deps;
    const timeMs = clock.wall();
    const cpu = this.#cpu(cgroup, timeMs);
    const reading = cgroups.memory(cgroup, timeMs);
    const [cpuPsi, memoryPsi, io] = (['cpu', 'memory', 'io'] as const).map((resource) =>
      cgroups.pressure(cgroup, resource),
    );
    return {
      ...(cpu && { cpu: cpuPsi ? { ...cpu, psi: cpuPsi } : cpu }),
      ...(reading && {
        memory: memoryPsi ? { ...reading.memory, psi: memoryPsi } : reading.memory,
        ...(reading.swap && { swap: reading.swap }),
      }),
      ...(io && { io: { timeMs, psi: io } }),
    };
  }

  #cpu(cgroup: string, timeMs: number): CpuStats | undefined {
    const { cgroups, rates, clock } = this.#deps;
    const cpu = cgroups.cpu(cgroup, timeMs);
    return cpu && rates.withRate(cgroup, cpu, clock.monotonic());
  }

  /** All containers of a pod share its network, so any process of any of them shows it. */
  #network({ pod, containers }: PodPlace): PodStats['network'] {
    if (pod.spec.hostNetwork === true) return undefined;
    const { cgroups, procDir, clock } = this.#deps;
    for (const { cgroup } of containers) {
      for (const pid of cgroup === undefined ? [] : cgroups.pids(cgroup).slice(0, 2)) {
        const network = readNetwork(path.join(procDir, String(pid)), clock.wall());
        if (network) return network;
      }
    }
    return undefined;
  }
}

function usageOf({ cpu, memory }: RuntimeStats): Usage {
  const cpuStats = cpu && cpuOf(cpu);
  const memoryStats = memory && memoryOf(memory);
  return {
    ...(cpuStats && { cpu: cpuStats }),
    ...(memoryStats && { memory: memoryStats }),
  };
}

export function cpuOf(cpu: CpuUsage): CpuStats | undefined {
  const { usageCoreNanoSeconds, usageNanoCores } = cpu;
  if (usageCoreNanoSeconds === undefined) return undefined;
  return known({ timeMs: msOf(cpu.timestamp), usageCoreNanoSeconds, usageNanoCores });
}

export function memoryOf(memory: MemoryUsage): MemoryStats | undefined {
  const workingSet = memory.workingSetBytes;
  if (workingSet === undefined) return undefined;
  const available = memory.availableBytes;
  return known({
    timeMs: msOf(memory.timestamp),
    usage: memory.usageBytes ?? workingSet,
    workingSet,
    available: available === 0 ? undefined : available,
    rss: memory.rssBytes,
    pageFaults: memory.pageFaults,
    majorPageFaults: memory.majorPageFaults,
  });
}

export function msOf(nanoSeconds: bigint): number {
  return Number(nanoSeconds / NANOSECONDS_PER_MS);
}
