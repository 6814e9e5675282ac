/**
 * Owns: when the next relist begins.
 *
 *   PERIOD_MS        after the end of the last one (spec: pleg.md §1)
 *   SAFETY_NET_MS    instead, while a trusted event stream does the waking. The kubelet takes 300 s there;
 *                    30 s bounds the harm of a lost event and costs a thirtieth of the usual relist
 *   SPACING_MS       from one start to the next at the least, however often it is poked: forty pods that
 *                    start all ask for relists, and ten a second serve them as well as two hundred
 */
import type { Clock } from '../util/clock.ts';
import { Wakeup } from '../util/wakeup.ts';

export const PERIOD_MS = 1000;
export const SAFETY_NET_MS = 30_000;
export const SPACING_MS = 100;

export class Pace {
  readonly #clock: Clock;
  readonly #wakeup = new Wakeup();
  #began: number | undefined;

  constructor(deps: { readonly clock: Clock }) {
    this.#clock = deps.clock;
  }

  poke(): void {
    this.#wakeup.poke();
  }

  /** A relist begins: milliseconds since the one before began. */
  begin(): number | undefined {
    const now = this.#clock.monotonic();
    const interval = this.#began === undefined ? undefined : now - this.#began;
    this.#began = now;
    return interval;
  }

  /** Until the next relist is due. Pokes since the last `wait` count. */
  async wait(slow: boolean, signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    const spacing = Math.max(0, SPACING_MS - (now - (this.#began ?? now)));
    if (spacing > 0) await this.#clock.sleep(spacing, signal);
    await this.#wakeup.wait(this.#clock, (slow ? SAFETY_NET_MS : PERIOD_MS) - spacing, signal);
  }
}
