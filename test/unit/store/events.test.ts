/** The event journal: what is one event, what is kept, what is listed. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { StoreFixture, target } from './store-fixture.ts';

const HOUR = 3_600_000;

describe('event journal', () => {
  let f: StoreFixture;
  beforeEach(() => {
    f = new StoreFixture();
    f.open();
  });
  afterEach(() => f.end());
  const messages = (): string[] => f.store.events.list().map((e) => `${e.message} ${e.count}`);

  it('counts repeats within an hour of the last and keeps first and last time', async () => {
    const first = f.clock.wall();
    for (let i = 0; i < 3; i++) {
      f.store.events.event(target('u'), 'Warning', 'BackOff', 'again');
      await f.clock.advance(HOUR - 1);
    }
    const [event, ...others] = f.store.events.list();
    assert.equal(others.length, 0);
    assert.deepEqual(
      [event?.count, event?.firstMs, event?.lastMs],
      [3, first, first + 2 * (HOUR - 1)],
    );
    await f.clock.advance(1);
    f.store.events.event(target('u'), 'Warning', 'BackOff', 'again');
    assert.deepEqual(messages(), ['again 3', 'again 1']);
  });

  it('takes different objects, fields, types, reasons and messages for different events', () => {
    const { events } = f.store;
    events.event(target('u'), 'Normal', 'A', 'm');
    events.event(target('v'), 'Normal', 'A', 'm');
    events.event(target('u', 'spec.containers{a}'), 'Normal', 'A', 'm');
    events.event(target('u'), 'Warning', 'A', 'm');
    events.event(target('u'), 'Normal', 'B', 'm');
    events.event(target('u'), 'Normal', 'A', 'n');
    assert.equal(events.list().length, 6);
  });

  it('goes on counting after a restart, and after the wall clock jumped', () => {
    f.store.events.event(target('u'), 'Normal', 'A', 'm');
    f.reopen();
    f.clock.jumpWall(-1e12);
    f.store.events.event(target('u'), 'Normal', 'A', 'm');
    f.reopen();
    assert.deepEqual(messages(), ['m 2']);
  });

  it('lists what is newest last, a repeat as new, whatever the wall clock says', () => {
    f.store.events.event(target('u'), 'Normal', 'A', 'one');
    f.clock.jumpWall(-1e12);
    f.store.events.event(target('u'), 'Normal', 'A', 'two');
    f.store.events.event(target('u'), 'Normal', 'A', 'one');
    assert.deepEqual(messages(), ['two 1', 'one 2']);
    f.reopen();
    assert.deepEqual(messages(), ['two 1', 'one 2']);
  });

  it('filters by object and by what is new', () => {
    const { events } = f.store;
    for (const uid of ['u', 'v', 'u'])
      events.event(target(uid), 'Normal', 'A', `m${events.list().length}`);
    const list = (filter: object): string[] => events.list(filter).map((e) => e.message);
    assert.deepEqual(list({ uid: 'u' }), ['m0', 'm2']);
    assert.deepEqual(list({ name: 'pod-v', namespace: 'default' }), ['m1']);
    assert.deepEqual(list({ namespace: 'other' }), []);
    assert.deepEqual(list({ limit: 2 }), ['m1', 'm2']);
    const [, second, third] = events.list();
    assert.deepEqual(list({ sinceId: second?.id }), ['m2']);
    events.event(target('u'), 'Normal', 'A', 'm0');
    assert.deepEqual(list({ sinceId: third?.id }), []);
    assert.deepEqual(list({ sinceRevision: third?.revision }), ['m0']);
  });

  it('keeps no more than it may, nor anything older', async () => {
    f.reopen({ maxEvents: 100, maxAgeMs: 2 * HOUR });
    for (let i = 0; i < 1000; i++) f.store.events.event(target('u'), 'Normal', 'A', `m${i}`);
    f.store.flush();
    const kept = f.store.events.list();
    assert.ok(kept.length >= 100 && kept.length < 100 + 64, `${kept.length}`);
    assert.equal(kept.at(-1)?.message, 'm999');
    await f.clock.advance(3 * HOUR);
    for (let i = 0; i < 70; i++) f.store.events.event(target('u'), 'Normal', 'A', `n${i}`);
    f.store.flush();
    assert.ok(f.store.events.list().every(({ message }) => message.startsWith('n')));
  });

  it('shortens a message above the bound of the API', () => {
    f.store.events.event(target('u'), 'Normal', 'A', 'x'.repeat(5000));
    assert.equal(f.store.events.list()[0]?.message.length, 1024);
  });
});
