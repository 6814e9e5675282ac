/**
 * Owns: what a node has too little of for a pod (spec static-pods.md §7.1). Pure.
 * A pod that requests nothing only takes one of the places; extended resources, of which this node has
 * none, are not looked at, as in the kubelet.
 * Leaves to others: making room (preemption.ts), and what a shortage is called (admission-predicates.ts).
 */
import type { Pod } from '../api/pod.ts';
import { amountValue, cpuMilli, podRequests } from '../api/qos.ts';
import type { Amounts } from '../api/qos.ts';
import { hugepageSize } from '../runtime/hugepages.ts';
import type { NodeAmounts } from '../runtime/node-amounts.ts';

/** What pods may request of this node; `ephemeralStorage` 0: not accounted. */
export type Allocatable = Pick<
  NodeAmounts,
  'cpuMilli' | 'memory' | 'ephemeralStorage' | 'hugepages'
>;

/** Millicores of `cpu`, whole units of the others. */
export interface Shortage {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

interface Room {
  readonly allocatable: Allocatable;
  readonly maxPods: number;
}

/** In the kubelet's order: pods, cpu, memory, ephemeral-storage, then the others by name. */
export function shortages(pod: Pod, others: readonly Pod[], room: Room): Shortage[] {
  const found = [short('pods', pod, others, room.maxPods)];
  for (const resource of requestedOf(pod)) {
    const capacity = capacityOf(resource, room.allocatable);
    if (capacity !== undefined) found.push(short(resource, pod, others, capacity));
  }
  return found.filter((one) => one !== undefined);
}

/** How much of a resource a pod takes; every pod takes one of `pods`. */
export function requestOf(pod: Pod, resource: string): number {
  if (resource === 'pods') return 1;
  const amounts = podRequests(pod);
  const amount = resource === 'cpu' ? cpuMilli(amounts) : amountValue(amounts, resource);
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
}

function short(
  resource: string,
  pod: Pod,
  others: readonly Pod[],
  capacity: number,
): Shortage | undefined {
  const requested = requestOf(pod, resource);
  const used = others.reduce((sum, other) => sum + requestOf(other, resource), 0);
  if (requested <= 0 || requested <= capacity - used) return undefined;
  return { resource, requested, used, capacity };
}

const FIRST = ['cpu', 'memory', 'ephemeral-storage'];

function requestedOf(pod: Pod): string[] {
  const amounts: Amounts = podRequests(pod);
  const others = [...amounts.keys()].filter((name) => !FIRST.includes(name)).sort();
  return [...FIRST.filter((name) => amounts.has(name)), ...others];
}

/** undefined: the node does not count it. */
function capacityOf(resource: string, allocatable: Allocatable): number | undefined {
  switch (resource) {
    case 'cpu':
      return allocatable.cpuMilli;
    case 'memory':
      return allocatable.memory;
    case 'ephemeral-storage':
      return allocatable.ephemeralStorage || undefined;
  }
  const size = hugepageSize(resource);
  if (size !== undefined) return allocatable.hugepages.get(size) ?? 0;
  // Of Kubernetes' own names none else is there; those of others are nobody's here.
  return resource.includes('kubernetes.io/') ? 0 : undefined;
}
