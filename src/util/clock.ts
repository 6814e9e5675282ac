/**
 * Owns: time. Every wait and every time stamp of the agent comes from a Clock, so tests own the time.
 * Invariant: back-off, deadlines and periods use `monotonic()`; `wall()` is only shown, stored or
 * compared with times that the runtime reports (which are wall times too).
 */

export interface Clock {
  /** Wall time in milliseconds since 1970; may jump. */
  wall(): number;
  /** Monotonic time in milliseconds from an arbitrary origin; never goes back. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** A number in [0, 1); injected so that jitter can be tested. */
export type Random = () => number;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class SystemClock implements Clock {
  wall(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(abortReason(signal));
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(abortReason(signal));
      };
      const timer = setTimeout(
        () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
        Math.min(Math.max(0, ms), LONGEST_TIMER_MS),
      );
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}

export const systemRandom: Random = Math.random;

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
