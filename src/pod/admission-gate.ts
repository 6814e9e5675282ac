/**
 * Owns: what follows from a refusal (spec static-pods.md §7.2): event, status, metric; and that it is
 * lifted when the pod is taken after all.
 * A pod that lost its place is held here, with the status that says why, until it may come back.
 * Invariants: a pod that runs is never refused, nor one that has ended; each refusal is told once.
 * Unlike the kubelet: which never looks again, islet asks anew whenever something changes on the node, so a
 * pod starts by itself once what it lacked is there (a host port, a place, a profile, memory).
 */
import type { EventRecorder } from '../api/event.ts';
import { podTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { qosClass } from '../api/qos.ts';
import { AdmissionReason, EvictionReason } from '../api/reasons.ts';
import type { PodStatus } from '../api/status.ts';
import type { Counter } from '../metrics/registry.ts';
import { isTerminalPhase } from '../status/generate.ts';
import { apiTime } from '../status/time.ts';
import type { Clock } from '../util/clock.ts';
import { verdictOf } from './admission.ts';
import type { AdmissionNode, Refusal } from './admission.ts';
import { isDisplaced, isEvicted } from './eviction.ts';
import type { Statuses } from './ports.ts';

export interface AdmissionGateDeps {
  readonly node: AdmissionNode;
  /** Whether the runtime has anything running of the pod. */
  readonly isRunning: (uid: string) => boolean;
  /** Whether a pod that was evicted may start again. */
  readonly mayReturn: (uid: string) => boolean;
  readonly statuses: Statuses;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** `kubelet_admission_rejections_total`, by `reason`. */
  readonly rejections: Pick<Counter, 'inc'>;
}

/** Who is asked first keeps what it has: pods that run, then those taken before, then new ones. */
export type Standing = 0 | 1 | 2;

export type GateVerdict =
  /** `anew`: what the runtime still has of its last life is to be cleared away first. */
  | { readonly kind: 'start'; readonly anew: boolean }
  | { readonly kind: 'refused' }
  /** It may start once these have made room; none: once those that end now have ended. */
  | { readonly kind: 'preempt'; readonly victims: readonly Pod[]; readonly signal: string };

const REASONS: ReadonlySet<string> = new Set(Object.values(AdmissionReason));

export class AdmissionGate {
  readonly #deps: AdmissionGateDeps;
  /** By uid: what was told last. */
  readonly #refused = new Map<string, Refusal>();

  constructor(deps: AdmissionGateDeps) {
    this.#deps = deps;
  }

  standing(uid: string): Standing {
    const { isRunning, statuses } = this.#deps;
    if (isRunning(uid)) return 0;
    const status = statuses.restore(uid);
    return status && !isRefusal(status) && !isDisplaced(status) ? 1 : 2;
  }

  /**
   * Whether the pod may start now; `others` are the pods that are active, of which those in `leaving` end.
   * Tells a refusal.
   */
  judge(pod: Pod, others: readonly Pod[], leaving: ReadonlySet<string>): GateVerdict {
    const { uid } = pod.metadata;
    const { statuses, isRunning } = this.#deps;
    const status = statuses.restore(uid);
    const refused = status !== undefined && isRefusal(status);
    const displaced = isDisplaced(status);
    const over = isTerminalPhase(status?.phase) && !refused && !displaced;
    // One whose end was cut off goes on ending.
    if (isRunning(uid) || over) return this.#start(uid, { wipe: refused, anew: false });
    const verdict = verdictOf({ pod, node: this.#deps.node, others, leaving });
    switch (verdict.kind) {
      case 'admit':
        // Asked last: a permission is used up only by a start.
        if (isEvicted(status) && !this.#mayReturn(pod)) return { kind: 'refused' };
        return this.#start(uid, { wipe: refused || displaced, anew: displaced });
      case 'preempt':
        return verdict;
      case 'refuse':
        if (!displaced) this.#refuse(pod, verdict.refusal, refused ? status : undefined);
        return { kind: 'refused' };
    }
  }

  /** `wipe`: its status would say that the pod has ended. */
  #start(uid: string, { wipe, anew }: { wipe: boolean; anew: boolean }): GateVerdict {
    this.#refused.delete(uid);
    if (wipe) this.#deps.statuses.remove(uid);
    return { kind: 'start', anew };
  }

  /** Whether a pod that was evicted may come back: a permission is good for one time. */
  #mayReturn(pod: Pod): boolean {
    if (!this.#deps.mayReturn(pod.metadata.uid)) return false;
    const text = 'Starting again after its eviction';
    this.#deps.events.event(podTarget(pod), 'Normal', EvictionReason.EvictionOver, text);
    return true;
  }

  /** The pod is gone. */
  forget(uid: string): void {
    this.#refused.delete(uid);
  }

  #refuse(pod: Pod, refusal: Refusal, before: PodStatus | undefined): void {
    const { uid } = pod.metadata;
    const told = this.#refused.get(uid);
    if (told?.reason === refusal.reason && told.message === refusal.message) return;
    this.#refused.set(uid, refusal);
    const { statuses, events, clock, rejections } = this.#deps;
    const { reason, message } = refusal;
    events.event(podTarget(pod), 'Warning', reason, message);
    rejections.inc({ reason: bucketOf(reason) });
    statuses.set(pod, {
      phase: 'Failed',
      reason,
      message: `Pod was rejected: ${message}`,
      startTime: before?.startTime ?? apiTime(clock.wall()),
      qosClass: qosClass(pod),
    });
  }
}

/** Only a pod that was never started has failed without a word about any container. */
function isRefusal(status: PodStatus): boolean {
  return (
    status.phase === 'Failed' &&
    status.containerStatuses === undefined &&
    (REASONS.has(status.reason ?? '') || (status.reason ?? '').startsWith(SHORT))
  );
}

const SHORT = 'OutOf';
const COUNTED = new Set(['pods', 'cpu', 'memory', 'ephemeral-storage'].map((name) => SHORT + name));

/** Names of resources are anybody's; a label of a metric must not be. */
function bucketOf(reason: AdmissionReason): string {
  return reason.startsWith(SHORT) && !COUNTED.has(reason) ? 'OutOfExtendedResources' : reason;
}
