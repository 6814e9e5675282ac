/** What each record keeps over a restart of the agent, and what it does not write. */
import assert from 'node:assert/strict';
import { copyFileSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { StoreFixture, contents, fill, target } from './store-fixture.ts';

/** A store on the files as a killed agent leaves them: the log not yet merged, nothing flushed. */
function killed(f: StoreFixture): StoreFixture {
  const after = new StoreFixture();
  for (const suffix of ['', '-wal']) copyFileSync(f.path + suffix, after.path + suffix);
  after.open();
  return after;
}

describe('store', () => {
  let f: StoreFixture;
  beforeEach(() => {
    f = new StoreFixture();
    f.open();
  });
  afterEach(() => f.end());

  it('has everything after a restart', () => {
    fill(f.store, 'a');
    fill(f.store, 'b');
    const before = contents(f.store);
    assert.equal(before.length, 12);
    assert.deepEqual(contents(f.reopen()), before);
    assert.equal(f.store.recovered, undefined);
    assert.equal(f.store.trouble, undefined);
    assert.deepEqual(f.errors(), []);
  });

  it('has nothing of what was deleted', () => {
    fill(f.store, 'a');
    f.reopen();
    f.store.lastGood.delete('/m/a.yaml');
    f.store.firstSeen.delete('a');
    f.store.pods.delete('a');
    f.store.restarts.deletePod('a');
    f.store.images.delete('image/a');
    f.reopen();
    assert.deepEqual(contents(f.store), ['event a started a 1']);
  });

  it('leaves one plain file behind when it is closed', () => {
    fill(f.store, 'a');
    f.store.close();
    assert.deepEqual(f.files(), ['state.db']);
    const db = new Database(f.path, { readonly: true });
    assert.equal(db.prepare('SELECT count(*) FROM pod').pluck().get(), 1);
    db.close();
  });

  it('ends quietly when it is used after the close', () => {
    f.store.close();
    fill(f.store, 'late');
    assert.equal(f.store.flush(), false);
    assert.deepEqual(f.files(), ['state.db']);
  });

  it('keeps a finished pod finished even when the agent is killed right after', () => {
    const pod = { uid: 'u', namespace: 'n', name: 'p', status: { phase: 'Succeeded' as const } };
    f.store.pods.put({ ...pod, finished: 'Succeeded' });
    const after = killed(f);
    assert.equal(after.store.recovered, undefined);
    assert.equal(after.store.pods.finished('u'), 'Succeeded');
    assert.equal(after.store.pods.get('u')?.status.phase, 'Succeeded');
    after.end();
  });

  it('tells containers of pods apart whatever characters the uid has', () => {
    f.store.restarts.put('a/b', 'c', { count: 1, delayMs: 0 });
    f.store.restarts.put('a', 'c', { count: 2, delayMs: 0 });
    f.reopen();
    assert.deepEqual(
      [...f.store.restarts.allOf('a/b').values()],
      [{ count: 1, delayMs: 0, lastRestartWallMs: undefined, endedWallMs: undefined }],
    );
    f.store.restarts.deletePod('a');
    assert.deepEqual(f.store.restarts.uids(), ['a/b']);
  });

  it('keeps count and pause of a crash loop as they were when the agent was killed', () => {
    const status = (restartCount: number) => ({
      phase: 'Running' as const,
      containerStatuses: [
        { ...{ name: 'app', image: 'i', imageID: 'i', ready: false, restartCount } },
        { ...{ name: 'side', image: 'i', imageID: 'i', ready: true, restartCount: 0 } },
      ].map((one) => ({ ...one, started: true, state: {}, lastState: {} })),
    });
    const pod = { uid: 'u', namespace: 'n', name: 'p', finished: undefined };
    f.store.pods.put({ ...pod, status: status(0) });
    for (const count of [1, 2]) {
      f.store.restarts.put('u', 'app', { count, delayMs: count * 10_000 });
      const afterStart = killed(f);
      assert.equal(afterStart.store.restarts.get('u', 'app')?.count, count);
      assert.equal(afterStart.store.restarts.get('u', 'app')?.delayMs, count * 10_000);
      afterStart.end();
      f.store.pods.put({ ...pod, status: status(count) });
      const afterLook = killed(f);
      assert.deepEqual(afterLook.store.pods.get('u')?.status, status(count));
      afterLook.end();
    }
  });

  it('keeps a large manifest too', () => {
    const content = Buffer.alloc(300_000, 'x');
    f.store.lastGood.put({ file: '/m/big.yaml', digest: 'd', content, seenAt: 1 });
    assert.deepEqual(Buffer.from(f.store.lastGood.get('/m/big.yaml')?.content ?? []), content);
    f.reopen();
    assert.deepEqual(Buffer.from(f.store.lastGood.get('/m/big.yaml')?.content ?? []), content);
  });
});

describe('store writes', () => {
  let f: StoreFixture;
  const walSize = (): number => statSync(`${f.path}-wal`).size;
  beforeEach(() => {
    f = new StoreFixture();
    f.open();
    fill(f.store, 'a');
    f.store.flush();
  });
  afterEach(() => f.end());

  it('writes nothing when nothing changed', () => {
    const before = walSize();
    fill(f.store, 'a'); // the event repeats, which is gathered; all else is as it was
    assert.equal(walSize(), before);
  });

  it('gathers what a crash-looping container does', async () => {
    const stop = new AbortController();
    const running = f.store.run(stop.signal);
    const before = walSize();
    for (let minute = 0; minute < 60; minute++) {
      for (const phase of ['Running', 'Failed', 'Pending'] as const) {
        f.store.pods.put({
          uid: 'a',
          namespace: 'n',
          name: 'a',
          status: { phase, message: `${minute}` },
        });
        f.store.restarts.put('a', 'app', { count: minute, delayMs: 60_000 });
        f.store.events.event(target('a', 'spec.containers{app}'), 'Warning', 'BackOff', 'again');
        await f.clock.advance(1_000);
      }
      await f.clock.advance(57_000);
    }
    const perMinute = (walSize() - before) / 60;
    console.log(`# ${Math.round(perMinute)} bytes of log a minute`);
    assert.ok(perMinute > 0 && perMinute < 20_000, `${perMinute} bytes a minute`);
    stop.abort(new Error('stop'));
    await running;
    f.reopen();
    assert.equal(f.store.events.list({ uid: 'a' }).find((e) => e.reason === 'BackOff')?.count, 180);
  });

  it('sleeps while nothing is pending', async () => {
    const stop = new AbortController();
    const running = f.store.run(stop.signal);
    await f.clock.advance(0);
    assert.equal(f.clock.untilNext, Infinity);
    stop.abort(new Error('stop'));
    await running;
  });
});
