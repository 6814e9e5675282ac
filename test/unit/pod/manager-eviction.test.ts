import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settle } from '../../support/clock.ts';
import { World, desired, world } from './world.ts';

const EVICTION = { message: 'The node was low. ', graceSeconds: 1, disruption: true };

describe('PodManager and eviction', () => {
  it('an evicted pod is stopped, cleared away and held, and starts again when it may', () =>
    world(async (w) => {
      w.manager.update([desired('a'), desired('b', { name: 'other', file: '/m/b.yaml' })]);
      await settle();
      assert.equal(w.manager.evict('a', EVICTION), true);
      await settle(8);
      assert.deepEqual(w.log, ['start a', 'start b', 'stop a', 'release a', 'clear a']);
      const status = w.statuses.get('a');
      assert.deepEqual(
        [status?.phase, status?.reason, status?.message],
        ['Failed', 'Evicted', 'The node was low. '],
      );
      const condition = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
      assert.deepEqual([condition?.status, condition?.reason], ['True', 'TerminationByKubelet']);
      assert.equal(condition?.message, 'The node was low. ');
      assert.deepEqual(
        w.manager.evicted().map(({ metadata }) => metadata.uid),
        ['a'],
      );
      assert.equal(w.manager.evict('a', EVICTION), false, 'it is not active');
      await w.clock.advance(200_000);
      assert.deepEqual([...w.running], ['b']);
      w.mayReturn.add('a');
      w.manager.reconsider();
      await settle();
      assert.deepEqual([...w.running], ['b', 'a']);
      assert.deepEqual(w.events, ['EvictionOver web-edge1']);
      assert.equal(w.statuses.get('a'), undefined);
    }));

  it('one that may come back and finds no room says nothing, and comes as soon as there is some', () =>
    world(
      async (w) => {
        const other = desired('b', { name: 'other', file: '/m/b.yaml' });
        w.manager.update([desired('a')]);
        await settle();
        w.manager.evict('a', EVICTION);
        await settle(8);
        w.manager.update([desired('a'), other]);
        await settle();
        w.mayReturn.add('a');
        w.manager.reconsider();
        await settle();
        assert.deepEqual([[...w.running], w.events], [['b'], []]);
        w.manager.update([desired('a')]);
        await settle(8);
        assert.deepEqual([[...w.running], w.events], [['a'], ['EvictionOver web-edge1']]);
      },
      { maxPods: 1 },
    ));

  it('is known again by the next agent, which holds it too', async () => {
    const w = new World();
    w.statuses.set('a', {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'm',
      containerStatuses: [],
    });
    await w.manager.begin([desired('a')]);
    await settle();
    assert.deepEqual([w.log, w.events], [[], []]);
    assert.equal(w.manager.evicted().length, 1);
    await w.tasks.stop();
  });

  it('an eviction that an agent did not live to finish is finished by the next', async () => {
    const w = new World();
    w.statuses.set('a', {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'm',
      containerStatuses: [],
    });
    w.found.add('a');
    await w.manager.begin([desired('a')]);
    w.found.delete('a');
    await settle(8);
    assert.deepEqual(w.log, ['release a', 'clear a']);
    assert.equal(w.manager.evicted().length, 1);
    await w.tasks.stop();
  });

  it('goes for good when its manifest goes, while it ends and while it is held', () =>
    world(async (w) => {
      w.manager.update([desired('a')]);
      await settle();
      w.stubborn.set('a', () => {});
      w.manager.evict('a', EVICTION);
      await settle();
      w.manager.update([]);
      w.letStop('a');
      await settle(8);
      assert.ok(w.log.includes('purge a'));
      assert.deepEqual(w.manager.counts(), new Map());

      w.manager.update([desired('b')]);
      await settle();
      w.manager.evict('b', EVICTION);
      await settle(8);
      w.manager.update([]);
      await settle(8);
      assert.ok(w.log.includes('purge b'));
      assert.deepEqual(w.manager.counts(), new Map());
    }));

  it('under pressure the node takes critical pods, and for memory alone those with requests', () =>
    world(
      async (w) => {
        const plain = desired('plain');
        const critical = desired('critical', { name: 'c', file: '/m/c.yaml' });
        critical.pod.spec.priorityClassName = 'system-cluster-critical';
        const asking = desired('asking', { name: 'd', file: '/m/d.yaml' });
        asking.pod.spec.containers[0]!.resources = { requests: { memory: '1Mi' } };
        const tolerant = desired('tolerant', { name: 'e', file: '/m/e.yaml' });
        const key = 'node.kubernetes.io/memory-pressure';
        tolerant.pod.spec.tolerations = [{ key, operator: 'Exists', effect: 'NoSchedule' }];
        w.manager.update([plain, critical, asking, tolerant]);
        await settle();
        assert.deepEqual([...w.running].sort(), ['asking', 'critical', 'tolerant']);
        const status = w.statuses.get('plain');
        assert.equal(status?.reason, 'Evicted');
        assert.equal(
          status.message,
          'Pod was rejected: The node had condition: [MemoryPressure]. ',
        );
        assert.deepEqual(w.manager.evicted(), [], 'it was never let in');
      },
      { pressure: () => ['MemoryPressure'] },
    ));

  it('a full disk keeps out whatever is not critical, until the pressure is gone', async () => {
    let conditions = ['MemoryPressure', 'DiskPressure'];
    await world(
      async (w) => {
        const asking = desired('asking');
        asking.pod.spec.containers[0]!.resources = { requests: { memory: '1Mi' } };
        w.manager.update([asking]);
        await settle();
        assert.equal(
          w.statuses.get('asking')?.message,
          'Pod was rejected: The node had condition: [MemoryPressure DiskPressure]. ',
        );
        conditions = [];
        w.manager.reconsider();
        await settle();
        assert.deepEqual([...w.running], ['asking']);
      },
      { pressure: () => conditions },
    );
  });

  it('nothing static is kept out where nothing static is evicted', () =>
    world(
      async (w) => {
        const pod = desired('a');
        pod.pod.metadata.annotations = { 'kubernetes.io/config.source': 'file' };
        w.manager.update([pod]);
        await settle();
        assert.deepEqual([...w.running], ['a']);
      },
      { pressure: () => ['DiskPressure'], staticPodEviction: false },
    ));
});
