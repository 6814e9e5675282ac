/**
 * Owns: saying the same trouble at most once a minute per subject (spec: pleg.md §3.4).
 */
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Fields, Logger } from '../util/log.ts';

const REPEAT_MS = 60_000;

export class RareLog {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #said = new Map<string, { readonly text: string; readonly at: number }>();

  constructor(deps: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = deps.clock;
    this.#log = deps.log;
  }

  warn(subject: string, message: string, error: unknown, fields: Fields = {}): void {
    const text = messageOf(error);
    const at = this.#clock.monotonic();
    const last = this.#said.get(subject);
    if (last?.text === text && at - last.at < REPEAT_MS) return;
    this.#said.set(subject, { text, at });
    this.#log.warn(message, { ...fields, err: error });
  }

  /** The trouble is over; the next one is said at once. */
  forget(subject: string): void {
    this.#said.delete(subject);
  }
}
