import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TimeIsUp, TimeLimit } from '../../../src/probe/time-limit.ts';
import { ManualClock } from '../../support/clock.ts';

const hang = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });

describe('a limit in time', () => {
  it('ends what takes longer, each time anew', async () => {
    const clock = new ManualClock();
    const limit = new TimeLimit(clock, new AbortController().signal);
    for (const ms of [1000, 500, 2000]) {
      let ended = false;
      const work = limit.within(ms, hang).finally(() => (ended = true));
      const refused = assert.rejects(work, TimeIsUp);
      await clock.advance(ms - 1);
      assert.equal(ended, false, `${ms} ms are not over`);
      await clock.advance(1);
      await refused;
    }
  });

  it('of the work before means nothing to the next', async () => {
    const clock = new ManualClock();
    const limit = new TimeLimit(clock, new AbortController().signal);
    for (let i = 0; i < 50; i++) {
      assert.equal(await limit.within(1000, () => Promise.resolve(i)), i);
      await clock.advance(10);
    }
    assert.equal(clock.sleeping, 1, 'one alarm for all');
    const refused = assert.rejects(limit.within(1000, hang), TimeIsUp);
    await clock.advance(999);
    assert.equal(clock.sleeping, 1);
    await clock.advance(1);
    await refused;
  });

  it('may be shorter than that of the work before', async () => {
    const clock = new ManualClock();
    const limit = new TimeLimit(clock, new AbortController().signal);
    await limit.within(60_000, () => Promise.resolve());
    const refused = assert.rejects(limit.within(1000, hang), TimeIsUp);
    await clock.advance(1000);
    await refused;
  });

  it('hands on what the work threw, and the reason of the stop', async () => {
    const stop = new AbortController();
    const limit = new TimeLimit(new ManualClock(), stop.signal);
    const own = new Error('own');
    await assert.rejects(
      limit.within(1000, () => Promise.reject(own)),
      own,
    );
    const reason = new Error('stopped');
    const refused = assert.rejects(limit.within(1000, hang), reason);
    stop.abort(reason);
    await refused;
    await assert.rejects(limit.within(1000, hang), reason);
  });
});
