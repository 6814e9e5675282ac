/**
 * Owns: `registryPullQPS` and `registryBurst`: a token bucket that never waits.
 */
import type { Clock } from '../util/clock.ts';

export interface TokenBucketDeps {
  readonly clock: Clock;
  /** Tokens a second; 0: no limit. */
  readonly perSecond: number;
  readonly burst: number;
}

export class TokenBucket {
  readonly #deps: TokenBucketDeps;
  #tokens: number;
  #at: number;

  constructor(deps: TokenBucketDeps) {
    this.#deps = deps;
    this.#tokens = deps.burst;
    this.#at = deps.clock.monotonic();
  }

  /** Takes a token if there is one. */
  take(): boolean {
    const { clock, perSecond, burst } = this.#deps;
    if (perSecond === 0) return true;
    const now = clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#at) / 1000) * perSecond);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
