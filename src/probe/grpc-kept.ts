/**
 * Owns: the quick connection that one worker keeps between its attempts, and whether it is to be tried.
 * Invariants: it belongs to one container, address and service; it is never older than ten seconds; there is none after
 * anything but a success, so a server that is not well is asked once an attempt, by the full client.
 *
 *   wary ──success──▶ quick ──full client well, where a new quick connection was not──▶ never
 *     ◀──no success───┘
 *
 * Another container, address or service begins at wary.
 */
import type { QuickConnection } from './grpc-quick.ts';

export const KEPT_MS = 10_000;

export class KeptConnection {
  #trust: 'wary' | 'quick' | 'never' = 'wary';
  #key = '';
  #connection: QuickConnection | undefined;
  /** Monotonic: when it was made. */
  #sinceMs = 0;

  /**
   * What to ask first, if anything; made where there is none that is still good. It stays in here. `key` says all
   * that it is for.
   */
  take(key: string, nowMs: number, make: () => QuickConnection): QuickConnection | undefined {
    if (key !== this.#key) {
      this.close();
      this.#trust = 'wary';
      this.#key = key;
    }
    if (this.#trust !== 'quick') return undefined;
    if (this.#connection?.isUsable !== true || nowMs - this.#sinceMs >= KEPT_MS) {
      this.close();
      this.#connection = make();
      this.#sinceMs = nowMs;
    }
    return this.#connection;
  }

  /** How an attempt ended, after `take`. */
  learn(isWell: boolean, by: 'quick' | 'full'): void {
    const hasFailed = by === 'full' && this.#connection?.successes === 0;
    if (by === 'full' || !isWell) this.close();
    if (hasFailed && isWell) this.#trust = 'never';
    else if (this.#trust !== 'never') this.#trust = isWell ? 'quick' : 'wary';
  }

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}
