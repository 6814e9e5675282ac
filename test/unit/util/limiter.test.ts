import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Limiter } from '../../../src/util/limiter.ts';
import { ManualClock, settle } from '../../support/clock.ts';

const never = new AbortController().signal;

function hold(): { promise: Promise<void>; release: () => void } {
  let release = (): void => undefined;
  const promise = new Promise<void>((resolve) => (release = resolve));
  return { promise, release };
}

describe('Limiter', () => {
  it('serves waiters by rank, equal ranks by arrival', async () => {
    const limiter = new Limiter({ slots: 1, patienceMs: 1e9, clock: new ManualClock() });
    const first = hold();
    const order: string[] = [];
    const running = [
      limiter.run(0, never, () => first.promise),
      ...[
        [5, 'late'],
        [1, 'a'],
        [1, 'b'],
        [-3, 'urgent'],
      ].map(([rank, name]) =>
        limiter.run(rank as number, never, () => {
          order.push(name as string);
          return Promise.resolve();
        }),
      ),
    ];
    first.release();
    await Promise.all(running);
    assert.deepEqual(order, ['urgent', 'a', 'b', 'late']);
  });

  it('does not let a hanging holder block the others for longer than its patience', async () => {
    const clock = new ManualClock();
    const limiter = new Limiter({ slots: 1, patienceMs: 10_000, clock });
    const hanging = hold();
    const stuck = limiter.run(0, never, () => hanging.promise);
    let ran = false;
    const other = limiter.run(0, never, () => {
      ran = true;
      return Promise.resolve();
    });
    await clock.advance(9_999);
    assert.equal(ran, false);
    await clock.advance(1);
    await other;
    assert.equal(ran, true);
    hanging.release();
    await stuck;
    // The slot was given back once, not twice: still one at a time.
    const again = hold();
    const one = limiter.run(0, never, () => again.promise);
    let second = false;
    const two = limiter.run(0, never, () => {
      second = true;
      return Promise.resolve();
    });
    await settle();
    assert.equal(second, false);
    again.release();
    await Promise.all([one, two]);
  });

  it('forgets a waiter that gives up, and frees the slot of a task that fails', async () => {
    const limiter = new Limiter({ slots: 1, patienceMs: 1e9, clock: new ManualClock() });
    const first = hold();
    const running = limiter.run(0, never, async () => {
      await first.promise;
      throw new Error('boom');
    });
    const caller = new AbortController();
    const waiting = limiter.run(0, caller.signal, () => Promise.resolve('ran'));
    caller.abort(new Error('gave up'));
    await assert.rejects(waiting, /gave up/);
    first.release();
    await assert.rejects(running, /boom/);
    assert.equal(await limiter.run(0, never, () => Promise.resolve('next')), 'next');
  });
});
