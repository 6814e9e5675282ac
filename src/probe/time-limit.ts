/**
 * Owns: a limit in time on what one worker tries.
 * Invariant: one thing at a time. A controller and its signal serve until one of them runs out of time, so
 * that an attempt which is quick makes nothing but a timer.
 */
import type { Clock } from '../util/clock.ts';

/** Why the signal of `work` aborted when the time was up. */
export class TimeIsUp extends Error {
  constructor() {
    super('the time is up');
    this.name = 'TimeIsUp';
  }
}

export class TimeLimit {
  readonly #clock: Clock;
  /** Ends whatever is tried. */
  readonly #stop: AbortSignal;
  #controller = new AbortController();
  /** Of what is tried now; a timer of an earlier number means nothing any more. */
  #number = 0;

  constructor(clock: Clock, stop: AbortSignal) {
    this.#clock = clock;
    this.#stop = stop;
    stop.addEventListener('abort', () => this.#controller.abort(stop.reason), { once: true });
  }

  /** Whether it was stopped: what was tried is then of no interest to anybody. */
  throwIfStopped(): void {
    this.#stop.throwIfAborted();
  }

  /**
   * Runs `work` for at most `ms`: then its signal aborts with TimeIsUp. Work must end soon after that, and
   * must take its listeners off the signal, which serves the next work, too.
   * @throws TimeIsUp when the time was up, the reason of the stop when it was stopped, else what `work` threw
   */
  async within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#stop.throwIfAborted();
    if (this.#controller.signal.aborted) this.#controller = new AbortController();
    const { signal } = this.#controller;
    const number = ++this.#number;
    // Not taken back when the work ends first: that would cost more than letting it run out.
    this.#clock.sleep(ms, this.#stop).then(
      () => {
        if (number === this.#number) this.#controller.abort(new TimeIsUp());
      },
      () => undefined,
    );
    try {
      return await work(signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      this.#number++;
    }
  }
}
