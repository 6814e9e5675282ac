import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podOf } from '../../support/pods.ts';
import { returnsOf } from '../../support/returns.ts';

const MINUTE = 60_000;
const TRANSITION = 5 * MINUTE;
const a = podOf({}, 'a');
const b = podOf({}, 'b');
const important = podOf({ priority: 5 }, 'important');

function returns(more: Parameters<typeof returnsOf>[1] = {}): ReturnType<typeof returnsOf> {
  return returnsOf(TRANSITION, more);
}

function uidOf(pod: ReturnType<typeof podOf> | undefined): string | undefined {
  return pod?.metadata.uid;
}

test('nobody comes back before the transition period, and then once for each permission', () => {
  const r = returns();
  r.evicted('a', 0);
  assert.equal(r.permitNext([a], TRANSITION - 1), undefined);
  assert.equal(r.mayReturn('a', TRANSITION - 1), false);
  assert.equal(uidOf(r.permitNext([a], TRANSITION)), 'a');
  assert.deepEqual([r.mayReturn('a', TRANSITION), r.mayReturn('a', TRANSITION)], [true, false]);
});

test('one at a time: the most important first, then who has waited longest', () => {
  const r = returns();
  r.evicted('b', 0);
  r.evicted('a', 1);
  r.evicted('important', 2);
  const waiting = [a, b, important];
  const now = TRANSITION + 2;
  assert.equal(uidOf(r.permitNext(waiting, now)), 'important');
  assert.equal(r.permitNext([a, b], now + MINUTE - 1), undefined);
  assert.equal(uidOf(r.permitNext([a, b], now + MINUTE)), 'b');
  assert.equal(uidOf(r.permitNext([a], now + 2 * MINUTE)), 'a');
});

test('who is evicted again soon waits twice as long, then four times, at most an hour', () => {
  const r = returns();
  let now = 0;
  for (const pause of [5, 10, 20, 40, 60, 60]) {
    r.evicted('a', now);
    assert.equal(r.permitNext([a], now + pause * MINUTE - 1), undefined, `${pause}`);
    now += pause * MINUTE;
    assert.equal(uidOf(r.permitNext([a], now)), 'a');
    assert.ok(r.mayReturn('a', now));
    now += 2 * MINUTE;
  }
});

test('a long quiet run is forgiven', () => {
  const r = returns();
  r.evicted('a', 0);
  r.permitNext([a], TRANSITION);
  r.mayReturn('a', TRANSITION);
  const later = TRANSITION + 10 * MINUTE;
  r.evicted('a', later);
  assert.equal(uidOf(r.permitNext([a], later + TRANSITION)), 'a');
});

test('what an earlier agent evicted waits from when it is seen', () => {
  const r = returns();
  assert.equal(r.permitNext([a], 1000), undefined);
  assert.equal(uidOf(r.permitNext([a], 1000 + TRANSITION)), 'a');
});

test('how often a pod was evicted in a row is known after a restart of the agent', () => {
  const strikes = new Map<string, number>();
  const before = returns({ strikes });
  before.evicted('a', 0);
  assert.equal(uidOf(before.permitNext([a], TRANSITION)), 'a');
  before.mayReturn('a', TRANSITION);
  before.evicted('a', TRANSITION + MINUTE);
  // Times begin anew: the machine may have been started again.
  const waits = returns({ strikes, startMs: 100 });
  assert.equal(waits.permitNext([a], 100 + 2 * TRANSITION - 1), undefined);
  assert.equal(uidOf(waits.permitNext([a], 100 + 2 * TRANSITION)), 'a');
  const runs = returns({ strikes, startMs: 100 });
  runs.evicted('a', 100 + MINUTE);
  assert.equal(strikes.get('a'), 3);
  const quiet = returns({ strikes, startMs: 100 });
  quiet.evicted('a', 100 + 60 * MINUTE);
  assert.equal(strikes.get('a'), 1);
  quiet.retain(() => false);
  assert.deepEqual([...strikes], []);
});

test('without eviction of static pods whatever was evicted may come back', () => {
  const r = returns({ staticPodEviction: false });
  r.evicted('a', 0);
  assert.ok(r.mayReturn('a', 1));
});

test('pods that are gone are forgotten', () => {
  const r = returns();
  r.evicted('a', 0);
  r.permitNext([a], TRANSITION);
  r.retain((uid) => ['b'].includes(uid));
  assert.equal(r.mayReturn('a', TRANSITION), false);
});

test('who was permitted and finds no room keeps nobody else out, and waits on when pressure is back', () => {
  const r = returns();
  r.evicted('a', 0);
  r.evicted('b', 1);
  const now = TRANSITION + 1;
  assert.equal(uidOf(r.permitNext([a, b], now)), 'a');
  assert.equal(uidOf(r.permitNext([a, b], now + MINUTE)), 'b');
  assert.equal(r.permitNext([a, b], now + 2 * MINUTE), undefined);
  r.retract();
  assert.equal(r.mayReturn('a', now + 3 * MINUTE), false);
  assert.equal(uidOf(r.permitNext([a, b], now + 3 * MINUTE)), 'a');
});
