/**
 * Owns: a limit in time on what one worker tries.
 * Invariant: one thing at a time. The controller serves until something runs out of time and the alarm
 * until it rings, so that attempts which are quick make next to nothing.
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
  /** Monotonic: when the time of what is tried now is up. */
  #dueMs: number | undefined;
  /** When the alarm goes off, at the due time or before; it is not taken back when the work ends first. */
  #alarmMs = Infinity;

  constructor(clock: Clock, stop: AbortSignal) {
    this.#clock = clock;
    this.#stop = stop;
    stop.addEventListener('abort', () => this.#controller.abort(stop.reason), { once: true });
  }

  /** Whether it was stopped: what was tried is then of no interest to anybody. */
  throwIfStopped(): void {
    this.#stop.throwIfAborted();
  }

  /** Calls `listener` once when it is stopped. */
  onStop(listener: () => void): void {
    this.#stop.addEventListener('abort', listener, { once: true });
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
    const due = this.#clock.monotonic() + ms;
    this.#dueMs = due;
    if (due < this.#alarmMs) this.#setAlarm(due);
    try {
      return await work(signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      this.#dueMs = undefined;
    }
  }

  #setAlarm(atMs: number): void {
    this.#alarmMs = atMs;
    this.#clock.sleep(atMs - this.#clock.monotonic(), this.#stop).then(
      () => this.#ring(atMs),
      () => undefined,
    );
  }

  #ring(atMs: number): void {
    if (atMs !== this.#alarmMs) return; // a nearer one was set since
    this.#alarmMs = Infinity;
    if (this.#dueMs === undefined) return;
    if (this.#clock.monotonic() >= this.#dueMs) this.#controller.abort(new TimeIsUp());
    else this.#setAlarm(this.#dueMs);
  }
}
