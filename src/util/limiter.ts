/**
 * Owns: a bound on how many things happen at once, served by rank instead of arrival.
 * Invariant: a holder that keeps its slot longer than `patienceMs` stops counting, so that a hanging
 * call delays its own pod and no other ("one pod's trouble is its own").
 */
import type { Clock } from './clock.ts';

export interface LimiterDeps {
  readonly slots: number;
  readonly patienceMs: number;
  readonly clock: Clock;
}

interface Waiter {
  readonly rank: number;
  readonly arrival: number;
  readonly grant: () => void;
}

/** The right to do something that is bounded; held until it is released or patience is lost. */
export interface Slot {
  /** Gives the slot back; repeatable. */
  release(): void;
  /** Gives the slot back while `task` waits for something outside, and takes one again afterwards. */
  away<T>(task: () => Promise<T>): Promise<T>;
}

export class Limiter {
  readonly #deps: LimiterDeps;
  readonly #waiters: Waiter[] = [];
  #held = 0;
  #arrivals = 0;

  constructor(deps: LimiterDeps) {
    this.#deps = deps;
  }

  /** A slot when one is free; the lowest rank first, equal ranks in order of arrival. */
  async acquire(rank: number, signal: AbortSignal): Promise<Slot> {
    await this.#wait(rank, signal);
    let release = this.#holder();
    return {
      release: () => release(),
      away: async (task) => {
        release();
        try {
          return await task();
        } finally {
          await this.#wait(rank, signal);
          release = this.#holder();
        }
      },
    };
  }

  /** Runs `task` with a slot. */
  async run<T>(rank: number, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    const slot = await this.acquire(rank, signal);
    try {
      return await task();
    } finally {
      slot.release();
    }
  }

  #wait(rank: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#held < this.#deps.slots) {
      this.#held++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
      };
      const waiter: Waiter = {
        rank,
        arrival: this.#arrivals++,
        grant: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.push(waiter);
      this.#waiters.sort((a, b) => a.rank - b.rank || a.arrival - b.arrival);
    });
  }

  /** The function that gives the slot back: once, by the holder or by the loss of patience. */
  #holder(): () => void {
    let held = true;
    const patience = new AbortController();
    const giveBack = (): void => {
      if (!held) return;
      held = false;
      const next = this.#waiters.shift();
      if (next) next.grant();
      else this.#held--;
    };
    this.#deps.clock.sleep(this.#deps.patienceMs, patience.signal).then(giveBack, () => undefined);
    return () => {
      patience.abort(new Error('released'));
      giveBack();
    };
  }
}
