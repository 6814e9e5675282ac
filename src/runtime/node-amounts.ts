/**
 * Owns: how much of each resource the node has, how much of it is for pods, and how much pods are told
 * (spec eviction.md §9).
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { thresholdAmount } from '../config/eviction.ts';
import type { Config } from '../config/model.ts';
import { quantityMilli, quantityValue } from '../api/quantity.ts';
import { IsletError } from '../util/errors.ts';

export interface NodeAmounts {
  readonly cpuMilli: number;
  /** Bytes. */
  readonly memory: number;
  /** Bytes; 0 when local storage is not accounted. */
  readonly ephemeralStorage: number;
  readonly pods: number;
  /** Process ids. */
  readonly pids: number;
  /** Bytes by page size in bytes. */
  readonly hugepages: ReadonlyMap<number, number>;
}

export interface AllAmounts {
  readonly capacity: NodeAmounts;
  readonly allocatable: NodeAmounts;
  readonly podsLimit: NodeAmounts;
}

type Thresholds = Readonly<Record<string, string>>;

/** @throws IsletError `invalid` when a reservation exceeds what the node has. */
export function nodeAmounts(config: Config, capacity: NodeAmounts): AllAmounts {
  const { systemReserved, kubeReserved, eviction } = config.kubelet;
  const podsLimit = reserve(capacity, [systemReserved, kubeReserved]);
  const { hard } = eviction;
  const pinned = [...capacity.hugepages.values()].reduce((sum, bytes) => sum + bytes, 0);
  const memory = podsLimit.memory - reserved(hard['memory.available'], capacity.memory) - pinned;
  const storage =
    podsLimit.ephemeralStorage - reserved(hard['nodefs.available'], capacity.ephemeralStorage);
  const allocatable = {
    ...podsLimit,
    memory: Math.max(memory, 0),
    ephemeralStorage: Math.max(storage, 0),
  };
  return { capacity, allocatable, podsLimit };
}

export function readCapacity(
  config: Config,
  roots: { proc: string; sys: string },
  hugepages: ReadonlyMap<number, number>,
): NodeAmounts {
  const { localStorageCapacityIsolation } = config.kubelet;
  const cpus = cpuCount(path.join(roots.sys, 'devices/system/cpu/online'));
  return {
    cpuMilli: cpus * 1000,
    memory: memTotal(path.join(roots.proc, 'meminfo')),
    ephemeralStorage: localStorageCapacityIsolation ? diskSize(config.rootDir) : 0,
    pods: podCapacity(config, cpus),
    pids: Math.min(
      readNumber(path.join(roots.proc, 'sys/kernel/pid_max')),
      readNumber(path.join(roots.proc, 'sys/kernel/threads-max')),
    ),
    hugepages: new Map([...hugepages].map(([size, count]) => [size, size * count])),
  };
}

export function podCapacity({ kubelet }: Config, cpus: number): number {
  const podsPerCore = Number(kubelet.rest.podsPerCore ?? 0);
  return podsPerCore > 0 ? Math.min(kubelet.maxPods, podsPerCore * cpus) : kubelet.maxPods;
}

function reserve(capacity: NodeAmounts, reservations: readonly Thresholds[]): NodeAmounts {
  const less = (name: string, have: number, read: (text: string | undefined) => number): number => {
    const wanted = reservations.reduce((sum, list) => sum + read(list[name]), 0);
    if (wanted <= have) return have - wanted;
    throw new IsletError(
      'invalid',
      `invalid Node Allocatable configuration. Resource "${name}" has a reservation of ${wanted} ` +
        `but capacity of ${have}. Expected capacity >= reservation.`,
    );
  };
  const { ephemeralStorage } = capacity;
  return {
    ...capacity,
    cpuMilli: less('cpu', capacity.cpuMilli, quantityMilli),
    memory: less('memory', capacity.memory, quantityValue),
    ephemeralStorage:
      ephemeralStorage === 0 ? 0 : less('ephemeral-storage', ephemeralStorage, quantityValue),
    pids: less('pid', capacity.pids, quantityValue),
  };
}

function reserved(threshold: string | undefined, capacity: number): number {
  return threshold === undefined ? 0 : (thresholdAmount(threshold, capacity) ?? 0);
}

/** `0-3,6` is five. */
function cpuCount(file: string): number {
  let count = 0;
  for (const [, first, last] of readText(file).matchAll(/(\d+)(?:-(\d+))?/g)) {
    count += Number(last ?? first) - Number(first) + 1;
  }
  return count > 0 ? count : os.cpus().length;
}

function memTotal(file: string): number {
  const kib = /^MemTotal:\s+(\d+) kB$/m.exec(readText(file))?.[1];
  return kib === undefined ? os.totalmem() : Number(kib) * 1024;
}

/** Of the file system that the agent's data is on, or will be on. */
function diskSize(dir: string): number {
  for (let at = path.resolve(dir); ; at = path.dirname(at)) {
    try {
      const { bsize, blocks } = fs.statfsSync(at);
      return bsize * blocks;
    } catch {
      if (at === path.dirname(at)) return 0;
    }
  }
}

function readNumber(file: string): number {
  const value = Number(readText(file).trim());
  return value > 0 ? value : Number.MAX_SAFE_INTEGER;
}

function readText(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
