import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../../src/api/pod.ts';
import type { ShutdownGracePeriod } from '../../../src/config/model.ts';
import type { Eviction } from '../../../src/pod/eviction.ts';
import { Shutdown, shutdownGroups } from '../../../src/pod/shutdown.ts';
import { ManualClock, settle } from '../../support/clock.ts';
import { podOf } from '../../support/pods.ts';

const pod = (name: string, spec: Partial<PodSpec> = {}): Pod => podOf(spec, name, name);
const PERIODS = [
  { priority: 0, periodMs: 20_000 },
  { priority: 2_000_000_000, periodMs: 10_000 },
];

test('a pod stops with the group of the largest priority that is not above its own', () => {
  const pods = [
    pod('plain'),
    pod('negative', { priority: -1 }),
    pod('below', { priority: 1_999_999_999 }),
    pod('cluster', { priorityClassName: 'system-cluster-critical' }),
    pod('node', { priority: 2_000_001_000 }),
  ];
  const named = shutdownGroups(pods, PERIODS.toReversed()).map((group) => [
    group.periodMs,
    group.pods.map(({ metadata }) => metadata.name),
  ]);
  assert.deepEqual(named, [
    [20_000, ['plain', 'negative', 'below']],
    [10_000, ['cluster', 'node']],
  ]);
});

/** Pods that end when a test says so. */
class Pods {
  readonly evicted: [string, Eviction][] = [];
  readonly ending = new Set<string>();
  reconsidered = 0;
  readonly #pods: readonly Pod[];

  constructor(pods: readonly Pod[]) {
    this.#pods = pods;
  }

  active(): readonly Pod[] {
    return this.#pods;
  }

  evict(uid: string, eviction: Eviction): boolean {
    this.evicted.push([uid, eviction]);
    this.ending.add(uid);
    return true;
  }

  isEnding(uid: string): boolean {
    return this.ending.has(uid);
  }

  reconsider(): void {
    this.reconsidered += 1;
  }

  get graces(): [string, number | undefined][] {
    return this.evicted.map(([uid, { graceSeconds }]) => [uid, graceSeconds]);
  }
}

function worldOf(pods: readonly Pod[], periods: readonly ShutdownGracePeriod[] = PERIODS) {
  const clock = new ManualClock();
  const events: string[] = [];
  const times: (number | undefined)[] = [];
  const held = new Pods(pods);
  const shutdown = new Shutdown({
    periods,
    pods: held,
    nodeName: 'edge1',
    events: {
      event: (target, type, reason, message) =>
        void events.push(`${target.kind} ${type} ${reason} ${message}`),
    },
    clock,
    onTimes: ({ startMs, endMs }) =>
      void times.push(endMs === undefined ? undefined : endMs - startMs),
  });
  return { clock, events, times, pods: held, shutdown };
}

const never = new AbortController().signal;

test('group after group, each as soon as the one before has stopped', async () => {
  const slow = pod('slow', { terminationGracePeriodSeconds: 60 });
  const critical = pod('critical', { priority: 2_000_000_000, terminationGracePeriodSeconds: 5 });
  const w = worldOf([critical, slow, pod('quick', { terminationGracePeriodSeconds: 1 })]);
  const done = w.shutdown.begin(never);
  await settle();
  assert.equal(w.shutdown.isUnderWay, true);
  assert.deepEqual(w.events, ['Node Normal Shutdown Shutdown manager detected shutdown event']);
  assert.deepEqual(w.pods.graces, [
    ['slow', 20],
    ['quick', 1],
  ]);
  const [, eviction] = w.pods.evicted[0] ?? [];
  assert.deepEqual(eviction, {
    reason: 'Terminated',
    message: 'Pod was terminated in response to imminent node shutdown.',
    graceSeconds: 20,
    disruption: true,
  });
  w.pods.ending.delete('quick');
  await w.clock.advance(1000);
  assert.equal(w.pods.evicted.length, 2, 'one of them still stops');
  w.pods.ending.delete('slow');
  await w.clock.advance(1000);
  assert.deepEqual(w.pods.graces.slice(2), [['critical', 5]]);
  assert.deepEqual(w.times, [undefined]);
  w.pods.ending.delete('critical');
  await w.clock.advance(1000);
  await done;
  assert.equal(w.times.length, 2);
});

test('a group that does not stop has its period and no more', async () => {
  const w = worldOf([pod('stuck'), pod('critical', { priority: 2_000_000_000 })]);
  const done = w.shutdown.begin(never);
  await settle();
  await w.clock.advance(19_900);
  assert.deepEqual(w.pods.graces, [['stuck', 20]]);
  await w.clock.advance(200);
  assert.deepEqual(w.pods.graces.slice(1), [['critical', 10]]);
  await w.clock.advance(10_100);
  await done;
});

test('without periods each pod has its own, the critical ones last', async () => {
  const plain = pod('plain', { terminationGracePeriodSeconds: 300 });
  const critical = pod('critical', { priorityClassName: 'system-node-critical' });
  const w = worldOf([critical, plain], []);
  const done = w.shutdown.begin(never);
  await settle();
  assert.deepEqual(w.pods.graces, [['plain', 300]]);
  w.pods.ending.clear();
  await w.clock.advance(200);
  assert.deepEqual(w.pods.graces.slice(1), [['critical', 30]]);
  w.pods.ending.clear();
  await w.clock.advance(200);
  await done;
});

test('a shutdown that is called off stops nobody else, and the pods may come back', async () => {
  const w = worldOf([pod('plain'), pod('critical', { priority: 2_000_000_000 })]);
  const done = w.shutdown.begin(never);
  await settle();
  w.shutdown.cancel();
  await w.clock.advance(100);
  await done;
  assert.deepEqual(w.pods.graces, [['plain', 20]]);
  assert.equal(w.shutdown.isUnderWay, false);
  assert.equal(w.pods.reconsidered, 1);
  assert.equal(
    w.events.at(-1),
    'Node Normal Shutdown Shutdown manager detected shutdown cancellation',
  );
});
