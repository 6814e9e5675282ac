/**
 * Owns: requests and limits as the kernel takes them: shares, quota, bytes, huge pages, oom_score_adj
 * (spec cri-mapping.md §4 and §9). The same arithmetic serves containers, sandboxes and pod cgroups.
 */
import type { Container, Pod, ResourceRequirements } from '../api/pod.ts';
import { isSidecar } from '../api/pod.ts';
import { isCriticalPod } from '../api/priority.ts';
import type { Amounts } from '../api/qos.ts';
import { amountValue, amountsOf, cpuMilli, podLimits, podRequests, qosClass } from '../api/qos.ts';
import { quantityMilli, quantityValue } from '../api/quantity.ts';
import type { LinuxResources } from '../cri/model.ts';
import { hugepageLimits } from './hugepages.ts';
import type { NodeFacts } from './node-facts.ts';

export const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
/** Microseconds. */
export const CPU_PERIOD = 100_000;
const MIN_QUOTA = 1000;

const GUARANTEED_SCORE = -997;
const BEST_EFFORT_SCORE = 1000;

export type ResourceFacts = Pick<
  NodeFacts,
  | 'memoryCapacity'
  | 'cpuCFSQuota'
  | 'cgroupVersion'
  | 'hugepageSizes'
  | 'swapController'
  | 'swapCapacity'
  | 'limitedSwap'
  | 'staticPodEviction'
  | 'singleProcessOOMKill'
>;

export function milliToShares(milli: number): number {
  const shares = Math.trunc((milli * SHARES_PER_CPU) / 1000);
  return Math.min(Math.max(shares, MIN_SHARES), MAX_SHARES);
}

/** Microseconds of each period; 0: no limit. */
export function milliToQuota(milli: number): number {
  return milli === 0 ? 0 : Math.max(Math.trunc((milli * CPU_PERIOD) / 1000), MIN_QUOTA);
}

/** cgroup v2's `cpu.weight` for v1's shares. */
export function sharesToWeight(shares: number): number {
  if (shares >= MAX_SHARES) return 10_000;
  return 1 + Math.trunc((Math.max(shares - MIN_SHARES, 0) * 9999) / (MAX_SHARES - MIN_SHARES));
}

interface Wanted {
  /** Millicores; undefined: the limit stands for the request. */
  cpuRequest: number | undefined;
  cpuLimit: number;
  memoryLimit: number;
}

function linuxResources(wanted: Wanted, facts: ResourceFacts): LinuxResources {
  const { cpuRequest, cpuLimit, memoryLimit } = wanted;
  const resources: LinuxResources = { cpuShares: milliToShares(cpuRequest ?? cpuLimit) };
  if (memoryLimit !== 0) resources.memoryLimitInBytes = boundedBytes(memoryLimit);
  if (facts.cpuCFSQuota) {
    const quota = milliToQuota(cpuLimit);
    if (quota !== 0) resources.cpuQuota = quota;
    resources.cpuPeriod = CPU_PERIOD;
  }
  if (facts.cgroupVersion === 2 && !facts.singleProcessOOMKill) {
    resources.unified = { 'memory.oom.group': '1' };
  }
  return resources;
}

/**
 * Unlike the kubelet: a limit beyond 2^53 bytes is cut there, not wrapped to a negative number, which the
 * kernel would take for "unlimited" or refuse.
 */
export function boundedBytes(amount: number): number {
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
}

/** What the pod as a whole asks for, without overhead: for the sandbox. */
export function sandboxResources(pod: Pod, facts: ResourceFacts): LinuxResources {
  const options = { withoutOverhead: true };
  return amountsResources(podRequests(pod, options), podLimits(pod, options), facts);
}

/** undefined without overhead. */
export function overheadResources(pod: Pod, facts: ResourceFacts): LinuxResources | undefined {
  if (!pod.spec.overhead) return undefined;
  const overhead = amountsOf(pod.spec.overhead);
  return amountsResources(overhead, overhead, facts);
}

