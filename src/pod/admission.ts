/**
 * Owns: whether this node takes a pod (spec static-pods.md §7): handlers in the kubelet's order, the
 * first that refuses decides. Pure: the node and the other pods are handed in.
 *
 *   2 eviction pressure    admission-pressure.ts
 *   3 sysctl allow-list    admission-sysctl.ts
 *   4 CPU, memory, device allocation   (not here yet)
 *   5 predicates           admission-predicates.ts
 *   6 AppArmor             admission-apparmor.ts
 *   7, 8 pod and node features         nothing that this node lacks
 *   9 node shutdown        (not here yet)
 *
 * Leaves to others: what a refusal does and when the question is asked again (admission-gate.ts).
 */
import type { Pod } from '../api/pod.ts';
import type { AdmissionReason } from '../api/reasons.ts';
import { appArmor } from './admission-apparmor.ts';
import type { AppArmorHost } from './admission-apparmor.ts';
import { predicates } from './admission-predicates.ts';
import { evictionPressure } from './admission-pressure.ts';
import { sysctlAllowList } from './admission-sysctl.ts';

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
  /** Pressure conditions of the node, as it reports them now. */
  readonly pressure: () => readonly string[];
  /** False: every static pod is critical. */
  readonly staticPodEviction: boolean;
  /** Names, or prefixes that end in `*`. */
  readonly allowedUnsafeSysctls: readonly string[];
  readonly appArmor: AppArmorHost;
  /** Whether the runtime can limit groups to those of the manifest. */
  readonly supplementalGroupsPolicy: () => boolean;
}

export interface AdmissionInput {
  readonly pod: Pod;
  readonly node: AdmissionNode;
  /** Pods that run, start or end now, without this one. */
  readonly others: readonly Pod[];
}

export type AdmissionHandler = (input: AdmissionInput) => Refusal | undefined;

const HANDLERS: readonly AdmissionHandler[] = [
  evictionPressure,
  sysctlAllowList,
  predicates,
  appArmor,
];

/** undefined: the pod is taken. */
export function refusalOf(input: AdmissionInput): Refusal | undefined {
  for (const handler of HANDLERS) {
    const refusal = handler(input);
    if (refusal) return refusal;
  }
  return undefined;
}
