import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RestartRecord } from '../../../src/runtime/crash-backoff.ts';
import { CrashBackoff } from '../../../src/runtime/crash-backoff.ts';
import type { RuntimeContainerStatus } from '../../../src/runtime/model.ts';
import { ManualClock } from '../../support/clock.ts';
import { containerOf, podOf, recordOf } from '../../support/pods.ts';

const app = containerOf('app');
const pod = podOf();

function setUp(maxMs = 300_000) {
  const clock = new ManualClock();
  const records = new Map<string, RestartRecord>();
  const store = {
    get: (uid: string, name: string) => records.get(`${uid}/${name}`),
    put: (uid: string, name: string, record: RestartRecord) =>
      void records.set(`${uid}/${name}`, record),
  };
  const make = () => new CrashBackoff({ clock, store, range: { baseMs: 10_000, maxMs } });
  return { clock, make, backoff: make(), records };
}

function exitedNow(clock: ManualClock, id: string): RuntimeContainerStatus {
  const finishedAt = BigInt(Math.round(clock.wall())) * 1_000_000n;
  return recordOf(app, 'exited', { id, finishedAt, exitCode: 1 });
}

/** Crashes at once and restarts as soon as allowed; returns the pauses in seconds. */
async function pauses(t: ReturnType<typeof setUp>, crashes: number): Promise<number[]> {
  const out: number[] = [];
  for (let i = 0; i < crashes; i++) {
    const exited = exitedNow(t.clock, `run-${i}`);
    const verdict = t.backoff.check(pod, app, exited);
    const leftMs = verdict.kind === 'wait' ? verdict.leftMs : 0;
    out.push(leftMs / 1000);
    await t.clock.advance(leftMs);
    assert.equal(t.backoff.check(pod, app, exited).kind, 'go');
    t.backoff.restarted(pod, app, exited, i + 1);
  }
  return out;
}

describe('CrashLoopBackOff', () => {
  it('restarts once at once, then pauses 10 s doubling to 5 minutes', async () => {
    assert.deepEqual(await pauses(setUp(), 9), [0, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('never pauses longer than the configured maximum', async () => {
    assert.deepEqual(await pauses(setUp(20_000), 5), [0, 10, 20, 20, 20]);
    assert.deepEqual(await pauses(setUp(4_000), 3), [0, 4, 4]);
  });

  it('starts anew after a run of more than ten minutes', async () => {
    const t = setUp();
    await pauses(t, 4);
    await t.clock.advance(601_000);
    const exited = exitedNow(t.clock, 'long');
    assert.equal(t.backoff.check(pod, app, exited).kind, 'go');
    t.backoff.restarted(pod, app, exited, 5);
    const next = t.backoff.check(pod, app, exitedNow(t.clock, 'again'));
    assert.deepEqual(next, { kind: 'wait', delayMs: 10_000, leftMs: 10_000 });
  });

  it('goes on after an agent restart where it was', async () => {
    const t = setUp();
    await pauses(t, 3);
    const exited = exitedNow(t.clock, 'x');
    await t.clock.advance(5_000);
    const verdict = t.make().check(pod, app, exited);
    assert.deepEqual(verdict, { kind: 'wait', delayMs: 40_000, leftMs: 35_000 });
  });

  it('is neither ended nor prolonged by a jump of the wall clock', async () => {
    for (const jump of [-86_400_000 * 365, 86_400_000 * 365 * 50]) {
      const t = setUp();
      await pauses(t, 2);
      const exited = exitedNow(t.clock, 'x');
      t.backoff.check(pod, app, exited);
      t.clock.jumpWall(jump);
      await t.clock.advance(15_000);
      assert.equal(t.backoff.check(pod, app, exited).kind, 'wait');
      await t.clock.advance(5_000);
      assert.equal(t.backoff.check(pod, app, exited).kind, 'go');
    }
  });

  it('waits at most one pause for an end that lies in the future', () => {
    const t = setUp();
    t.backoff.restarted(pod, app, exitedNow(t.clock, 'a'), 1);
    const ahead = recordOf(app, 'exited', {
      id: 'b',
      finishedAt: BigInt(t.clock.wall() + 1e9) * 1_000_000n,
    });
    // A finish far after the restart looks like a long run: the crash loop is forgiven.
    assert.equal(t.backoff.check(pod, app, ahead).kind, 'go');
  });

  it('does not hold a changed image responsible', async () => {
    const t = setUp();
    await pauses(t, 4);
    const exited = exitedNow(t.clock, 'x');
    assert.equal(t.backoff.check(pod, containerOf('app', { image: 'fixed:2' }), exited).kind, 'go');
  });

  it('remembers the restart count', async () => {
    const t = setUp();
    await pauses(t, 3);
    assert.equal(t.make().storedCount('uid-1', 'app'), 3);
  });

  it('goes on although the record of the run that crashed was removed, also after an agent restart', async () => {
    const t = setUp();
    await pauses(t, 2);
    t.backoff.removed(pod, exitedNow(t.clock, 'x'));
    await t.clock.advance(5_000);
    const wait = { kind: 'wait', delayMs: 20_000, leftMs: 15_000 };
    assert.deepEqual(t.backoff.check(pod, app, undefined), wait);
    assert.deepEqual(t.make().check(pod, app, undefined), wait);
    await t.clock.advance(15_000);
    assert.equal(t.backoff.check(pod, app, undefined).kind, 'go');
    t.backoff.restarted(pod, app, undefined, 3);
    const next = t.backoff.check(pod, app, exitedNow(t.clock, 'y'));
    assert.deepEqual(next, { kind: 'wait', delayMs: 40_000, leftMs: 40_000 });
    // Without a record and without a crash there is nothing to wait for.
    assert.equal(t.backoff.check(pod, app, undefined).kind, 'go');
  });
});
