/**
 * Owns: a limit in time on one attempt.
 */
import type { Clock } from '../util/clock.ts';

/** Why the signal of `work` aborted when the time was up. */
export class TimeIsUp extends Error {
  constructor() {
    super('the time is up');
    this.name = 'TimeIsUp';
  }
}

/** The work is over: ends the timer, means nothing to anybody. */
const OVER = new Error('over');

/**
 * Runs `work` for at most `ms`: then its signal aborts with TimeIsUp. Work must end soon after its
 * signal aborts; it may reject with whatever it likes.
 * @throws TimeIsUp when the time was up, the reason of `signal` when that aborted, else what `work` threw
 */
export async function within<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const inner = new AbortController();
  const stop = (): void => inner.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  clock.sleep(ms, inner.signal).then(
    () => inner.abort(new TimeIsUp()),
    () => undefined,
  );
  try {
    return await work(inner.signal);
  } catch (error) {
    inner.signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    inner.abort(OVER);
  }
}
