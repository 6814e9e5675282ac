/**
 * Owns: what a pod as a whole asks for: its QoS class and the sums of its requests and limits.
 * Sums know sidecars (they run beside everything that comes after them) and pod-level resources (they
 * replace the sums of what they name). Rules: spec pod-lifecycle §12.4 and static-pods §7.1.
 * Leaves to others: turning amounts into cgroup values, and comparing them with the node.
 */
import type { Container, Pod, PodSpec, Quantity } from './pod.ts';
import { isSidecar } from './pod.ts';
import type { ParsedQuantity } from './quantity.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  milliValue,
  parseQuantity,
  value,
} from './quantity.ts';
import type { QosClass } from './status.ts';

/** Amounts by resource name, e.g. `cpu`, `memory`, `hugepages-2Mi`, `nvidia.com/gpu`. */
export type Amounts = ReadonlyMap<string, ParsedQuantity>;

type List = Record<string, Quantity> | undefined;
type Kind = 'requests' | 'limits';

export interface SumOptions {
  /** Leave `spec.overhead` out, as the sandbox's own resources do. */
  withoutOverhead?: boolean;
  /** Ignore `spec.resources`, to see what the containers alone add up to. */
  withoutPodLevel?: boolean;
}

/** A class already in the status wins; else it follows from cpu and memory of all containers. */
export function qosClass(pod: Pod): QosClass {
  return pod.status.qosClass ?? specQosClass(pod.spec);
}

export function specQosClass(spec: PodSpec): QosClass {
  const sources = spec.resources
    ? [spec.resources]
    : [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map((c) => c.resources);
  const requests = new Map<string, ParsedQuantity>();
  const limits = new Map<string, ParsedQuantity>();
  let bothLimitsEverywhere = true;
  for (const source of sources) {
    addTo(requests, computeOnly(source?.requests));
    const own = computeOnly(source?.limits);
    if (own.size < 2) bothLimitsEverywhere = false;
    addTo(limits, own);
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const equal =
    requests.size === limits.size &&
    [...requests].every(([name, amount]) => {
      const limit = limits.get(name);
      return limit !== undefined && compareQuantities(limit, amount) === 0;
    });
  return bothLimitsEverywhere && equal ? 'Guaranteed' : 'Burstable';
}

function computeOnly(list: List): Map<string, ParsedQuantity> {
  const amounts = amountsOf(list);
  for (const [name, amount] of amounts) {
    if ((name !== 'cpu' && name !== 'memory') || amount.nano <= 0n) amounts.delete(name);
  }
  return amounts;
}

/** What the scheduler's arithmetic says the pod needs, overhead included. */
export function podRequests(pod: { spec: PodSpec }, options: SumOptions = {}): Amounts {
  const sum = podSum(pod.spec, 'requests', options);
  if (!options.withoutOverhead) addTo(sum, amountsOf(pod.spec.overhead));
  return sum;
}

/** The pod's upper bounds; a resource is absent when nothing names it. Overhead widens what is there. */
export function podLimits(pod: { spec: PodSpec }, options: SumOptions = {}): Amounts {
  const sum = podSum(pod.spec, 'limits', options);
  if (!options.withoutOverhead) {
    for (const [name, amount] of amountsOf(pod.spec.overhead)) {
      const limit = sum.get(name);
      if (limit && limit.nano !== 0n) sum.set(name, addQuantities(limit, amount));
    }
  }
  return sum;
}

function podSum(spec: PodSpec, kind: Kind, options: SumOptions): Map<string, ParsedQuantity> {
  const sum = containersSum(spec, kind);
  if (options.withoutPodLevel) return sum;
  for (const [name, amount] of amountsOf(spec.resources?.[kind])) {
    if (isPodLevelResource(name)) sum.set(name, amount);
  }
  return sum;
}

/** Resources that `spec.resources` may hold. */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/**
 * max(regular containers + sidecars, the highest moment of the init phase). While an init container
 * runs, the sidecars before it run too.
 */
function containersSum(spec: PodSpec, kind: Kind): Map<string, ParsedQuantity> {
  const sum = new Map<string, ParsedQuantity>();
  for (const container of spec.containers ?? []) addTo(sum, listOf(container, kind));
  const sidecars = new Map<string, ParsedQuantity>();
  const peak = new Map<string, ParsedQuantity>();
  for (const container of spec.initContainers ?? []) {
    const own = listOf(container, kind);
    if (isSidecar(container)) {
      addTo(sum, own);
      addTo(sidecars, own);
      raiseTo(peak, sidecars);
    } else {
      addTo(own, sidecars);
      raiseTo(peak, own);
    }
  }
  raiseTo(sum, peak);
  return sum;
}

function listOf(container: Container, kind: Kind): Map<string, ParsedQuantity> {
  return amountsOf(container.resources?.[kind]);
}

/** The list as amounts; what is no quantity is left out (decoding has refused it before). */
export function amountsOf(list: List): Map<string, ParsedQuantity> {
  const amounts = new Map<string, ParsedQuantity>();
  for (const [name, text] of Object.entries(list ?? {})) {
    const amount = parseQuantity(text);
    if (amount) amounts.set(name, amount);
  }
  return amounts;
}

function addTo(sum: Map<string, ParsedQuantity>, more: Amounts): void {
  for (const [name, amount] of more) {
    const before = sum.get(name);
    sum.set(name, before ? addQuantities(before, amount) : amount);
  }
}

function raiseTo(sum: Map<string, ParsedQuantity>, least: Amounts): void {
  for (const [name, amount] of least) {
    const before = sum.get(name);
    if (!before || compareQuantities(amount, before) > 0) sum.set(name, amount);
  }
}

/** Millicores of `cpu`; 0 when absent. */
export function cpuMilli(amounts: Amounts): number {
  const amount = amounts.get('cpu');
  return amount ? milliValue(amount) : 0;
}

/** Whole units of a resource, e.g. bytes of `memory`; 0 when absent. */
export function amountValue(amounts: Amounts, name: string): number {
  const amount = amounts.get(name);
  return amount ? value(amount) : 0;
}

/** Amounts as the API writes them. */
export function amountsText(amounts: Amounts): Record<string, Quantity> {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));
}
