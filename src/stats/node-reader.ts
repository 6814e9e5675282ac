/**
 * Owns: the usage of the node as a whole. Everything but the place of the images comes from files of the
 * kernel, so the node's numbers do not depend on a runtime that answers.
 * Invariant: cheap; the runtime is asked for its image file system at most every IMAGE_FS_MS, and never
 * waited for when it has answered once.
 */
import path from 'node:path';
import type { Clock } from '../util/clock.ts';
import { IsletError } from '../util/errors.ts';
import type { CgroupReader } from './cgroup.ts';
import { readFileSystem } from './file-system.ts';
import type { ImageFs } from './image-fs.ts';
import { bootTimeMs, readMachine, readPids } from './machine.ts';
import type { Machine } from './machine.ts';
import type { CpuStats, MemoryStats, NodeStats, SystemContainerStats } from './model.ts';
import { defaultInterface, readNetwork } from './network.ts';
import { readPressure } from './pressure.ts';
import type { PressureResource } from './pressure.ts';
import type { CpuRates } from './rate.ts';
import { ownStats } from './self.ts';

export interface NodeReaderDeps {
  readonly rootDir: string;
  /** `/proc`; tests point at recorded trees. */
  readonly procDir: string;
  readonly cgroups: CgroupReader;
  /** Path of the cgroup above all pods; undefined where pods have none of their own. */
  readonly podsCgroup: string | undefined;
  readonly imageFs: ImageFs;
  readonly rates: CpuRates;
  readonly clock: Clock;
}

export const NODE_CGROUP = '/';

export class NodeReader {
  readonly #deps: NodeReaderDeps;

  constructor(deps: NodeReaderDeps) {
    this.#deps = deps;
  }

  /** The cgroups whose CPU rates are shown. */
  rated(): string[] {
    const { podsCgroup } = this.#deps;
    return podsCgroup === undefined ? [NODE_CGROUP] : [NODE_CGROUP, podsCgroup];
  }

  /** @throws IsletError `failed` when the node's memory or its root directory cannot be measured. */
  async read(signal: AbortSignal): Promise<NodeStats> {
    const { rootDir, procDir, clock, imageFs } = this.#deps;
    const timeMs = clock.wall();
    const machine = readMachine(procDir);
    const memory = this.#memory(machine, timeMs);
    const [fs, images] = await Promise.all([
      readFileSystem(rootDir, timeMs),
      imageFs.read(timeMs, signal),
    ]);
    if (!fs) throw new IsletError('failed', `the file system of ${rootDir} cannot be measured`);
    const cpu = this.#cpu(NODE_CGROUP, timeMs);
    const io = this.#pressure('io');
    const swap = machine.swapCapacity - machine.swapFree;
    const network = readNetwork(procDir, timeMs, defaultInterface(procDir));
    return {
      startTimeMs: bootTimeMs(procDir),
      ...(cpu && { cpu: this.#withPressure(cpu, 'cpu') }),
      memory: this.#withPressure(memory, 'memory'),
      swap: { timeMs, usage: swap, available: machine.swapFree },
      ...(io && { io: { timeMs, psi: io } }),
      ...(network && { network }),
      fs,
      ...images,
      pid: { timeMs, ...readPids(procDir) },
      systemContainers: this.#systemContainers(timeMs),
    };
  }

  #memory(machine: Machine, timeMs: number): NodeStats['memory'] {
    const reading = this.#deps.cgroups.memory(NODE_CGROUP, timeMs)?.memory;
    const capacity = machine.memoryCapacity;
    if (!reading || capacity === 0) {
      throw new IsletError('failed', "the node's memory cannot be measured");
    }
    return { ...reading, capacity, available: Math.max(0, capacity - reading.workingSet) };
  }

  #cpu(cgroup: string, timeMs: number): CpuStats | undefined {
    const { cgroups, rates, clock } = this.#deps;
    const cpu = cgroups.cpu(cgroup, timeMs);
    return cpu && rates.withRate(cgroup, cpu, clock.monotonic());
  }

  #pressure(resource: PressureResource): ReturnType<typeof readPressure> {
    return readPressure(path.join(this.#deps.procDir, 'pressure', resource));
  }

  #withPressure<T extends CpuStats | MemoryStats>(stats: T, resource: PressureResource): T {
    const psi = this.#pressure(resource);
    return psi ? { ...stats, psi } : stats;
  }

  #systemContainers(timeMs: number): SystemContainerStats[] {
    const { cgroups, podsCgroup, rates, clock } = this.#deps;
    const own = ownStats(timeMs, rates, clock);
    if (podsCgroup === undefined) return [own];
    const cpu = this.#cpu(podsCgroup, timeMs);
    const memory = cgroups.memory(podsCgroup, timeMs)?.memory;
    return [own, { name: 'pods', ...(cpu && { cpu }), ...(memory && { memory }) }];
  }
}
