/** The event stream: what it saves, and what it may not break. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { IsletError } from '../../../src/util/errors.ts';
import { settle } from '../../support/clock.ts';
import type { FakeStream } from './fake-runtime.ts';
import { newHarness, type Harness } from './harness.ts';

let h: Harness;
beforeEach(() => {
  h = newHarness();
  h.runtime.events = 'open';
  h.runtime.putPod('web');
});
afterEach(() => h.stop());

function stream(): FakeStream {
  const last = h.runtime.streams.at(-1);
  assert.ok(last, 'no stream was opened');
  return last;
}

function exit(state: 'exited' | 'running' = 'exited'): void {
  h.runtime.put({ id: 'web-c', sandboxId: 'web-s', uid: 'web', state });
}

/** One event, and the relist that it wakes. */
async function tell(id: string): Promise<void> {
  stream().tell(id);
  await settle();
  await h.clock.advance(5);
}

test('an event wakes the relist at once, a burst of them once', async () => {
  await h.start();
  await h.clock.advance(500);
  h.events();
  exit();
  for (const id of ['web-c', 'x', 'y', 'web-c']) stream().tell(id);
  await settle();
  await h.clock.advance(5);
  assert.deepEqual(h.events(), ['ContainerDied web-c']);
  assert.deepEqual(h.runtime.listsAt, [1000, 1505]);
});

test('a stream that has told something slows the relist down; an open one alone does not', async () => {
  await h.start();
  await h.clock.advance(10_000);
  assert.equal(h.runtime.listsAt.length, 11);
  await h.clock.advance(500);
  await tell('web-c');
  h.runtime.listsAt.length = 0;
  await h.clock.advance(60_000);
  assert.deepEqual(h.runtime.listsAt.length, 2);
  assert.equal(h.pleg.healthy(), undefined);
});

test('who waits for a newer status does not wait for the slow period', async () => {
  await h.start();
  await h.clock.advance(500);
  await tell('web-c');
  await h.clock.advance(3000);
  const waiting = h.pleg.getNewerThan('web', h.clock.monotonic(), h.signal);
  await settle();
  assert.equal((await waiting).containers.length, 1);
});

test('a status that fails is read again after a second, slow period or not', async () => {
  await h.start();
  await h.clock.advance(500);
  await tell('web-c');
  h.events();
  exit();
  h.runtime.before.set('containerStatus', () => Promise.reject(new IsletError('failed', 'no')));
  await h.clock.advance(500);
  await tell('web-c');
  h.runtime.before.clear();
  await h.clock.advance(1000);
  assert.deepEqual(h.events(), ['ContainerDied web-c']);
});

test('a break: a relist at once, a list every second, the stream again with back-off', async () => {
  await h.start();
  await h.clock.advance(500);
  await tell('web-c');
  await h.clock.advance(5000);
  h.runtime.listsAt.length = 0;
  h.runtime.events = 'unavailable';
  stream().break();
  await settle();
  assert.equal(h.runtime.listsAt.length, 1);
  await h.clock.advance(7500);
  assert.equal(h.runtime.listsAt.length, 8);
  assert.equal(h.runtime.count('containerEvents'), 4); // first, after 1 s, 2 s and 4 s
  await h.clock.advance(600_000);
  const before = h.runtime.count('containerEvents');
  await h.clock.advance(60_000);
  assert.equal(h.runtime.count('containerEvents'), before + 1);
  assert.equal(h.log.length, 0);
});

test('a runtime without the call is asked once, and again only as another version', async () => {
  h.runtime.events = 'unimplemented';
  const goneFor = async (ms: number): Promise<void> => {
    h.runtime.before.set('listContainers', () =>
      Promise.reject(new IsletError('unavailable', 'down')),
    );
    await h.clock.advance(ms);
    h.runtime.before.clear();
    await h.clock.advance(2000);
  };
  await h.start();
  await h.clock.advance(100_000);
  assert.equal(h.runtime.count('containerEvents'), 1);
  assert.equal(h.runtime.count('version'), 1);
  await goneFor(3000);
  assert.equal(h.runtime.count('containerEvents'), 1);
  h.runtime.runtimeVersion = '1.7.24';
  h.runtime.events = 'open';
  await goneFor(3000);
  assert.equal(h.runtime.count('containerEvents'), 2);
});

test('a stream that leaves out a death is not trusted any more, but still wakes', async () => {
  await h.start();
  await h.clock.advance(500);
  await tell('web-c');
  await h.clock.advance(31_000);
  exit();
  await h.clock.advance(31_000); // listed by the safety net, told by nobody
  await h.clock.advance(31_000);
  h.runtime.listsAt.length = 0;
  await h.clock.advance(10_000);
  assert.equal(h.runtime.listsAt.length, 10);
  assert.equal(h.log.length, 1);
  h.events();
  exit('running');
  await h.clock.advance(400);
  await tell('web-c');
  assert.deepEqual(h.events(), ['ContainerStarted web-c']);
});

test('an event that comes shortly after the list it belongs to is not missing', async () => {
  await h.start();
  await h.clock.advance(500);
  await tell('web-c');
  await h.clock.advance(31_000);
  exit();
  h.pleg.relistNow();
  await h.clock.advance(200);
  await tell('web-c');
  await h.clock.advance(100_000);
  h.runtime.listsAt.length = 0;
  await h.clock.advance(60_000);
  assert.equal(h.runtime.listsAt.length, 2);
});
