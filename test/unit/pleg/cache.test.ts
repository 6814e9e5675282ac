/** The status cache's freshness rule, spec pleg.md §4, and what a hold adds to it. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import fc from 'fast-check';
import { StatusCache } from '../../../src/pleg/cache.ts';
import { emptyRuntimeStatus } from '../../../src/runtime/model.ts';
import { stateOf } from './harness.ts';

const { signal } = new AbortController();
const web = { ...emptyRuntimeStatus('web', 'web', 'default'), ips: ['10.0.0.1'] };

let kicks = 0;
let cache: StatusCache;
beforeEach(() => {
  kicks = 0;
  cache = new StatusCache({ onWait: () => kicks++ });
});

test('an entry newer than asked for is given at once and wakes nobody', async () => {
  cache.set('web', web, undefined, 10);
  assert.equal(await cache.getNewerThan('web', 9, signal), web);
  assert.equal(kicks, 0);
});

test('an older one is waited for: by its own time or by a list that shows no change', async () => {
  cache.set('web', web, undefined, 10);
  const bySet = cache.getNewerThan('web', 15, signal);
  const byList = cache.getNewerThan('web', 25, signal);
  assert.deepEqual([await stateOf(bySet), await stateOf(byList)], ['waits', 'waits']);
  assert.deepEqual([kicks, cache.waiting], [2, 2]);
  cache.set('web', { ...web, ips: [] }, undefined, 20);
  assert.deepEqual((await bySet).ips, []);
  assert.equal(await stateOf(byList), 'waits');
  cache.updateTime(30);
  assert.equal(await stateOf(byList), 'done');
  assert.equal(cache.waiting, 0);
});

test('a pod that is not there is an empty status, but only after a list', async () => {
  const first = cache.getNewerThan('web', 0, signal);
  assert.equal(await stateOf(first), 'waits');
  cache.updateTime(5);
  assert.deepEqual(await first, emptyRuntimeStatus('web'));
  assert.deepEqual(await cache.getNewerThan('web', 4, signal), emptyRuntimeStatus('web'));
});

test('while a pod is held lists prove nothing about it, and about others as before', async () => {
  cache.set('web', web, undefined, 10);
  cache.hold('web');
  cache.updateTime(20);
  const held = cache.getNewerThan('web', 12, signal);
  assert.equal(await stateOf(held), 'waits');
  assert.equal(await stateOf(cache.getNewerThan('other', 12, signal)), 'done');
  cache.release('web');
  assert.equal(await stateOf(held), 'done');
});

test('an error is the answer, and the last good status stays readable', async () => {
  cache.set('web', web, undefined, 10);
  const waiting = cache.getNewerThan('web', 15, signal);
  cache.set('web', web, new Error('no status'), 20);
  await assert.rejects(waiting, /no status/);
  await assert.rejects(cache.getNewerThan('web', 15, signal), /no status/);
  assert.equal(cache.get('web'), web);
  cache.set('web', web, undefined, 30);
  assert.equal(await cache.getNewerThan('web', 15, signal), web);
});

test('an abort ends the wait and leaves nothing behind', async () => {
  const controller = new AbortController();
  const waiting = cache.getNewerThan('web', 5, controller.signal);
  controller.abort(new Error('stop'));
  await assert.rejects(waiting, /stop/);
  assert.equal(cache.waiting, 0);
  await assert.rejects(cache.getNewerThan('web', 5, controller.signal), /stop/);
});

type Step =
  | { readonly kind: 'list'; readonly changed: readonly string[] }
  | { readonly kind: 'inspected'; readonly uid: string; readonly ok: boolean }
  | { readonly kind: 'ask'; readonly uid: string; readonly ago: number };

const uid = fc.constantFrom('a', 'b');
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('list' as const), changed: fc.uniqueArray(uid) }),
  fc.record({ kind: fc.constant('inspected' as const), uid, ok: fc.boolean() }),
  fc.record({ kind: fc.constant('ask' as const), uid, ago: fc.nat(3) }),
);

test('nobody is ever given a status from before a change that a list has shown', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const subject = new StatusCache({ onWait: () => undefined });
      const changedAt = new Map<string, number>();
      const inspecting = new Map<string, number>();
      const answers: Promise<void>[] = [];
      const stop = new AbortController();
      let now = 10;
      for (const current of steps) {
        now++;
        if (current.kind === 'list') {
          for (const name of current.changed) {
            changedAt.set(name, now);
            subject.hold(name);
            if (!inspecting.has(name)) inspecting.set(name, now);
          }
          subject.updateTime(now);
        } else if (current.kind === 'inspected') {
          const begun = inspecting.get(current.uid);
          if (begun === undefined) continue;
          const status = { ...emptyRuntimeStatus(current.uid), name: String(begun) };
          const error = current.ok ? undefined : new Error('failed');
          subject.set(current.uid, status, error, begun);
          const changed = changedAt.get(current.uid) ?? 0;
          if (changed > begun) inspecting.set(current.uid, changed);
          else {
            inspecting.delete(current.uid);
            subject.release(current.uid);
          }
        } else {
          const newerThan = now - current.ago;
          const known = changedAt.get(current.uid) ?? 0;
          const answer = subject.getNewerThan(current.uid, newerThan, stop.signal);
          const checked = answer.then(
            (status) => assert.ok(newerThan < known || Number(status.name || '0') >= known),
            () => undefined,
          );
          answers.push(checked);
        }
      }
      stop.abort(new Error('end'));
      await Promise.all(answers);
      assert.equal(subject.waiting, 0);
    }),
  );
});
