/**
 * Owns: when an evicted pod may start again: the node has no pressure condition (they are reported for
 * the transition period after it ended), one pod at a time, the most important first, and a pod that was
 * evicted again soon after it came back waits longer each time.
 *
 *   evicted ──▶ waiting: pause = transition period, doubled with each strike ──▶ permitted ──▶ returned
 *
 * Unlike the kubelet: there an evicted pod is gone for good, and somebody else makes a new one.
 * Invariants: times are monotonic milliseconds. What was evicted before the agent started counts as
 * evicted when the agent started; how often in a row it was is remembered.
 */
import type { Pod } from '../api/pod.ts';
import { podPriority } from '../api/priority.ts';

export interface ReturnsDeps {
  readonly transitionMs: number;
  /** False: nothing is evicted any more, so whatever was may come back. */
  readonly staticPodEviction: boolean;
  readonly memory: StrikeMemory;
  /** When the agent started. */
  readonly startMs: number;
}

/** Evictions in a row, by uid; outlives the agent. */
export interface StrikeMemory {
  all(): Iterable<readonly [uid: string, strikes: number]>;
  put(uid: string, strikes: number): void;
  delete(uid: string): void;
}

interface Record {
  /** Evictions in a row. */
  readonly strikes: number;
  readonly evictedMs: number;
  readonly returnedMs: number | undefined;
}

const LONGEST_PAUSE_MS = 3_600_000;
/** Time for the one that came back to show what it needs before the next one comes. */
const SPACING_MS = 60_000;
/** Who runs for so long, and for twice its pause, has not caused the next pressure. */
const FORGIVEN_AFTER_MS = 600_000;

export class Returns {
  readonly #deps: ReturnsDeps;
  readonly #records = new Map<string, Record>();
  readonly #permitted = new Set<string>();
  #lastMs = -Infinity;

  constructor(deps: ReturnsDeps) {
    this.#deps = deps;
    const times = { evictedMs: deps.startMs, returnedMs: deps.startMs };
    for (const [uid, strikes] of deps.memory.all()) this.#records.set(uid, { strikes, ...times });
  }

  evicted(uid: string, nowMs: number): void {
    const strikes = this.#strikes(uid, nowMs) + 1;
    this.#permitted.delete(uid);
    this.#records.set(uid, { strikes, evictedMs: nowMs, returnedMs: undefined });
    this.#deps.memory.put(uid, strikes);
  }

  /** There is pressure again: who has not started yet waits on. */
  retract(): void {
    this.#permitted.clear();
  }

  /**
   * Permits at most one of the pods that wait; to be called while there is no pressure. One that was
   * permitted and finds no room keeps nobody else from coming back.
   */
  permitNext(waiting: readonly Pod[], nowMs: number): Pod | undefined {
    for (const { metadata } of waiting) this.#meet(metadata.uid, nowMs);
    if (nowMs - this.#lastMs < Math.min(this.#deps.transitionMs, SPACING_MS)) return undefined;
    const ready = waiting.filter(({ metadata: { uid } }) => {
      const record = this.#records.get(uid);
      if (!record || this.#permitted.has(uid)) return false;
      return nowMs - record.evictedMs >= this.#pauseMs(record.strikes);
    });
    const [next] = ready.sort(
      (a, b) => podPriority(b) - podPriority(a) || this.#since(a) - this.#since(b),
    );
    if (!next) return undefined;
    this.#lastMs = nowMs;
    this.#permitted.add(next.metadata.uid);
    return next;
  }

  /** Whether the pod may start; a permission is good for one start. */
  mayReturn(uid: string, nowMs: number): boolean {
    if (!this.#deps.staticPodEviction) return true;
    if (!this.#permitted.delete(uid)) return false;
    const record = this.#records.get(uid);
    if (record) this.#records.set(uid, { ...record, returnedMs: nowMs });
    return true;
  }

  /** Forgets all other pods. */
  retain(isKnown: (uid: string) => boolean): void {
    for (const uid of this.#records.keys()) {
      if (isKnown(uid)) continue;
      this.#records.delete(uid);
      this.#deps.memory.delete(uid);
      this.#permitted.delete(uid);
    }
  }

  #meet(uid: string, nowMs: number): void {
    if (this.#records.has(uid)) return;
    this.#records.set(uid, { strikes: 1, evictedMs: nowMs, returnedMs: undefined });
  }

  #strikes(uid: string, nowMs: number): number {
    const record = this.#records.get(uid);
    if (!record) return 0;
    const ranMs = record.returnedMs === undefined ? 0 : nowMs - record.returnedMs;
    const forgiven = Math.max(FORGIVEN_AFTER_MS, 2 * this.#pauseMs(record.strikes));
    return ranMs >= forgiven ? 0 : record.strikes;
  }

  #pauseMs(strikes: number): number {
    const { transitionMs } = this.#deps;
    const longest = Math.max(LONGEST_PAUSE_MS, transitionMs);
    return Math.min(transitionMs * 2 ** (strikes - 1), longest);
  }

  #since(pod: Pod): number {
    return this.#records.get(pod.metadata.uid)?.evictedMs ?? 0;
  }
}
