/**
 * Owns: how much each level of the tree may use: kubepods, its QoS classes, one pod
 * (spec cri-mapping.md §6). Pure.
 * Leaves to others: which file says so in which cgroup version (cgroup-settings.ts).
 */
import type { Container, Pod } from '../api/pod.ts';
import { amountValue, cpuMilli, podLimits, podRequests, qosClass } from '../api/qos.ts';
import { quantityMilli, quantityValue } from '../api/quantity.ts';
import type { QosClass } from '../api/status.ts';
import { hugepageSize } from '../runtime/hugepages.ts';
import type { NodeFacts } from '../runtime/node-facts.ts';
import {
  boundedBytes,
  CPU_PERIOD,
  MIN_SHARES,
  milliToQuota,
  milliToShares,
} from '../runtime/resources.ts';

/** What a cgroup is limited to; what is undefined is left as it is. */
export interface CgroupLimits {
  readonly cpuShares?: number;
  /** Microseconds in each `CPU_PERIOD`; -1: none. */
  readonly cpuQuota?: number;
  readonly cpuPeriod?: number;
  /** Bytes. */
  readonly memory?: number;
  readonly pids?: number;
  /** Bytes by page size in bytes; Infinity: unlimited. */
  readonly hugepages?: ReadonlyMap<number, number>;
}

export type LimitFacts = Pick<
  NodeFacts,
  'capacity' | 'podsLimit' | 'hugepageSizes' | 'cpuCFSQuota' | 'podPidsLimit'
>;

/**
 * The kubepods level. Not enforced: pods only get their weight against the rest of the system.
 * The eviction threshold is not subtracted, so that eviction acts before the kernel does.
 */
export function podsLimits(facts: LimitFacts, enforced: boolean): CgroupLimits {
  if (!enforced) return { cpuShares: milliToShares(facts.capacity.cpuMilli) };
  const { cpuMilli: cpu, memory, pids, hugepages } = facts.podsLimit;
  return {
    cpuShares: milliToShares(cpu),
    memory,
    ...(Number.isSafeInteger(pids) && pids < Number.MAX_SAFE_INTEGER && { pids }),
    hugepages,
  };
}

/** The level of a QoS class; `pods` are those that have not ended. */
export function qosLimits(
  qos: 'Burstable' | 'BestEffort',
  pods: readonly Pod[],
  facts: LimitFacts,
): CgroupLimits {
  const hugepages = new Map(facts.hugepageSizes.map((size) => [size, Infinity]));
  if (qos === 'BestEffort') return { cpuShares: MIN_SHARES, hugepages };
  const milli = pods
    .filter((pod) => qosClass(pod) === 'Burstable')
    .reduce((sum, pod) => sum + cpuMilli(podRequests(pod)), 0);
  return { cpuShares: milliToShares(milli), hugepages };
}

export function podCgroupLimits(pod: Pod, facts: LimitFacts): CgroupLimits {
  const requests = podRequests(pod);
  const requestedPages = new Map<number, number>();
  for (const name of requests.keys()) {
    const size = hugepageSize(name);
    if (size !== undefined) requestedPages.set(size, boundedBytes(amountValue(requests, name)));
  }
  return {
    ...computeLimits(pod, qosClass(pod), facts),
    ...(facts.podPidsLimit > 0 && { pids: facts.podPidsLimit }),
    hugepages: new Map(facts.hugepageSizes.map((size) => [size, requestedPages.get(size) ?? 0])),
  };
}

/** A sum of limits means something only when every container has one, or the pod itself. */
function computeLimits(pod: Pod, qos: QosClass, facts: LimitFacts): CgroupLimits {
  if (qos === 'BestEffort') return { cpuShares: MIN_SHARES };
  const limits = podLimits(pod);
  const all = qos === 'Guaranteed';
  const quota = facts.cpuCFSQuota ? milliToQuota(cpuMilli(limits)) : -1;
  const memory = boundedBytes(amountValue(limits, 'memory'));
  return {
    cpuShares: milliToShares(cpuMilli(podRequests(pod))),
    ...((all || declared(pod, 'cpu', quantityMilli)) && { cpuQuota: quota, cpuPeriod: CPU_PERIOD }),
    ...((all || declared(pod, 'memory', quantityValue)) && { memory }),
  };
}

function declared(
  pod: Pod,
  name: 'cpu' | 'memory',
  read: (text: string | undefined) => number,
): boolean {
  const { containers, initContainers = [], resources } = pod.spec;
  const has = (container: Container): boolean => read(container.resources.limits?.[name]) !== 0;
  return read(resources?.limits?.[name]) !== 0 || [...containers, ...initContainers].every(has);
}
