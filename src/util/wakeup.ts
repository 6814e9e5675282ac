/**
 * Owns: a one-slot "look again" signal. Any number of pokes before a wait are one poke: who wakes up
 * re-reads the state, so only the fact matters (level-driven), never the number.
 */
import type { Clock } from './clock.ts';

export class Wakeup {
  #poked = false;
  #wake: (() => void) | undefined;

  poke(): void {
    this.#poked = true;
    this.#wake?.();
  }

  /** Resolves at once when poked before, else at the next poke or after `ms` (Infinity: only a poke). */
  async wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#poked && ms > 0) await this.#pokeOrTimeout(clock, ms, signal);
    this.#poked = false;
  }

  async #pokeOrTimeout(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    const timer = new AbortController();
    const stop = (): void => timer.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    try {
      const poked = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const timeout = clock.sleep(ms, timer.signal);
      timeout.catch(() => undefined); // it loses the race whenever the poke comes first
      await Promise.race([poked, timeout]);
    } finally {
      signal.removeEventListener('abort', stop);
      this.#wake = undefined;
      timer.abort(new Error('woken'));
    }
  }
}
