/**
 * Owns: the eviction signals (spec eviction.md §1): what each measures, as read from the statistics of
 * the node.
 * Invariant: a signal that cannot be measured is absent, and a threshold on it is then never met.
 */
import type { FsStats, NodeStats } from '../stats/model.ts';

export type Signal =
  | 'memory.available'
  | 'allocatableMemory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'containerfs.available'
  | 'containerfs.inodesFree'
  | 'pid.available';

export type EvictionResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';
export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

export interface SignalMeaning {
  readonly resource: EvictionResource;
  readonly condition: PressureCondition;
}

const MEMORY: SignalMeaning = { resource: 'memory', condition: 'MemoryPressure' };
const DISK: SignalMeaning = { resource: 'ephemeral-storage', condition: 'DiskPressure' };
const INODES: SignalMeaning = { resource: 'inodes', condition: 'DiskPressure' };

export const SIGNALS: Readonly<Record<Signal, SignalMeaning>> = {
  'memory.available': MEMORY,
  'allocatableMemory.available': MEMORY,
  'nodefs.available': DISK,
  'nodefs.inodesFree': INODES,
  'imagefs.available': DISK,
  'imagefs.inodesFree': INODES,
  'containerfs.available': DISK,
  'containerfs.inodesFree': INODES,
  'pid.available': { resource: 'pids', condition: 'PIDPressure' },
};

/** In the order in which a message names them. */
export const CONDITIONS: readonly PressureCondition[] = [
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
];

export interface Observation {
  readonly available: number;
  readonly capacity: number;
  /** Wall milliseconds of the measurement. */
  readonly timeMs: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

/** What lies on which file system: it decides what a disk signal can be answered with (§4, §5). */
export type DiskLayout = 'one' | 'imagefs' | 'split';

export function isSignal(name: string): name is Signal {
  return Object.hasOwn(SIGNALS, name);
}

export function observationsOf(node: NodeStats): Observations {
  const out = new Map<Signal, Observation>();
  const { memory, pid, fs, imageFs, containerFs } = node;
  out.set('memory.available', pick(memory.available, memory.capacity, memory.timeMs));
  const pods = node.systemContainers.find(({ name }) => name === 'pods')?.memory;
  if (pods?.available !== undefined) {
    const capacity = pods.available + pods.workingSet;
    out.set('allocatableMemory.available', pick(pods.available, capacity, pods.timeMs));
  }
  addFileSystem(out, 'nodefs', fs);
  if (imageFs) addFileSystem(out, 'imagefs', imageFs);
  const writable = containerFs ?? imageFs;
  if (writable) addFileSystem(out, 'containerfs', writable);
  out.set('pid.available', pick(pid.max - pid.current, pid.max, pid.timeMs));
  return out;
}

/** `one` until the runtime has told where its images are. */
export function diskLayoutOf({ fs, imageFs, containerFs }: NodeStats): DiskLayout {
  if (!imageFs || imageFs.device === fs.device) return 'one';
  return containerFs && containerFs.device !== imageFs.device ? 'split' : 'imagefs';
}

function addFileSystem(
  out: Map<Signal, Observation>,
  name: 'nodefs' | 'imagefs' | 'containerfs',
  { available, capacity, inodesFree, inodes, timeMs }: FsStats,
): void {
  if (available !== undefined && capacity !== undefined)
    out.set(`${name}.available`, pick(available, capacity, timeMs));
  // Some file systems (btrfs, overlay of one) count no inodes: 0 of 0 is not a shortage.
  if (inodesFree !== undefined && inodes)
    out.set(`${name}.inodesFree`, pick(inodesFree, inodes, timeMs));
}

function pick(available: number, capacity: number, timeMs: number): Observation {
  return { available, capacity, timeMs };
}
