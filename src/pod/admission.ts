/**
 * Owns: whether this node takes a pod (spec static-pods.md §7): handlers in the kubelet's order, the
 * first that refuses decides. Pure: the node and the other pods are handed in.
 *
 *   2 eviction pressure    admission-pressure.ts
 *   3 sysctl allow-list    admission-sysctl.ts
 *   4 CPU, memory, device allocation   (not here yet)
 *   5 predicates           admission-predicates.ts, then amounts: admission-resources.ts
 *   6 AppArmor             admission-apparmor.ts
 *   7, 8 pod and node features         nothing that this node lacks
 *   9 node shutdown        below
 *
 * Unlike the kubelet: other pods make room only for one that nothing else keeps from starting.
 * Leaves to others: what a refusal does and when the question is asked again (admission-gate.ts).
 */
import type { Pod } from '../api/pod.ts';
import { isCriticalPod } from '../api/priority.ts';
import { AdmissionReason } from '../api/reasons.ts';
import { appArmor } from './admission-apparmor.ts';
import type { AppArmorHost } from './admission-apparmor.ts';
import { predicates } from './admission-predicates.ts';
import { evictionPressure } from './admission-pressure.ts';
import { shortages } from './admission-resources.ts';
import type { Allocatable, Shortage } from './admission-resources.ts';
import { sysctlAllowList } from './admission-sysctl.ts';
import { roomFor } from './preemption.ts';
import type { Need } from './preemption.ts';

export interface Refusal {
  readonly reason: AdmissionReason;
  readonly message: string;
}

/** What the handlers know of the node. */
export interface AdmissionNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** As `uname -r` says it, e.g. `6.1.0-13-amd64`. */
  readonly kernel: string;
  readonly maxPods: number;
  readonly allocatable: Allocatable;
  /** Pressure conditions of the node, as it reports them now. */
  readonly pressure: () => readonly string[];
  /** False: every static pod is critical, as to the kubelet. */
  readonly staticPodEviction: boolean;
  /** Names, or prefixes that end in `*`. */
  readonly allowedUnsafeSysctls: readonly string[];
  readonly appArmor: AppArmorHost;
  /** Whether the runtime can limit groups to those of the manifest. */
  readonly supplementalGroupsPolicy: () => boolean;
  readonly isShuttingDown: () => boolean;
}

export interface AdmissionInput {
  readonly pod: Pod;
  readonly node: AdmissionNode;
  /** Pods that run, start or end now, without this one. */
  readonly others: readonly Pod[];
  /** Uids of those that end now. */
  readonly leaving?: ReadonlySet<string>;
}

export type AdmissionHandler = (input: AdmissionInput) => Refusal | undefined;

export type Verdict =
  | { readonly kind: 'admit' }
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  /** Once these have ended; none: those that end already are enough. */
  | { readonly kind: 'preempt'; readonly victims: readonly Pod[]; readonly signal: string };

const BEFORE_AMOUNTS: readonly AdmissionHandler[] = [evictionPressure, sysctlAllowList, predicates];
const AFTER_AMOUNTS: readonly AdmissionHandler[] = [appArmor, shutdown];

export function verdictOf(input: AdmissionInput): Verdict {
  const unfit = firstRefusal(BEFORE_AMOUNTS, input);
  if (unfit) return { kind: 'refuse', refusal: unfit };
  const amounts = amountsVerdict(input);
  if (amounts.kind === 'refuse') return amounts;
  const refusal = firstRefusal(AFTER_AMOUNTS, input);
  return refusal ? { kind: 'refuse', refusal } : amounts;
}

function firstRefusal(
  handlers: readonly AdmissionHandler[],
  input: AdmissionInput,
): Refusal | undefined {
  for (const handler of handlers) {
    const refusal = handler(input);
    if (refusal) return refusal;
  }
  return undefined;
}

function amountsVerdict({ pod, node, others, leaving = new Set() }: AdmissionInput): Verdict {
  const [first, ...more] = shortages(pod, others, node);
  if (!first) return { kind: 'admit' };
  const { staticPodEviction } = node;
  if (!isCriticalPod(pod, staticPodEviction))
    return { kind: 'refuse', refusal: shortRefusal(first) };
  const room = roomFor(pod, [first, ...more], others, { leaving, staticPodEviction });
  return room.kind === 'victims'
    ? { kind: 'preempt', victims: room.victims, signal: first.resource }
    : { kind: 'refuse', refusal: noRoomRefusal(room.needs) };
}

function shortRefusal({ resource, requested, used, capacity }: Shortage): Refusal {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  const message = `Node didn't have enough resource: ${resource}, ${amounts}`;
  return { reason: `OutOf${resource}`, message };
}

function noRoomRefusal(needs: readonly Need[]): Refusal {
  const list = needs.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('');
  return {
    reason: AdmissionReason.UnexpectedAdmissionError,
    message:
      'Unexpected error while attempting to recover from admission failure: preemption: error finding ' +
      `a set of pods to preempt: no set of running pods found to reclaim resources: [${list}]`,
  };
}

function shutdown({ node }: AdmissionInput): Refusal | undefined {
  if (!node.isShuttingDown()) return undefined;
  const message = 'Pod was rejected as the node is shutting down.';
  return { reason: AdmissionReason.NodeShutdown, message };
}
