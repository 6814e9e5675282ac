/**
 * Owns: a Clock that only moves when a test says so.
 * Invariants: sleepers wake in the order of their due time, then of their call; each one's
 * continuation has run (promises settled, one turn of the event loop) before the next wakes, so code
 * that sleeps again inside `advance` is woken at the right moment.
 */
import type { Clock } from '../../src/util/clock.ts';

interface Sleeper {
  readonly due: number;
  readonly order: number;
  readonly wake: () => void;
}

export class ManualClock implements Clock {
  #monotonic: number;
  #wall: number;
  #order = 0;
  readonly #sleepers = new Set<Sleeper>();

  /** Both in milliseconds; wall defaults to 2026-01-01T00:00:00Z. */
  constructor(start: { monotonic?: number; wall?: number } = {}) {
    this.#monotonic = start.monotonic ?? 1000;
    this.#wall = start.wall ?? Date.UTC(2026, 0, 1);
  }

  wall(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(abortReason(signal));
        return;
      }
      const onAbort = (): void => {
        this.#sleepers.delete(sleeper);
        reject(abortReason(signal));
      };
      const sleeper: Sleeper = {
        due: this.#monotonic + Math.max(0, ms),
        order: this.#order++,
        wake: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Moves both times on by `ms`, waking what falls due on the way. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (;;) {
      const next = this.#next();
      if (!next || next.due > end) break;
      this.#moveTo(next.due);
      this.#sleepers.delete(next);
      next.wake();
      await settle();
    }
    this.#moveTo(end);
    await settle();
  }

  /** A jump of the wall time alone: what NTP or a dead battery does. Wakes nobody. */
  jumpWall(ms: number): void {
    this.#wall += ms;
  }

  /** How many are asleep. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Milliseconds until the next sleeper is due; undefined when nobody sleeps. */
  get untilNext(): number | undefined {
    const next = this.#next();
    return next === undefined ? undefined : next.due - this.#monotonic;
  }

  #next(): Sleeper | undefined {
    let best: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (
        !best ||
        sleeper.due < best.due ||
        (sleeper.due === best.due && sleeper.order < best.order)
      ) {
        best = sleeper;
      }
    }
    return best;
  }

  #moveTo(monotonic: number): void {
    const by = monotonic - this.#monotonic;
    if (by <= 0) return;
    this.#monotonic = monotonic;
    this.#wall += by;
  }
}

/** Lets everything that is ready run: promise jobs and `turns` turns of the event loop. */
export async function settle(turns = 2): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
