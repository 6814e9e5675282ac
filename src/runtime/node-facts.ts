/**
 * Owns: what config building needs to know of the node, read once at start. Everything above works
 * on these facts, so a test (or `islet render`) can describe any node.
 * Invariant: plain data, never changed after it was read.
 * Leaves to others: node addresses (node-ip.ts), what the node has of each resource (node-amounts.ts).
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Config } from '../config/model.ts';
import type { CgroupVersion } from './cgroup-version.ts';
import { cgroupVersion } from './cgroup-version.ts';
import type { NodeAmounts } from './node-amounts.ts';
import { nodeAmounts, readCapacity } from './node-amounts.ts';
import type { NodeInterfaces } from './node-ip.ts';
import { detectNodeIps } from './node-ip.ts';

export interface NodeFacts {
  readonly nodeName: string;
  /** Addresses of the node, primary first; never empty. */
  readonly nodeIps: readonly string[];
  /** Bytes (MemTotal). */
  readonly memoryCapacity: number;
  readonly capacity: NodeAmounts;
  /** Capacity less reservations and hard eviction thresholds (spec eviction.md §9). */
  readonly allocatable: NodeAmounts;
  /** Capacity less reservations only: what all pods together may use. */
  readonly podsLimit: NodeAmounts;
  readonly cgroupVersion: CgroupVersion;
  /** Kernel huge page sizes in bytes, ascending. */
  readonly hugepageSizes: readonly number[];
  /** Whether cgroups can limit swap: v1 swap accounting, or v2 memory.swap.max. */
  readonly swapController: boolean;
  /** Bytes (SwapTotal). */
  readonly swapCapacity: number;
  /** Whether pods may swap at all (memorySwap.swapBehavior). */
  readonly limitedSwap: boolean;
  /** False: every static pod is critical. */
  readonly staticPodEviction: boolean;
  /** `/sys/devices/system/cpu/cpuN/thermal_throttle` directories that exist. */
  readonly thermalThrottlePaths: readonly string[];
  readonly selinuxEnabled: boolean;
  /** '' means: no resolver file, loopback DNS. */
  readonly resolvConf: string;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly seccompDefault: boolean;
  /** Whether containers may choose their stop signal (feature gate ContainerStopSignals). */
  readonly stopSignals: boolean;
  readonly cpuCFSQuota: boolean;
  /** False: an out-of-memory kill takes the whole container; only cgroup v2 can. */
  readonly singleProcessOOMKill: boolean;
  /** <= 0: no limit. */
  readonly podPidsLimit: number;
}

/** Where the facts are read; tests point these at recorded trees. */
export interface NodeRoots {
  readonly proc: string;
  readonly sys: string;
  readonly cgroup: string;
  readonly interfaces: () => NodeInterfaces;
}

export const systemRoots: NodeRoots = {
  proc: '/proc',
  sys: '/sys',
  cgroup: '/sys/fs/cgroup',
  interfaces: () => os.networkInterfaces(),
};

/** What the machine itself says; the rest of the facts is configuration. */
export type MachineFacts = Pick<
  NodeFacts,
  | 'nodeIps'
  | 'capacity'
  | 'cgroupVersion'
  | 'hugepageSizes'
  | 'swapController'
  | 'swapCapacity'
  | 'thermalThrottlePaths'
  | 'selinuxEnabled'
>;

/** @throws IsletError `invalid` when reservations exceed what the node has. */
export function readNodeFacts(config: Config, roots: NodeRoots = systemRoots): NodeFacts {
  return nodeFacts(config, readMachine(config, roots));
}

/** @throws IsletError `invalid` when reservations exceed what the machine has. */
export function nodeFacts(config: Config, machine: MachineFacts): NodeFacts {
  const { kubelet } = config;
  return {
    nodeName: config.nodeName,
    ...machine,
    nodeIps: config.nodeIps.length > 0 ? config.nodeIps : machine.nodeIps,
    memoryCapacity: machine.capacity.memory,
    ...nodeAmounts(config, machine.capacity),
    resolvConf: kubelet.resolvConf,
    clusterDNS: kubelet.clusterDNS,
    clusterDomain: kubelet.clusterDomain,
    rootDir: config.rootDir,
    podLogsDir: kubelet.podLogsDir,
    seccompDefault: kubelet.seccompDefault,
    stopSignals: kubelet.featureGates['ContainerStopSignals'] === true,
    cpuCFSQuota: kubelet.cpuCFSQuota,
    singleProcessOOMKill: kubelet.singleProcessOOMKill ?? machine.cgroupVersion === 1,
    podPidsLimit: kubelet.podPidsLimit,
    limitedSwap: kubelet.swapBehavior === 'LimitedSwap',
    staticPodEviction: config.islet.staticPodEviction,
  };
}

export function readMachine(config: Config, roots: NodeRoots = systemRoots): MachineFacts {
  const version = cgroupVersion(roots.cgroup);
  const hugepages = readHugepages(path.join(roots.sys, 'kernel/mm/hugepages'));
  return {
    nodeIps: config.nodeIps.length > 0 ? config.nodeIps : detectNodeIps(roots),
    capacity: readCapacity(config, roots, hugepages),
    cgroupVersion: version,
    hugepageSizes: [...hugepages.keys()],
    swapController: hasSwapController(roots, version),
    swapCapacity: swapTotal(path.join(roots.proc, 'meminfo')),
    thermalThrottlePaths: thermalThrottle(path.join(roots.sys, 'devices/system/cpu')),
    selinuxEnabled: fs.existsSync(path.join(roots.sys, 'fs/selinux/enforce')),
  };
}

/** Pages that exist, by page size in bytes, ascending. */
function readHugepages(dir: string): Map<number, number> {
  const sizes = namesIn(dir)
    .map((name) => Number(/^hugepages-(\d+)kB$/.exec(name)?.[1]) * 1024)
    .filter((size) => size > 0)
    .sort((a, b) => a - b);
  return new Map(
    sizes.map((size) => {
      const file = path.join(dir, `hugepages-${size / 1024}kB`, 'nr_hugepages');
      return [size, Number(readText(file)) || 0];
    }),
  );
}

/** Bytes; 0 without swap. */
function swapTotal(file: string): number {
  return Number(/^SwapTotal:\s+(\d+) kB$/m.exec(readText(file))?.[1] ?? 0) * 1024;
}

/** On v2 the root has no memory.swap.max, so the agent's own cgroup is asked. */
function hasSwapController(roots: NodeRoots, version: CgroupVersion): boolean {
  if (version === 1) {
    return fs.existsSync(path.join(roots.cgroup, 'memory/memory.memsw.limit_in_bytes'));
  }
  const own = /^0::(.*)$/m.exec(readText(path.join(roots.proc, 'self/cgroup')))?.[1] ?? '/';
  return fs.existsSync(path.join(roots.cgroup, own, 'memory.swap.max'));
}

/** As paths of the running system, wherever `dir` was recorded. */
function thermalThrottle(dir: string): string[] {
  return namesIn(dir)
    .filter((name) => /^cpu\d+$/.test(name))
    .filter((name) => fs.existsSync(path.join(dir, name, 'thermal_throttle')))
    .sort((a, b) => Number(a.slice(3)) - Number(b.slice(3)))
    .map((name) => `/sys/devices/system/cpu/${name}/thermal_throttle`);
}

function namesIn(dir: string): string[] {
  try {
    return fs.readdirSync(dir);
  } catch {
    return [];
  }
}

function readText(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