function amountsResources(
  requests: Amounts,
  limits: Amounts,
  facts: ResourceFacts,
): LinuxResources {
  const wanted = {
    cpuRequest: requests.has('cpu') ? cpuMilli(requests) : undefined,
    cpuLimit: cpuMilli(limits),
    memoryLimit: amountValue(limits, 'memory'),
  };
  return linuxResources(wanted, facts);
}

export function containerResources(
  pod: Pod,
  container: Container,
  facts: ResourceFacts,
): LinuxResources {
  const { requests, limits } = container.resources;
  const shared: ResourceRequirements = pod.spec.resources ?? {};
  const resources = linuxResources(
    {
      cpuRequest: requests?.cpu === undefined ? undefined : quantityMilli(requests.cpu),
      cpuLimit: quantityMilli(limits?.cpu) || quantityMilli(shared.limits?.cpu),
      memoryLimit: quantityValue(limits?.memory) || quantityValue(shared.limits?.memory),
    },
    facts,
  );
  resources.oomScoreAdj = oomScoreAdjust(pod, container, facts.memoryCapacity);
  resources.hugepageLimits = hugepageLimits(facts.hugepageSizes, limits);
  return withSwap(resources, swapOf(pod, container, facts), facts);
}

/**
 * Bytes of swap: under LimitedSwap a share like that of memory, for Burstable pods that the node can do
 * without; else none. Only cgroup v2 can say it apart from memory.
 */
function swapOf(pod: Pod, container: Container, facts: ResourceFacts): number {
  const { limitedSwap, staticPodEviction, swapCapacity, memoryCapacity } = facts;
  if (!limitedSwap || isCriticalPod(pod, staticPodEviction)) return 0;
  if (qosClass(pod) !== 'Burstable') return 0;
  const request = memoryRequest(container);
  if (request === quantityValue(container.resources.limits?.memory)) return 0;
  return Math.trunc((request / memoryCapacity) * swapCapacity);
}

function withSwap(resources: LinuxResources, swap: number, facts: ResourceFacts): LinuxResources {
  if (!facts.swapController) return resources;
  if (facts.cgroupVersion === 2) {
    return { ...resources, unified: { ...resources.unified, 'memory.swap.max': String(swap) } };
  }
  const { memoryLimitInBytes } = resources;
  if (memoryLimitInBytes === undefined) return resources;
  return { ...resources, memorySwapLimitInBytes: memoryLimitInBytes };
}

/** Who the kernel kills first when memory runs out: more is sooner. */
export function oomScoreAdjust(pod: Pod, container: Container, memoryCapacity: number): number {
  if (pod.spec.priorityClassName === 'system-node-critical') return GUARANTEED_SCORE;
  switch (qosClass(pod)) {
    case 'Guaranteed':
      return GUARANTEED_SCORE;
    case 'BestEffort':
      return BEST_EFFORT_SCORE;
    case 'Burstable':
      return burstableScore(pod, container, memoryCapacity);
  }
}

function burstableScore(pod: Pod, container: Container, memoryCapacity: number): number {
  const extra = podLevelShare(pod);
  const score = (request: number): number =>
    1000 - Math.trunc((1000 * (request + extra)) / memoryCapacity);
  let own = score(memoryRequest(container));
  if (isSidecar(container) && pod.spec.initContainers?.some((c) => c.name === container.name)) {
    own = Math.min(own, score(Math.min(...pod.spec.containers.map(memoryRequest))));
  }
  return Math.min(Math.max(own, 1000 + GUARANTEED_SCORE), BEST_EFFORT_SCORE - 1);
}

/** What the pod-level memory request leaves over, spread over its containers. */
function podLevelShare(pod: Pod): number {
  const podLevel = quantityValue(pod.spec.resources?.requests?.memory);
  if (podLevel === 0) return 0;
  const used = amountValue(
    podRequests(pod, { withoutOverhead: true, withoutPodLevel: true }),
    'memory',
  );
  const count = pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0);
  return Math.trunc((podLevel - used) / count);
}

function memoryRequest(container: Container): number {
  return quantityValue(container.resources.requests?.memory);
}
