/**
 * Owns: what follows from a refusal (spec static-pods.md §7.2): event, status, metric; and that it is
 * lifted when the pod is taken after all.
 * An evicted pod is held here, with the status that says why, until it may come back.
 * Invariants: a pod that runs is never refused, nor one that has ended; each refusal is told once.
 * Unlike the kubelet: which never looks again, islet asks anew whenever something changes on the node, so a
 * pod starts by itself once what it lacked is there (a host port, a place, a profile).
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
import { refusalOf } from './admission.ts';
import type { AdmissionNode, Refusal } from './admission.ts';
import { isEvicted } from './eviction.ts';
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
    return status && !isRefusal(status) ? 1 : 2;
  }

  /** Whether the pod may start now; `others` are the pods that are active. Tells a refusal. */
  admits(pod: Pod, others: readonly Pod[]): boolean {
    const { uid } = pod.metadata;
    const { statuses, node, isRunning } = this.#deps;
    if (this.#isHeld(pod)) return false;
    const status = statuses.restore(uid);
    const refused = status !== undefined && isRefusal(status);
    const settled = isRunning(uid) || (!refused && isTerminalPhase(status?.phase));
    const refusal = settled ? undefined : refusalOf({ pod, node, others });
    if (refusal) {
      this.#refuse(pod, refusal, refused ? status : undefined);
      return false;
    }
    this.#refused.delete(uid);
    // It would say that the pod has ended.
    if (refused) statuses.remove(uid);
    return true;
  }

  /** Whether it was evicted and may not come back yet; one that may is as new from now on. */
  #isHeld(pod: Pod): boolean {
    const { statuses, isRunning, mayReturn, events } = this.#deps;
    const { uid } = pod.metadata;
    if (!isEvicted(statuses.restore(uid)) || isRunning(uid)) return false;
    if (!mayReturn(uid)) return true;
    statuses.remove(uid);
    const text = 'Starting again after its eviction';
    events.event(podTarget(pod), 'Normal', EvictionReason.EvictionOver, text);
    return false;
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
    rejections.inc({ reason });
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
    REASONS.has(status.reason ?? '')
  );
}
