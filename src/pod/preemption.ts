/**
 * Owns: which pods make room for a critical one (spec static-pods.md §7.3). Pure.
 * Unlike the kubelet: to which every static pod is critical, a static pod without a system priority can be
 * preempted.
 * Leaves to others: ending the victims (manager.ts) and asking again when they have ended (admission-gate.ts).
 */
import type { Pod } from '../api/pod.ts';
import { isCriticalPod } from '../api/priority.ts';
import { qosClass } from '../api/qos.ts';
import type { QosClass } from '../api/status.ts';
import { requestOf } from './admission-resources.ts';
import type { Shortage } from './admission-resources.ts';

/** How much of a resource has to become free. */
export interface Need {
  readonly resource: string;
  readonly amount: number;
}

/** `noVictims`: not even all of them together would be enough. */
export type Room =
  | { readonly kind: 'victims'; readonly victims: readonly Pod[] }
  | { readonly kind: 'noVictims'; readonly needs: readonly Need[] };

/** `pods` hold something of the node; those in `leaving` are about to give it back without being asked. */
export function roomFor(
  pod: Pod,
  short: readonly Shortage[],
  pods: readonly Pod[],
  options: { readonly leaving: ReadonlySet<string>; readonly staticPodEviction: boolean },
): Room {
  const { leaving, staticPodEviction } = options;
  const isLeaving = (other: Pod): boolean => leaving.has(other.metadata.uid);
  const needs = short.map(({ resource, requested, used, capacity }) => ({
    resource,
    amount: requested - (capacity - used),
  }));
  const open = less(needs, pods.filter(isLeaving));
  const may = pods.filter((o) => !isLeaving(o) && isPreemptable(pod, o, staticPodEviction));
  const missing = less(open, may);
  if (missing.length > 0) return { kind: 'noVictims', needs: missing };
  return { kind: 'victims', victims: chosen(open, may) };
}

function isPreemptable(pod: Pod, victim: Pod, staticPodEviction: boolean): boolean {
  if (!isCriticalPod(pod, staticPodEviction)) return false;
  if (!isCriticalPod(victim, staticPodEviction)) return true;
  const [own, other] = [pod.spec.priority, victim.spec.priority];
  return own !== undefined && other !== undefined && own > other;
}

/** The better a class is served, the fewer of it: each gives only what all lesser ones cannot. */
function chosen(needs: readonly Need[], may: readonly Pod[]): Pod[] {
  const of = (qos: QosClass): Pod[] => may.filter((pod) => qosClass(pod) === qos);
  const [bestEffort, burstable] = [of('BestEffort'), of('Burstable')];
  const first = nearest(of('Guaranteed'), less(needs, [...bestEffort, ...burstable]));
  const second = nearest(burstable, less(needs, [...bestEffort, ...first]));
  const third = nearest(bestEffort, less(needs, [...second, ...first]));
  return [...third, ...second, ...first];
}

/** One after the other the pod that comes closest to what is still needed. */
function nearest(pods: readonly Pod[], needs: readonly Need[]): Pod[] {
  const left = [...pods];
  const taken: Pod[] = [];
  let open = needs;
  while (open.length > 0 && left.length > 0) {
    const still = open;
    left.sort((a, b) => distance(still, a) - distance(still, b) || bySize(a, b));
    taken.push(...left.splice(0, 1));
    open = less(needs, taken);
  }
  return taken;
}

/** 0: covers everything; each need counts the same, whatever its unit. */
function distance(needs: readonly Need[], pod: Pod): number {
  return needs.reduce((sum, { resource, amount }) => {
    const rest = Math.max(0, amount - requestOf(pod, resource));
    return sum + (rest / amount) ** 2;
  }, 0);
}

function bySize(a: Pod, b: Pod): number {
  const by = (resource: string): number => requestOf(a, resource) - requestOf(b, resource);
  return by('memory') || by('cpu');
}

/** What is still needed once `pods` have gone. */
function less(needs: readonly Need[], pods: readonly Pod[]): Need[] {
  return needs
    .map(({ resource, amount }) => ({
      resource,
      amount: pods.reduce((rest, pod) => rest - requestOf(pod, resource), amount),
    }))
    .filter(({ amount }) => amount > 0);
}
