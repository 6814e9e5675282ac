/**
 * Owns: noticing that the node shuts down where systemd-logind runs, and holding it up until the pods have
 * stopped: a delay inhibitor is held at all times and given back when they have (spec node-api.md §5).
 * Invariant: without logind, or with one that does not wait long enough, there is one line in the log and no
 * graceful shutdown; nothing else fails.
 * Leaves to others: talking to logind (logind.ts), stopping the pods (shutdown.ts).
 */
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';

export interface Logind {
  /** Milliseconds that it waits for inhibitors. @throws without logind. */
  delayMs(signal: AbortSignal): Promise<number>;
  /** Makes it wait longer, and read its configuration again. */
  raiseDelay(ms: number, signal: AbortSignal): Promise<void>;
  /** Holds a shutdown up until the answer is called. */
  inhibit(): () => void;
  /** Calls back with each announcement, true: it begins, false: it was called off. Ends with the connection. */
  watch(onSignal: (begins: boolean) => void, signal: AbortSignal): Promise<void>;
}

export interface ShutdownWatchDeps {
  readonly logind: Logind;
  /** Sum of the grace periods. */
  readonly totalMs: number;
  readonly shutdown: { begin(signal: AbortSignal): Promise<void>; cancel(): void };
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = 1_000;
const RAISE_TRIES = 5;
const FIRST_PAUSE_MS = 100;

export class ShutdownWatch {
  readonly #deps: ShutdownWatchDeps;
  #release: (() => void) | undefined;

  constructor(deps: ShutdownWatchDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { logind, clock, logger } = this.#deps;
    if (!(await this.#isPatient(signal))) return;
    try {
      for (;;) {
        this.#release ??= logind.inhibit();
        await logind.watch((begins) => this.#onSignal(begins, signal), signal);
        await clock.sleep(RETRY_MS, signal);
        logger.debug('the connection to logind was lost and is made again');
      }
    } finally {
      this.#letGo();
    }
  }

  async #isPatient(signal: AbortSignal): Promise<boolean> {
    const { logind, totalMs, logger, clock } = this.#deps;
    try {
      let delay = await logind.delayMs(signal);
      if (delay < totalMs) await logind.raiseDelay(totalMs, signal);
      let pause = FIRST_PAUSE_MS;
      for (let left = RAISE_TRIES; delay < totalMs && left > 0; left -= 1, pause *= 2) {
        await clock.sleep(pause, signal);
        delay = await logind.delayMs(signal);
      }
      if (delay >= totalMs) return true;
      const text = 'no graceful shutdown: logind waits for a shorter time than the pods may take';
      logger.error(text, { waitsMs: delay, neededMs: totalMs });
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('no graceful shutdown: logind cannot be asked', { why: messageOf(error) });
    }
    return false;
  }

  #onSignal(begins: boolean, signal: AbortSignal): void {
    const { shutdown, logind, logger } = this.#deps;
    if (!begins) {
      shutdown.cancel();
      this.#release ??= logind.inhibit();
      return;
    }
    shutdown
      .begin(signal)
      .catch((error: unknown) => {
        if (!signal.aborted) logger.error('the pods could not be stopped', { err: error });
      })
      .finally(() => this.#letGo());
  }

  #letGo(): void {
    this.#release?.();
    this.#release = undefined;
  }
}
