/**
 * Owns: the newest known status of every pod, and the wait for one that is new enough (spec: pleg.md §4).
 * All times are Clock.monotonic() milliseconds of the moment just before the lists were asked for.
 *
 * How new an entry is: the later of the time it was set and the time of the last good list — a list that
 * shows no change proves that the entry still holds. A pod that is *held* is the exception: the list
 * showed a change and the status behind it is still being read, so the list's time does not count.
 * Unlike the kubelet: inspections go on beside the relist, so a pod can be held over several lists; the
 * kubelet's rule is the case in which every hold ends before the list's time is set.
 *
 * Invariant: what `getNewerThan(uid, m)` gives was read after m, and nobody waits for another pod.
 */
import { emptyRuntimeStatus, type RuntimePodStatus } from '../runtime/model.ts';

interface Entry {
  readonly status: RuntimePodStatus;
  /** Why the status could not be read at `modified`; then `status` is the one before. */
  readonly error: Error | undefined;
  readonly modified: number;
}

interface Waiter {
  readonly newerThan: number;
  readonly settle: () => void;
}

export interface StatusCacheDeps {
  /** Told that someone waits from now on, so that a relist can come sooner than its period. */
  readonly onWait: () => void;
}

export class StatusCache {
  readonly #deps: StatusCacheDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #held = new Set<string>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  #listed = Number.NEGATIVE_INFINITY;

  constructor(deps: StatusCacheDeps) {
    this.#deps = deps;
  }

  /** The last good status; an empty one for a pod that the runtime does not have. */
  get(uid: string): RuntimePodStatus {
    return this.#entries.get(uid)?.status ?? emptyRuntimeStatus(uid);
  }

  /** `error` says that the status could not be read; the last good one is kept beside it. */
  set(uid: string, status: RuntimePodStatus, error: Error | undefined, at: number): void {
    this.#entries.set(uid, { status, error, modified: at });
    this.#wake(uid, at);
  }

  delete(uid: string): void {
    this.#entries.delete(uid);
  }

  /** A good list began at `at`: every entry that is not held is as new as that. */
  updateTime(at: number): void {
    this.#listed = at;
    for (const uid of this.#waiters.keys()) if (!this.#held.has(uid)) this.#wake(uid, at);
  }

  /** From now on lists prove nothing about `uid`. */
  hold(uid: string): void {
    this.#held.add(uid);
  }

  release(uid: string): void {
    if (this.#held.delete(uid)) this.#wake(uid, this.#listed);
  }

  /** How many wait at this moment. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /**
   * The status as read after `monotonicMs`; waits until there is one. Rejects with the error of the read
   * when that failed, and with the signal's reason.
   */
  getNewerThan(uid: string, monotonicMs: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    if (signal.aborted) return Promise.reject(reasonOf(signal));
    if (this.#age(uid) > monotonicMs) return this.#answer(uid);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener('abort', onAbort);
        this.#leave(uid, waiter);
      };
      const onAbort = (): void => {
        leave();
        reject(reasonOf(signal));
      };
      const waiter: Waiter = {
        newerThan: monotonicMs,
        settle: () => {
          leave();
          this.#answer(uid).then(resolve, reject);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const waiters = this.#waiters.get(uid) ?? new Set();
      this.#waiters.set(uid, waiters.add(waiter));
      this.#deps.onWait();
    });
  }

  #age(uid: string): number {
    const modified = this.#entries.get(uid)?.modified ?? Number.NEGATIVE_INFINITY;
    return this.#held.has(uid) ? modified : Math.max(modified, this.#listed);
  }

  #answer(uid: string): Promise<RuntimePodStatus> {
    const error = this.#entries.get(uid)?.error;
    return error ? Promise.reject(error) : Promise.resolve(this.get(uid));
  }

  #wake(uid: string, at: number): void {
    for (const waiter of [...(this.#waiters.get(uid) ?? [])]) {
      if (waiter.newerThan <= at) waiter.settle();
    }
  }

  #leave(uid: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(uid);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(uid);
  }
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
