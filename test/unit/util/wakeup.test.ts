import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Wakeup } from '../../../src/util/wakeup.ts';
import { ManualClock, settle } from '../../support/clock.ts';

describe('Wakeup', () => {
  it('does not lose a poke that comes before the wait, and merges many into one', async () => {
    const clock = new ManualClock();
    const wakeup = new Wakeup();
    const { signal } = new AbortController();
    wakeup.poke();
    wakeup.poke();
    await wakeup.wait(clock, Infinity, signal);
    let woken = false;
    const second = wakeup.wait(clock, Infinity, signal).then(() => (woken = true));
    await settle();
    assert.equal(woken, false);
    wakeup.poke();
    await second;
  });

  it('wakes by itself after the time given, and leaves no sleeper behind', async () => {
    const clock = new ManualClock();
    const wakeup = new Wakeup();
    const waiting = wakeup.wait(clock, 500, new AbortController().signal);
    await clock.advance(500);
    await waiting;
    assert.equal(clock.sleeping, 0);
  });

  it('rejects when the caller stops', async () => {
    const controller = new AbortController();
    const waiting = new Wakeup().wait(new ManualClock(), Infinity, controller.signal);
    controller.abort(new Error('stopping'));
    await assert.rejects(waiting, /stopping/);
  });
});
