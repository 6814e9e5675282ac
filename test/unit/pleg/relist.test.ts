/** The relist as pods and their workers notice it: scenarios of spec pleg.md §10 and the promises of §3. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { IsletError } from '../../../src/util/errors.ts';
import { settle } from '../../support/clock.ts';
import { gate } from './fake-runtime.ts';
import { newHarness, stateOf, type Harness } from './harness.ts';

const failure = (): Promise<void> => Promise.reject(new IsletError('failed', 'no luck'));

let h: Harness;
beforeEach(() => {
  h = newHarness();
});
afterEach(() => h.stop());

describe('what a list means', () => {
  test('after the start everything that runs is told as started, with its status in the cache', async () => {
    h.runtime.putPod('web');
    await h.start();
    assert.deepEqual(h.events(), ['ContainerStarted web-c', 'ContainerStarted web-s']);
    const status = h.pleg.statusOf('web');
    assert.deepEqual(
      [status.name, status.namespace, status.ips],
      ['web-name', 'default', ['10.0.0.1']],
    );
    assert.equal(status.containers[0]?.sandboxId, 'web-s');
    assert.deepEqual(h.pleg.knownPods(), [{ uid: 'web', name: 'web-name', namespace: 'default' }]);
  });

  test('an idle relist decodes nothing and reads no status', async () => {
    h.runtime.putPod('web');
    await h.start();
    h.runtime.calls.length = 0;
    h.runtime.decoded = 0;
    await h.clock.advance(10_000);
    assert.equal(h.runtime.count('listContainers'), 10);
    assert.deepEqual([h.runtime.calls.length, h.runtime.decoded], [20, 0]);
    assert.deepEqual(h.log, []);
  });

  test('a crash and a restart between two lists: the old one died, the new one started', async () => {
    h.runtime.putPod('web');
    await h.start();
    h.events();
    h.runtime.put({ id: 'web-c', sandboxId: 'web-s', uid: 'web', state: 'exited' });
    h.runtime.put({
      id: 'web-c2',
      sandboxId: 'web-s',
      uid: 'web',
      state: 'running',
      createdAt: 2n,
    });
    await h.clock.advance(1000);
    assert.deepEqual(h.events(), ['ContainerDied web-c', 'ContainerStarted web-c2']);
    assert.deepEqual(
      h.pleg.statusOf('web').containers.map((c) => c.id),
      ['web-c2', 'web-c'],
    );
  });

  test('a container that lived shorter than a period has died', async () => {
    await h.start();
    h.runtime.put({ id: 'short', sandboxId: 's', uid: 'web', state: 'exited' });
    await h.clock.advance(1000);
    assert.deepEqual(h.events(), ['ContainerDied short']);
  });

  test('a running container removed by hand died and is removed', async () => {
    h.runtime.putPod('web');
    await h.start();
    h.events();
    h.runtime.remove('web-c');
    await h.clock.advance(1000);
    assert.deepEqual(h.events(), ['ContainerDied web-c', 'ContainerRemoved web-c']);
    assert.deepEqual(h.pleg.statusOf('web').containers, []);
  });

  test('a created container is in the cache but is no event', async () => {
    h.runtime.putPod('web');
    await h.start();
    h.events();
    h.runtime.put({ id: 'new', sandboxId: 'web-s', uid: 'web', state: 'created' });
    await h.clock.advance(1000);
    assert.deepEqual(h.events(), []);
    assert.equal(h.pleg.statusOf('web').containers.length, 2);
  });

  test('a pod whose last object goes leaves the cache and the known pods, without a status call', async () => {
    h.runtime.putPod('web');
    await h.start();
    h.events();
    h.runtime.calls.length = 0;
    h.runtime.remove('web-c', 'web-s');
    await h.clock.advance(1000);
    assert.deepEqual(h.events(), [
      'ContainerDied web-c',
      'ContainerRemoved web-c',
      'ContainerDied web-s',
      'ContainerRemoved web-s',
    ]);
    assert.equal(h.runtime.count('containerStatus'), 0);
    assert.deepEqual(h.pleg.knownPods(), []);
    assert.deepEqual(h.pleg.statusOf('web').sandboxes, []);
  });

  test('containers without Kubernetes labels belong to nobody', async () => {
    h.runtime.put({ id: 'foreign', sandboxId: 's', uid: undefined, state: 'running' });
    await h.start();
    h.runtime.remove('foreign');
    await h.clock.advance(1000);
    assert.deepEqual(h.events(), []);
    assert.deepEqual(h.pleg.knownPods(), []);
    assert.equal(h.runtime.count('containerStatus'), 0);
  });

  test('an object removed between list and status is left out', async () => {
    h.runtime.putPod('web');
    h.runtime.before.set('containerStatus web-c', () => {
      h.runtime.remove('web-c');
      return Promise.resolve();
    });
    await h.start();
    assert.deepEqual(h.pleg.statusOf('web').containers, []);
    await h.clock.advance(1000);
    assert.equal(h.events().filter((event) => event === 'ContainerRemoved web-c').length, 1);
  });

  test('gauges come from the lists', async () => {
    h.runtime.putPod('web');
    h.runtime.put({ id: 'made', sandboxId: 'web-s', uid: 'web', state: 'created' });
    await h.start();
    assert.equal(h.metrics.get('readySandboxes'), 1);
    assert.equal(h.metrics.get('containers running'), 1);
    assert.equal(h.metrics.get('containers created'), 1);
    assert.equal(h.metrics.has('containers exited'), false);
    assert.equal(h.metrics.get('lastSeen'), h.clock.wall());
  });
});

describe('when things fail', () => {
  test('a status that cannot be read withholds the events until it can', async () => {
    h.runtime.putPod('web');
    h.runtime.before.set('podSandboxStatus web-s', failure);
    await h.start();
    assert.deepEqual(h.events(), []);
    await assert.rejects(h.pleg.getNewerThan('web', 0, h.signal), { code: 'failed' });
    h.runtime.before.clear();
    await h.clock.advance(1000);
    assert.deepEqual(h.events(), ['ContainerStarted web-c', 'ContainerStarted web-s']);
    assert.equal((await h.pleg.getNewerThan('web', 0, h.signal)).containers.length, 1);
  });

  test('a death is not lost when its status fails while the next change comes', async () => {
    h.runtime.putPod('web');
    await h.start();
    h.events();
    h.runtime.before.set('containerStatus', failure);
    h.runtime.put({ id: 'web-c', sandboxId: 'web-s', uid: 'web', state: 'exited' });
    await h.clock.advance(1000);
    h.runtime.remove('web-c');
    await h.clock.advance(1000);
    assert.deepEqual(h.events(), ['ContainerDied web-c', 'ContainerRemoved web-c']);
  });

  test('the same status error is logged once a minute', async () => {
    h.runtime.putPod('web');
    h.runtime.before.set('containerStatus', failure);
    await h.start();
    await h.clock.advance(59_000);
    assert.equal(h.log.length, 1);
    await h.clock.advance(5000);
    assert.equal(h.log.length, 2);
  });

  test('lists that fail change nothing; a change made meanwhile is seen afterwards', async () => {
    h.runtime.putPod('web');
    await h.start();
    h.events();
    h.runtime.before.set('listContainers', failure);
    await h.clock.advance(5000);
    assert.deepEqual(h.events(), []);
    assert.equal(h.log.length, 1);
    const waiting = h.pleg.getNewerThan('web', h.clock.monotonic(), h.signal);
    assert.equal(await stateOf(waiting), 'waits');
    h.runtime.before.clear();
    h.runtime.put({ id: 'web-c', sandboxId: 'web-s', uid: 'web', state: 'exited' });
    await h.clock.advance(1000);
    assert.deepEqual(h.events(), ['ContainerDied web-c']);
    assert.equal((await waiting).containers[0]?.state, 'exited');
  });

  test('a hanging status call stops neither the relist nor other pods, and keeps its own pod back', async () => {
    const hanging = ['a', 'b', 'c', 'd', 'e'];
    const stuck = gate();
    for (const uid of hanging) {
      h.runtime.putPod(uid);
      h.runtime.before.set(`containerStatus ${uid}-c`, stuck.wait);
    }
    await h.start();
    h.runtime.putPod('web');
    await h.clock.advance(5000);
    assert.deepEqual(h.events(), ['ContainerStarted web-c', 'ContainerStarted web-s']);
    assert.equal(h.pleg.healthy(), undefined);
    const now = h.clock.monotonic();
    const own = h.pleg.getNewerThan('a', 0, h.signal);
    const other = h.pleg.getNewerThan('web', now, h.signal);
    await h.clock.advance(3000);
    assert.equal(await stateOf(other), 'done');
    assert.equal(await stateOf(own), 'waits');
    stuck.open();
    await settle();
    assert.equal(await stateOf(own), 'done');
    assert.equal(h.events().length, 10);
  });

  test('what changes while a pod is inspected is inspected again, and not told before', async () => {
    h.runtime.putPod('web');
    const stuck = gate();
    h.runtime.before.set('podSandboxStatus web-s', stuck.wait);
    await h.start();
    const listed = h.clock.monotonic();
    h.runtime.put({ id: 'web-c', sandboxId: 'web-s', uid: 'web', state: 'exited' });
    await h.clock.advance(3000);
    const newest = h.pleg.getNewerThan('web', listed + 500, h.signal);
    stuck.open();
    await settle();
    assert.deepEqual(h.events(), [
      'ContainerStarted web-c',
      'ContainerStarted web-s',
      'ContainerDied web-c',
    ]);
    assert.equal((await newest).containers[0]?.state, 'exited');
    assert.equal(h.runtime.count('podSandboxStatus'), 2);
  });

  test('a pod removed while its inspection hangs is forgotten when that ends', async () => {
    h.runtime.putPod('web');
    const stuck = gate();
    h.runtime.before.set('podSandboxStatus web-s', stuck.wait);
    await h.start();
    h.runtime.remove('web-c', 'web-s');
    await h.clock.advance(1000);
    const end = h.pleg.getNewerThan('web', h.clock.monotonic() - 1, h.signal);
    assert.equal(await stateOf(end), 'waits');
    stuck.open();
    assert.deepEqual((await end).containers, []);
    assert.deepEqual(h.pleg.knownPods(), []);
    assert.equal(h.events().at(-1), 'ContainerRemoved web-s');
  });

  test('a listener that throws is logged and stops nobody', async () => {
    h.pleg.onEvent(() => {
      throw new Error('bad listener');
    });
    h.runtime.putPod('web');
    await h.start();
    assert.equal(h.log.length, 2);
    assert.equal(await stateOf(h.pleg.getNewerThan('web', 0, h.signal)), 'done');
  });

  test('an entry that cannot be decoded is left alone', async () => {
    h.runtime.putPod('web');
    h.runtime.before.set('listContainers', () => {
      h.runtime.containers.delete('web-c');
      return Promise.resolve();
    });
    await h.start();
    assert.equal(h.log.length, 1);
    assert.deepEqual(h.events(), ['ContainerStarted web-s']);
  });
});

describe('pace', () => {
  test('lists at once, then a second after each end', async () => {
    await h.start();
    await h.clock.advance(3000);
    assert.deepEqual(h.runtime.listsAt, [1000, 2000, 3000, 4000]);
    assert.equal(h.metrics.get('interval'), 1000);
  });

  test('relistNow: any number of wishes are one relist, not closer than the spacing', async () => {
    await h.start();
    await h.clock.advance(500);
    for (let i = 0; i < 5; i++) h.pleg.relistNow();
    await h.clock.advance(0);
    h.pleg.relistNow();
    await h.clock.advance(90);
    assert.deepEqual(h.runtime.listsAt, [1000, 1500]);
    await h.clock.advance(400);
    assert.deepEqual(h.runtime.listsAt, [1000, 1500, 1600]);
  });

  test('a wish during a relist is one more relist right after', async () => {
    const slow = gate();
    h.runtime.before.set('listContainers', slow.wait);
    await h.start();
    await h.clock.advance(300);
    h.pleg.relistNow();
    h.pleg.relistNow();
    h.runtime.before.clear();
    slow.open();
    await h.clock.advance(10);
    assert.deepEqual(h.runtime.listsAt, [1000, 1300]);
  });

  test('who waits for a newer status has a relist come at once, and never gets the list before', async () => {
    h.runtime.putPod('web');
    await h.start();
    await h.clock.advance(300);
    const slow = gate();
    h.runtime.before.set('listContainers', slow.wait);
    h.pleg.relistNow();
    await h.clock.advance(1);
    h.runtime.put({ id: 'web-c', sandboxId: 'web-s', uid: 'web', state: 'exited' });
    const waiting = h.pleg.getNewerThan('web', h.clock.monotonic(), h.signal);
    h.runtime.before.clear();
    slow.open();
    await settle();
    assert.equal(await stateOf(waiting), 'waits');
    await h.clock.advance(100);
    assert.equal((await waiting).containers[0]?.state, 'exited');
  });

  test('requestReinspect reads the status again and says so; for an unknown pod it is dropped', async () => {
    h.runtime.putPod('web');
    await h.start();
    h.events();
    await h.clock.advance(200);
    h.pleg.requestReinspect('web');
    h.pleg.requestReinspect('nobody');
    await h.clock.advance(100);
    assert.deepEqual(h.events(), ['PodSync web']);
    h.runtime.calls.length = 0;
    await h.clock.advance(5000);
    assert.equal(h.runtime.count('containerStatus'), 0);
  });

  test('the stop ends a hanging list, a hanging status and every wait', async () => {
    h.runtime.putPod('web');
    h.runtime.before.set('containerStatus', gate().wait);
    await h.start();
    h.runtime.before.set('listContainers', gate().wait);
    const waiting = h.pleg.getNewerThan('web', 0, h.signal);
    await h.clock.advance(2000);
    const rejected = assert.rejects(waiting, /test ends/);
    await h.stop();
    await rejected;
    assert.equal(h.clock.sleeping, 0);
  });
});

describe('health', () => {
  test('says what the kubelet says before the first list and three minutes after the last', async () => {
    assert.equal(h.pleg.healthy(), 'PLEG is not healthy: pleg has yet to be successful');
    await h.start();
    assert.equal(h.pleg.healthy(), undefined);
    h.runtime.before.set('listPodSandboxes', failure);
    await h.clock.advance(180_000);
    assert.equal(h.pleg.healthy(), undefined);
    await h.clock.advance(2500);
    assert.equal(
      h.pleg.healthy(),
      'PLEG is not healthy: pleg was last seen active 3m2.5s ago; threshold is 3m0s',
    );
    h.runtime.before.clear();
    await h.clock.advance(1000);
    assert.equal(h.pleg.healthy(), undefined);
  });
});
