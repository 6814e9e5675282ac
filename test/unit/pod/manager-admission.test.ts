import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settle } from '../../support/clock.ts';
import { World, desired, world } from './world.ts';

describe('PodManager and admission', () => {
  it('refuses a pod whose host port another one has, and starts it when the port is free', () =>
    world(async (w) => {
      const first = desired('a', { hostPort: 80 });
      const second = desired('b', { name: 'other', file: '/m/b.yaml', hostPort: 80 });
      w.manager.update([first, second]);
      await settle();
      assert.deepEqual(w.log, ['start a']);
      const { startTime, ...status } = w.statuses.get('b') ?? {};
      assert.ok(startTime);
      assert.deepEqual(status, {
        phase: 'Failed',
        reason: 'NodePorts',
        message:
          "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        qosClass: 'BestEffort',
      });
      assert.deepEqual([w.events, w.rejections], [['NodePorts other'], ['NodePorts']]);
      assert.equal(w.manager.counts().get('rejected'), 1);
      w.manager.update([second]);
      await settle(8);
      assert.deepEqual([...w.running], ['b']);
      assert.equal(w.statuses.get('b')?.reason, undefined);
      assert.deepEqual(w.events, ['NodePorts other']);
    }));

  it('refuses one pod too many and takes it when another has gone; the more important one comes first', () =>
    world(
      async (w) => {
        const important = desired('z', { name: 'z', file: '/m/z.yaml', order: 9 });
        important.pod.spec.priority = 1000;
        w.manager.update([desired('a'), important]);
        await settle();
        assert.deepEqual([...w.running], ['z']);
        assert.equal(w.statuses.get('a')?.reason, 'OutOfpods');
        w.manager.update([desired('a')]);
        await settle(8);
        assert.deepEqual([...w.running], ['a']);
      },
      { maxPods: 1 },
    ));

  it('keeps the place of a pod for the one that its changed manifest makes of it', () =>
    world(
      async (w) => {
        const newcomer = desired('b', { name: 'b', file: '/m/b.yaml', order: 0 });
        newcomer.pod.spec.priority = 1000;
        w.manager.update([desired('a1', { order: 1 })]);
        await settle();
        w.manager.update([newcomer, desired('a1', { order: 1 })]);
        await settle();
        assert.equal(w.statuses.get('b')?.reason, 'OutOfpods');
        w.manager.update([newcomer, desired('a2', { order: 1 })]);
        await settle(12);
        assert.deepEqual([...w.running], ['a2']);
        w.manager.update([newcomer]);
        await settle(12);
        assert.deepEqual([...w.running], ['b']);
      },
      { maxPods: 1 },
    ));

  it('never refuses what runs, and gives the place to those that had it before', async () => {
    const w = new World({ maxPods: 1, labels: {} });
    w.found.add('a');
    const odd = desired('a');
    odd.pod.spec.nodeSelector = { disk: 'ssd' };
    await w.manager.begin([odd]);
    await settle();
    assert.deepEqual([[...w.running], w.events], [['a'], []]);
    await w.tasks.stop();

    const later = new World({ maxPods: 1 });
    later.statuses.set('b', { phase: 'Running', containerStatuses: [] });
    later.statuses.set('a', { phase: 'Failed', reason: 'OutOfpods' });
    await later.manager.begin([
      desired('a'),
      desired('b', { name: 'b', file: '/m/b.yaml', order: 1 }),
    ]);
    await settle();
    assert.deepEqual([...later.running], ['b']);
    assert.deepEqual(later.events, ['OutOfpods web-edge1']);
    await later.tasks.stop();
  });

  it('gives the place of a lesser pod to a critical one, and back once that has gone', () =>
    world(
      async (w) => {
        const low = desired('low', { name: 'low', file: '/m/low.yaml' });
        const critical = desired('crit', { name: 'crit', file: '/m/crit.yaml' });
        critical.pod.spec.priorityClassName = 'system-node-critical';
        w.manager.update([low]);
        await settle();
        w.statuses.set('low', { phase: 'Running', containerStatuses: [], qosClass: 'BestEffort' });
        w.stubborn.set('low', () => undefined);
        w.manager.update([low, critical]);
        await settle();
        assert.deepEqual([[...w.running], w.events], [['low'], ['Preempting low']]);
        assert.deepEqual(w.preempted, ['pods']);
        const { conditions, ...status } = w.statuses.get('low') ?? {};
        assert.deepEqual(status, {
          phase: 'Failed',
          reason: 'Preempting',
          message: 'Preempted in order to admit critical pod',
          containerStatuses: [],
          qosClass: 'BestEffort',
        });
        const [{ lastTransitionTime, ...condition } = {}, ...more] = conditions ?? [];
        assert.deepEqual(
          [condition, more],
          [
            {
              type: 'DisruptionTarget',
              status: 'True',
              lastProbeTime: null,
              reason: 'TerminationByKubelet',
              message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
            },
            [],
          ],
        );
        assert.ok(lastTransitionTime);
        w.letStop('low');
        await settle(8);
        assert.deepEqual([...w.running], ['crit']);
        assert.ok(w.log.includes('clear low'), 'what it left in the runtime is cleared away');
        assert.equal(w.statuses.get('low')?.reason, 'Preempting');
        w.manager.update([low]);
        await settle(8);
        assert.deepEqual([[...w.running], w.statuses.get('low')], [['low'], undefined]);
        assert.deepEqual([w.events, w.rejections], [['Preempting low'], []]);
      },
      { maxPods: 1 },
    ));

  it('does not wait for ever for a pod that cannot be ended', () =>
    world(
      async (w) => {
        const low = desired('low', { name: 'low', file: '/m/low.yaml' });
        const critical = desired('crit', { name: 'crit', file: '/m/crit.yaml' });
        critical.pod.spec.priority = 2_000_000_000;
        w.manager.update([low]);
        await settle();
        w.stubborn.set('low', () => undefined);
        w.manager.update([low, critical]);
        await settle();
        await w.clock.advance(60_000);
        await settle();
        assert.deepEqual([...w.running], ['low', 'crit']);
      },
      { maxPods: 1 },
    ));

  it('begins anew a pod whose place an earlier agent took away, cut off before it had cleared up', async () => {
    const w = new World();
    w.statuses.set('a', { phase: 'Failed', reason: 'Terminated', containerStatuses: [] });
    await w.manager.begin([desired('a')]);
    await settle(8);
    assert.deepEqual([w.log, w.statuses.get('a')], [['clear a', 'start a'], undefined]);
    await w.tasks.stop();
  });

  it('looks at a refused pod again after a while, and forgets it with its manifest', () => {
    let enabled = false;
    return world(
      async (w) => {
        const confined = desired('a');
        confined.pod.spec.securityContext = { appArmorProfile: { type: 'RuntimeDefault' } };
        w.manager.update([confined]);
        await settle();
        assert.equal(w.statuses.get('a')?.reason, 'AppArmor');
        w.manager.update([]);
        await settle(6);
        assert.deepEqual(w.log, ['stop a', 'release a', 'purge a']);
        assert.deepEqual(w.manager.pods(), []);
        w.manager.update([confined]);
        await settle();
        enabled = true;
        await w.clock.advance(60_000);
        assert.deepEqual([...w.running], ['a']);
      },
      { appArmor: { isEnabled: () => enabled, loaded: () => undefined } },
    );
  });
});
