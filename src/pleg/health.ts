/**
 * Owns: whether the relist is alive (spec: pleg.md §6). Alive means that a *list* succeeded within the
 * threshold, counted from the moment before it was asked for.
 * Unlike the kubelet: a hanging status call does not count against it, since it holds up its own pod only.
 */
import { goDuration, goSeconds } from '../util/backoff.ts';

export const HEALTH_THRESHOLD_MS = 3 * 60 * 1000;

export class Health {
  #lastSeen: number | undefined;

  /** A good list began at `at`, monotonic milliseconds. */
  seen(at: number): void {
    this.#lastSeen = at;
  }

  /** undefined while healthy, else the kubelet's words for why not. */
  problem(now: number): string | undefined {
    if (this.#lastSeen === undefined) return 'PLEG is not healthy: pleg has yet to be successful';
    const elapsed = now - this.#lastSeen;
    if (elapsed <= HEALTH_THRESHOLD_MS) return undefined;
    return (
      `PLEG is not healthy: pleg was last seen active ${goDuration(elapsed)} ago; ` +
      `threshold is ${goSeconds(HEALTH_THRESHOLD_MS)}`
    );
  }
}
