import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Annotation } from '../../../src/api/reasons.ts';
import { settle } from '../../support/clock.ts';
import { containerOf, podOf, recordOf, runtimeOf, sandboxOf } from '../../support/pods.ts';
import { World, desired, world } from './world.ts';

describe('PodManager', () => {
  it('runs what is wanted and removes what is not, every trace of it', () =>
    world(async (w) => {
      w.manager.update([desired('a'), desired('b', { name: 'other' })]);
      await settle();
      assert.deepEqual([...w.running], ['a', 'b']);
      w.manager.update([desired('b', { name: 'other' })]);
      await settle(4);
      assert.deepEqual(w.log.slice(2), ['stop a', 'release a', 'purge a']);
      assert.deepEqual([...w.running], ['b']);
    }));

  it('starts a successor of the same name only when its predecessor has ended', () =>
    world(async (w) => {
      w.manager.update([desired('v1')]);
      await settle();
      w.stubborn.set('v1', () => undefined);
      w.manager.update([desired('v2')]);
      await settle(4);
      assert.deepEqual([...w.running], ['v1']);
      const shown = w.manager
        .pods()
        .map((p) => [p.metadata.uid, Boolean(p.metadata.deletionTimestamp)]);
      assert.deepEqual(shown, [
        ['v2', false],
        ['v1', true],
      ]);
      w.letStop('v1');
      await settle(6);
      assert.deepEqual(w.log.slice(0, 3), ['start v1', 'stop v1', 'release v1']);
      assert.deepEqual(w.log.slice(3).sort(), ['purge v1', 'start v2']);
      assert.deepEqual(w.events, ['ManifestChanged web-edge1']);
    }));

  it('makes a pod wait for the host port of one that is ending under another name', () =>
    world(async (w) => {
      w.manager.update([desired('old', { hostPort: 4444 })]);
      await settle();
      w.stubborn.set('old', () => undefined);
      w.manager.update([desired('new', { name: 'renamed', file: '/m/x.yaml', hostPort: 4444 })]);
      await settle(4);
      assert.deepEqual([...w.running], ['old']);
      w.letStop('old');
      await settle(6);
      assert.deepEqual([...w.running], ['new']);
    }));

  it('runs a pod again whose manifest came back while it was ending', () =>
    world(async (w) => {
      w.manager.update([desired('a')]);
      await settle();
      w.stubborn.set('a', () => undefined);
      w.manager.update([]);
      await settle();
      w.manager.update([desired('a')]);
      w.letStop('a');
      await settle(8);
      assert.deepEqual(w.log, ['start a', 'stop a', 'release a', 'purge a', 'start a']);
    }));

  it('keeps the records of a pod that ended by itself until its manifest goes', () =>
    world(async (w) => {
      w.results.set('a', () => ({ kind: 'terminal' }));
      w.manager.update([desired('a')]);
      await settle(6);
      assert.deepEqual(w.log, ['start a', 'stop a', 'release a']);
      assert.deepEqual([...w.manager.counts()], [['completed', 1]]);
      w.manager.update([]);
      await settle(4);
      assert.deepEqual(w.log.at(-1), 'purge a');
      assert.deepEqual(w.manager.pods(), []);
    }));

  it('wakes the pods that refer to an object that changed, and no others', () =>
    world(async (w) => {
      const envFrom = [{ configMapRef: { name: 'cm' } }];
      const refers = podOf({ containers: [containerOf('app', { envFrom })] }, 'a');
      w.failures.set('a', 1);
      w.failures.set('b', 1);
      w.manager.update([{ ...desired('a'), pod: refers }, desired('b', { name: 'other' })]);
      await settle();
      assert.deepEqual(w.log, ['fail a', 'fail b']);
      w.manager.objectsChanged([{ kind: 'ConfigMap', namespace: 'other', name: 'cm' }]);
      w.manager.objectsChanged([{ kind: 'Secret', namespace: 'default', name: 'cm' }]);
      await settle();
      assert.deepEqual(w.log, ['fail a', 'fail b']);
      w.manager.objectsChanged([{ kind: 'ConfigMap', namespace: 'default', name: 'cm' }]);
      await settle();
      assert.deepEqual([...w.running], ['a']);
    }));

  it('does not start again what ended in an earlier life of the agent', () =>
    world(async (w) => {
      w.statuses.set('a', { phase: 'Succeeded' });
      w.manager.update([desired('a')]);
      await settle(6);
      assert.deepEqual(w.log, ['release a']);
      assert.equal(w.manager.pods()[0]?.status.phase, 'Succeeded');
    }));

  it('retries a failing pod with growing pauses and lets the others run', () =>
    world(async (w) => {
      w.failures.set('a', 4);
      w.manager.update([desired('a'), desired('b', { name: 'other' })]);
      await settle();
      assert.deepEqual([...w.running], ['b']);
      const at: number[] = [];
      for (let ms = 0; ms < 30_000 && !w.running.has('a'); ms += 500) {
        const before = w.log.length;
        await w.clock.advance(500);
        if (w.log.length > before) at.push((ms + 500) / 1000);
      }
      assert.deepEqual(at, [1, 3, 7, 15]);
    }));

  it('ends leftovers that no manifest asks for, but not while one of them may be wanted', () =>
    world(async (w) => {
      w.leftovers = [
        { uid: 'a', name: 'web-edge1', namespace: 'default' },
        { uid: 'old', name: 'gone-edge1', namespace: 'default' },
      ];
      w.manager.update([desired('a')]);
      w.mayBeWanted = true;
      await w.manager.adoptLeftovers();
      await settle(4);
      assert.deepEqual(w.log, ['start a']);
      w.mayBeWanted = false;
      await w.manager.adoptLeftovers();
      await settle(6);
      assert.deepEqual(w.log.slice(1), ['stop old', 'release old', 'purge old']);
    }));

  it('ends the leftover of a changed manifest before its successor starts', async () => {
    const w = new World();
    w.leftovers = [{ uid: 'v1', name: 'web-edge1', namespace: 'default' }];
    w.stubborn.set('v1', () => undefined);
    await w.manager.begin([desired('v2')]);
    await settle(4);
    assert.deepEqual(w.log, ['stop v1']);
    w.letStop('v1');
    await settle(6);
    assert.deepEqual(w.log.slice(0, 2), ['stop v1', 'release v1']);
    assert.ok(w.running.has('v2'));
    await w.tasks.stop();
  });

  it('makes a pod wait for the host port of a leftover, which only its containers remember', async () => {
    const ports = (hostPort: number, protocol = 'TCP'): string =>
      JSON.stringify([{ hostPort, containerPort: 80, protocol }]);
    const cases = [
      [ports(4444), false],
      [ports(4445), true],
      [ports(4444, 'UDP'), true],
      ['[null, 7', true],
    ] as const;
    for (const [remembered, runsAtOnce] of cases) {
      const w = new World();
      const annotations = { [Annotation.containerPorts]: remembered };
      w.known = runtimeOf(
        [sandboxOf()],
        [recordOf(containerOf('app'), 'running', { annotations })],
      );
      w.leftovers = [{ uid: 'old', name: 'gone-edge1', namespace: 'default' }];
      w.stubborn.set('old', () => undefined);
      await w.manager.begin([desired('new', { hostPort: 4444 })]);
      await settle(4);
      assert.equal(w.running.has('new'), runsAtOnce, remembered);
      w.letStop('old');
      await settle(6);
      assert.ok(w.running.has('new'), remembered);
      await w.tasks.stop();
    }
  });

  it('brings the status up to date while a pass is busy, but not in the middle of a start', () =>
    world(async (w) => {
      let done = (): void => undefined;
      w.busy = new Promise((resolve) => (done = resolve));
      w.manager.update([desired('a')]);
      await settle();
      const app = containerOf('app');
      w.known = runtimeOf([sandboxOf()], [recordOf(app, 'created')]);
      w.manager.poke('a');
      await settle();
      assert.deepEqual(w.log, []);
      w.known = runtimeOf([sandboxOf()], [recordOf(app, 'running')]);
      w.manager.poke('a');
      await settle();
      assert.deepEqual(w.log, ['refresh a']);
      done();
    }));

  it('tells the warnings of a manifest once, as events of the pod', () =>
    world(async (w) => {
      const odd = desired('a', { warnings: ['spec.foo: unknown field'] });
      w.manager.update([odd]);
      w.manager.update([odd]);
      await settle();
      assert.deepEqual(w.events, ['ManifestWarning web-edge1']);
      assert.deepEqual(w.manager.warnings('a'), ['spec.foo: unknown field']);
    }));
});
