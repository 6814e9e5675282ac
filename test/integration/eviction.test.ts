/**
 * The whole agent on a node whose statistics the test makes up: who is evicted, that it stays down over
 * a restart of the agent, and that it comes back by itself.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench, IMAGE } from '../support/bench.ts';
import { MIB, nodeOf, podStatsOf, used } from '../support/stats.ts';
import type { PodAmounts } from '../support/stats.ts';

const KUBELET = {
  evictionHard: { 'memory.available': '100Mi' },
  evictionPressureTransitionPeriod: '1s',
};

class Node {
  memory = 1024 * MIB;
  readonly amounts = new Map<string, PodAmounts>();
  readonly #bench: Bench;

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  get stats() {
    return {
      node: () => Promise.resolve(nodeOf({ memory: this.memory, timeMs: performance.now() })),
      pods: () =>
        Promise.resolve(
          [...this.amounts].map(([name, amounts]) =>
            podStatsOf(this.#bench.pod(name)?.metadata.uid ?? '', amounts),
          ),
        ),
    };
  }
}

function containers(resources = {}) {
  return [{ name: 'app', image: IMAGE, imagePullPolicy: 'IfNotPresent', resources }];
}

test('the pod that uses most goes, stays down over a restart, and comes back when pressure has ended', async (t) => {
  const bench = await Bench.start(t, KUBELET);
  const node = new Node(bench);
  bench.apply('hog');
  bench.apply('small');
  bench.apply('system', { priorityClassName: 'system-node-critical' });
  node.amounts.set('hog', { memory: 300 * MIB });
  node.amounts.set('small', { memory: 20 * MIB });
  node.amounts.set('system', { memory: 900 * MIB });
  await bench.startAgent(node.stats);
  for (const name of ['hog', 'small', 'system'])
    await bench.until(`${name} runs`, () => bench.isRunning(name));
  const others = [bench.containerIds('small'), bench.containerIds('system')];

  node.memory = 60 * MIB;
  await bench.until('the hog is gone', () => bench.containers('hog').length === 0);
  node.memory = 1024 * MIB; // in time: the next look is a moment after the hog is gone
  const status = bench.pod('hog')?.status;
  const message =
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi. Container app was using 300Mi, request is 0, has larger consumption of memory. ';
  assert.deepEqual(
    [status?.phase, status?.reason, status?.message],
    ['Failed', 'Evicted', message],
  );
  const target = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.equal(target?.message, message);
  const told = bench.events().filter(({ reason }) => reason.startsWith('Evict'));
  assert.deepEqual(
    told.map(({ name, reason, type }) => [name, reason, type]),
    [
      ['f1', 'EvictionThresholdMet', 'Warning'],
      ['hog-f1', 'Evicted', 'Warning'],
    ],
  );
  const stop = bench.cri.callsOf('stopContainer').at(-1)?.request as { timeout?: bigint };
  assert.equal(stop.timeout, 2n);

  await bench.stopAgent();
  await bench.startAgent(node.stats);
  await bench.until('the others are known', () => bench.isRunning('small'));
  assert.equal(bench.pod('hog')?.status.reason, 'Evicted');
  await bench.until('the hog is back', () => bench.isRunning('hog'));
  assert.deepEqual([bench.containerIds('small'), bench.containerIds('system')], others);
  assert.ok(bench.events().some(({ reason }) => reason === 'EvictionOver'));
  assert.equal(bench.pod('hog')?.status.reason, undefined);
});

test('while memory is short nobody new comes in without a request, unless it is critical', async (t) => {
  const bench = await Bench.start(t, KUBELET);
  const node = new Node(bench);
  bench.apply('system', { priority: 2_000_000_000 });
  await bench.startAgent(node.stats);
  await bench.until('a pod runs', () => bench.isRunning('system'));
  node.memory = 0;
  await bench.until('the pressure is told', () =>
    bench.events().some(({ reason }) => reason === 'NodeHasInsufficientMemory'),
  );
  bench.apply('late');
  bench.apply('asking', { containers: containers({ requests: { memory: '1Mi' } }), priority: 2e9 });
  await bench.until('the critical one runs', () => bench.isRunning('asking'));
  await bench.until('the other is refused', () => bench.pod('late')?.status.phase === 'Failed');
  assert.equal(
    bench.pod('late')?.status.message,
    'Pod was rejected: The node had condition: [MemoryPressure]. ',
  );
  node.memory = 1024 * MIB;
  await bench.until('it is let in', () => bench.isRunning('late'));
});

test('where nothing static is evicted, the node only says what is short', async (t) => {
  const bench = await Bench.start(t, KUBELET, { staticPodEviction: false });
  const node = new Node(bench);
  bench.apply('hog');
  node.amounts.set('hog', { memory: 300 * MIB });
  await bench.startAgent(node.stats);
  await bench.until('it runs', () => bench.isRunning('hog'));
  node.memory = 0;
  await bench.until('the node has tried', () =>
    bench.events().some(({ reason }) => reason === 'EvictionThresholdMet'),
  );
  bench.apply('late');
  await bench.until('a new pod is taken', () => bench.isRunning('late'));
  assert.ok(bench.isRunning('hog'));
  assert.match(bench.metrics(), /islet_node_pressure\{condition="MemoryPressure"\} 1/);
  const conditions = bench.node().status.conditions.map(({ type, status }) => [type, status]);
  assert.deepEqual(conditions, [
    ['MemoryPressure', 'True'],
    ['DiskPressure', 'False'],
    ['PIDPressure', 'False'],
    ['Ready', 'True'],
  ]);
});

test('a pod above the size of its emptyDir is evicted, the node is not blamed', async (t) => {
  const bench = await Bench.start(t, KUBELET);
  const node = new Node(bench);
  bench.apply('full', { volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Mi' } }] });
  node.amounts.set('full', { volumes: [{ name: 'v', local: true, ...used(2 * MIB) }] });
  await bench.startAgent(node.stats);
  await bench.until('it is evicted', () => bench.pod('full')?.status.reason === 'Evicted');
  const status = bench.pod('full')?.status;
  assert.equal(status?.message, 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ');
  assert.ok(!status.conditions?.some(({ type }) => type === 'DisruptionTarget'));
  assert.match(bench.metrics(), /kubelet_evictions\{eviction_signal="emptydirfs.limit"\} 1/);
});
