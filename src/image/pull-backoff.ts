/**
 * Owns: the pauses after pulls that failed, by pod and image: 10 s doubling to 5 minutes, counted from
 * the last failure, forgotten after 10 minutes (spec: pod-lifecycle.md §8).
 * Unlike the kubelet: a pull that worked forgets the failures before it.
 */
import { nextDelay } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';

const RANGE = { baseMs: 10_000, maxMs: 300_000 };
const FORGET_AFTER_MS = 2 * RANGE.maxMs;

interface Entry<T> {
  readonly attempt: T;
  readonly delayMs: number;
  readonly atMs: number;
}

export class PullBackoff<T> {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The attempt whose pause is not over, and for how long yet; undefined: try. */
  waiting(podUid: string, image: string): { attempt: T; leftMs: number } | undefined {
    const key = keyOf(podUid, image);
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    const ageMs = this.#clock.monotonic() - entry.atMs;
    if (ageMs > FORGET_AFTER_MS) this.#entries.delete(key);
    if (ageMs >= entry.delayMs) return undefined;
    return { attempt: entry.attempt, leftMs: entry.delayMs - ageMs };
  }

  /** Returns the pause that begins now. */
  failed(podUid: string, image: string, attempt: T): number {
    const key = keyOf(podUid, image);
    const delayMs = nextDelay(RANGE, this.#entries.get(key)?.delayMs);
    this.#entries.set(key, { attempt, delayMs, atMs: this.#clock.monotonic() });
    return delayMs;
  }

  worked(podUid: string, image: string): void {
    this.#entries.delete(keyOf(podUid, image));
  }

  /** Forgets a pod that is gone. */
  forget(podUid: string): void {
    for (const key of this.#entries.keys()) {
      if (key.startsWith(keyOf(podUid, ''))) this.#entries.delete(key);
    }
  }
}

function keyOf(podUid: string, image: string): string {
  return `${podUid}_${image}`;
}
