/** The loop of eviction on a clock of the test, over pods that end when the test lets them. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { NodePressure } from '../../../src/eviction/conditions.ts';
import type { EvictionDeps } from '../../../src/eviction/manager.ts';
import { EvictionManager } from '../../../src/eviction/manager.ts';
import { evictionMetrics, pressureGauge } from '../../../src/eviction/metric.ts';
import { Registry } from '../../../src/metrics/registry.ts';
import type { Eviction } from '../../../src/pod/eviction.ts';
import type { PodStats } from '../../../src/stats/model.ts';
import { createLogger } from '../../../src/util/log.ts';
import { loadCore } from '../../../src/wasm/core.ts';
import { ManualClock } from '../../support/clock.ts';
import { containerOf, podOf } from '../../support/pods.ts';
import type { NodeAmounts } from '../../support/stats.ts';
import { returnsOf } from '../../support/returns.ts';
import { GIB, MIB, nodeOf, podStatsOf, used } from '../../support/stats.ts';

const SECOND = 1000;
const TRANSITION_MS = 20 * SECOND;

class World {
  readonly clock = new ManualClock();
  readonly registry = new Registry();
  readonly events: string[] = [];
  readonly evictions: ({ uid: string } & Eviction)[] = [];
  readonly reclaimed: string[] = [];
  readonly pressure: NodePressure;
  readonly stop = new AbortController();
  node: NodeAmounts = {};
  /** Called after each reclaim. */
  afterReclaim = (): void => {};
  unreadable = false;
  pods = new Map<string, Pod>();
  stats: PodStats[] = [];
  ending = new Set<string>();
  waiting: Pod[] = [];
  looks = 0;
  /** What the cheap look says is in use; undefined: nothing. */
  use: number[] | undefined;
  reconsidered = 0;
  /** Evictions in a row, as they are kept over a restart. */
  readonly strikes = new Map<string, number>();
  readonly #manager: EvictionManager;

  constructor(t: TestContext, more: Partial<EvictionDeps> = {}) {
    const { clock, registry } = this;
    const nodeName = 'edge1';
    const events = {
      event: (target: { kind: string; name: string }, _: string, reason: string, text: string) =>
        void this.events.push(`${target.name} ${reason}: ${text}`),
    };
    const gauge = pressureGauge(registry);
    this.pressure = new NodePressure({ nodeName, events, gauge, wall: () => clock.wall() });
    this.#manager = new EvictionManager({
      thresholds: [{ signal: 'memory.available', value: '100Mi' }],
      transitionMs: TRANSITION_MS,
      ...{ maxPodGraceSeconds: 0, localStorage: true, staticPodEviction: true },
      stats: {
        node: () => {
          this.looks += 1;
          if (this.unreadable) return Promise.reject(new Error('no /proc'));
          return Promise.resolve(nodeOf({ timeMs: clock.wall(), ...this.node }));
        },
        pods: () => Promise.resolve(this.stats),
      },
      memoryUse: () => this.use,
      pods: this.#evictable(),
      pressure: this.pressure,
      returns: returnsOf(TRANSITION_MS, { strikes: this.strikes }),
      reclaimer: {
        deadContainers: () => this.#reclaim('dead containers'),
        unusedImages: () => this.#reclaim('images'),
      },
      core: () => loadCore(),
      metrics: evictionMetrics(registry),
      logger: createLogger({ sink: { write: () => true }, level: 'error', wall: () => 0 }),
      ...{ nodeName, events, clock },
      ...more,
    });
    const running = this.#manager.run(this.stop.signal).catch(() => undefined);
    t.after(() => {
      this.stop.abort(new Error('the test has ended'));
      return running;
    });
  }

  add(pod: Pod, memory: number): void {
    const { uid } = pod.metadata;
    this.pods.set(uid, pod);
    this.stats.push(podStatsOf(uid, { memory }));
  }

  /** An evicted pod has ended. */
  letEnd(uid: string): void {
    this.ending.delete(uid);
  }

  get victims(): string[] {
    return this.evictions.map(({ uid }) => uid);
  }

  #reclaim(what: string): Promise<void> {
    this.reclaimed.push(what);
    this.afterReclaim();
    return Promise.resolve();
  }

  #evictable(): EvictionDeps['pods'] {
    return {
      active: () => [...this.pods.values()],
      evict: (uid, eviction) => {
        if (!this.pods.delete(uid)) return false;
        this.evictions.push({ uid, ...eviction });
        this.ending.add(uid);
        return true;
      },
      isEnding: (uid) => this.ending.has(uid),
      evicted: () => this.waiting,
      reconsider: () => void this.reconsidered++,
    };
  }
}

function plain(uid: string, priority = 0): Pod {
  return podOf({ priority }, uid, `${uid}-edge1`);
}

test('one pod goes, the one that uses most above its request; the next only when it is gone', async (t) => {
  const w = new World(t);
  for (const [uid, memory] of [
    ['small', 10 * MIB],
    ['big', 500 * MIB],
    ['middle', 300 * MIB],
  ] as const)
    w.add(plain(uid), memory);
  await w.clock.advance(0);
  assert.deepEqual(w.victims, []);
  w.node = { memory: 50 * MIB };
  await w.clock.advance(SECOND);
  assert.deepEqual(w.evictions, [
    {
      uid: 'big',
      message:
        'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container app was using 500Mi, request is 0, has larger consumption of memory. ',
      graceSeconds: 1,
      disruption: true,
    },
  ]);
  await w.clock.advance(20 * SECOND);
  assert.deepEqual(w.victims, ['big'], 'it has not ended yet');
  w.letEnd('big');
  await w.clock.advance(SECOND);
  assert.deepEqual(w.victims, ['big', 'middle']);
  assert.deepEqual(w.events.slice(0, 3), [
    'edge1 NodeHasInsufficientMemory: Node edge1 status is now: NodeHasInsufficientMemory',
    'edge1 EvictionThresholdMet: Attempting to reclaim memory',
    `big-edge1 Evicted: ${w.evictions[0]?.message}`,
  ]);
  assert.match(w.registry.expose(), /kubelet_evictions\{eviction_signal="memory.available"\} 2/);
  assert.match(w.registry.expose(), /kubelet_eviction_stats_age_seconds_count\{.*memory.*\} 2/);
  assert.deepEqual(w.reclaimed, []);
  assert.match(w.registry.expose(), /islet_node_pressure\{condition="MemoryPressure"\} 1/);
  assert.match(w.registry.expose(), /islet_node_pressure\{condition="PIDPressure"\} 0/);
});

test('a pod that does not end holds the next eviction up for half a minute at most', async (t) => {
  const w = new World(t);
  w.add(plain('stuck'), 2 * GIB);
  w.add(plain('other'), GIB);
  w.node = { memory: 0 };
  await w.clock.advance(29 * SECOND);
  assert.deepEqual(w.victims, ['stuck']);
  await w.clock.advance(2 * SECOND);
  assert.deepEqual(w.victims, ['stuck', 'other']);
});

test('a pod that still ends when the pressure is over is not forgotten', async (t) => {
  const w = new World(t);
  w.add(plain('stuck'), 2 * GIB);
  w.node = { memory: 0 };
  await w.clock.advance(SECOND);
  w.node = {};
  await w.clock.advance(TRANSITION_MS + 60 * SECOND);
  assert.deepEqual(w.pressure.current(), []);
  assert.deepEqual([...w.strikes], [['stuck', 1]]);
  w.letEnd('stuck');
  await w.clock.advance(20 * SECOND);
  assert.deepEqual([...w.strikes], [], 'its manifest went meanwhile');
});

test('critical pods stay, and when there are no others the node says it can do nothing', async (t) => {
  const w = new World(t);
  w.add(plain('critical', 2_000_000_000), 4 * GIB);
  w.node = { memory: 0 };
  await w.clock.advance(60 * SECOND);
  assert.deepEqual(w.victims, []);
  assert.deepEqual(w.pressure.current(), ['MemoryPressure']);
  const told = w.events.filter((event) => event.includes('EvictionThresholdMet'));
  assert.equal(told.length, 6, 'once each ten seconds');
});

test('the conditions of the node are told with their reasons and since when', async (t) => {
  const w = new World(t);
  const conditions = (): string[] =>
    w.pressure
      .conditions()
      .map((c) => [c.type, c.status, c.reason, c.message, c.lastTransitionTime].join('|'));
  const start = new Date(w.clock.wall()).toISOString().replace(/\.\d+Z/, 'Z');
  assert.deepEqual(conditions(), [
    `MemoryPressure|False|KubeletHasSufficientMemory|kubelet has sufficient memory available|${start}`,
    `DiskPressure|False|KubeletHasNoDiskPressure|kubelet has no disk pressure|${start}`,
    `PIDPressure|False|KubeletHasSufficientPID|kubelet has sufficient PID available|${start}`,
  ]);
  await w.clock.advance(30 * SECOND);
  w.node = { memory: 0 };
  await w.clock.advance(SECOND);
  const since = new Date(w.clock.wall()).toISOString().replace(/\.\d+Z/, 'Z');
  assert.notEqual(since, start);
  const [memory, disk] = conditions();
  assert.equal(
    memory,
    `MemoryPressure|True|KubeletHasInsufficientMemory|kubelet has insufficient memory available|${since}`,
  );
  assert.ok(disk?.endsWith(start));
});

test('memory is looked at each second, other signals each ten', async (t) => {
  const w = new World(t);
  await w.clock.advance(30 * SECOND);
  assert.equal(w.looks, 34);
  const calm = new World(t, { thresholds: [{ signal: 'pid.available', value: '10' }] });
  await calm.clock.advance(30 * SECOND);
  assert.equal(calm.looks, 4);
});

test('between cycles the node is only looked at when memory has moved as far as the threshold', async (t) => {
  const w = new World(t);
  w.node = { memory: 200 * MIB };
  w.use = [GIB, 0];
  await w.clock.advance(10 * SECOND);
  assert.equal(w.looks, 2);
  w.use = [GIB + 50 * MIB, 99 * MIB];
  await w.clock.advance(5 * SECOND);
  assert.equal(w.looks, 2);
  w.add(plain('a'), GIB);
  w.node = { memory: 99 * MIB };
  w.use = [GIB, 101 * MIB];
  await w.clock.advance(SECOND);
  assert.deepEqual(w.victims, ['a']);
});

test('a full disk: first what nobody needs, and if that is enough no pod', async (t) => {
  const w = new World(t, { thresholds: [{ signal: 'nodefs.available', value: '10%' }] });
  w.add(plain('a'), MIB);
  w.node = { disk: GIB };
  w.afterReclaim = () => (w.node = {});
  await w.clock.advance(10 * SECOND);
  assert.deepEqual([w.reclaimed, w.victims], [['dead containers', 'images'], []]);
  assert.deepEqual(w.pressure.current(), ['DiskPressure']);
  w.afterReclaim = () => {};
  w.node = { disk: GIB };
  await w.clock.advance(10 * SECOND);
  assert.deepEqual(w.victims, ['a']);
});

test('a soft threshold gives the grace of the node, the own one if that is shorter, never none', async (t) => {
  const thresholds = [{ signal: 'memory.available', value: '1Gi', graceMs: 15_000 } as const];
  const graceWith = async (maxPodGraceSeconds: number): Promise<unknown> => {
    const w = new World(t, { thresholds, maxPodGraceSeconds });
    w.add(plain('a'), GIB);
    w.node = { memory: 0 };
    await w.clock.advance(14 * SECOND);
    assert.equal(w.victims.length, 0);
    await w.clock.advance(10 * SECOND);
    return w.evictions[0]?.graceSeconds;
  };
  assert.deepEqual([await graceWith(0), await graceWith(20), await graceWith(90)], [1, 20, 30]);
});

test('pods above their own limits go at once, all of them, and the node is not blamed', async (t) => {
  const w = new World(t, { thresholds: [] });
  const limited = (uid: string): Pod =>
    podOf({ volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Mi' } }] }, uid, `${uid}-edge1`);
  const volumes = [{ name: 'v', local: true, ...used(2 * MIB) }];
  for (const uid of ['a', 'b', 'critical']) {
    const pod = limited(uid);
    if (uid === 'critical') pod.spec.priorityClassName = 'system-node-critical';
    w.pods.set(uid, pod);
    w.stats.push(podStatsOf(uid, { volumes }));
  }
  w.add(podOf({ containers: [containerOf('app')] }, 'free', 'free-edge1'), MIB);
  await w.clock.advance(0);
  const message = 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ';
  const eviction = { message, graceSeconds: 1, disruption: false };
  assert.deepEqual(w.evictions, [
    { uid: 'a', ...eviction },
    { uid: 'b', ...eviction },
  ]);
  assert.deepEqual(w.pressure.current(), []);
});

test('evicted pods come back one by one when the pressure has been gone for the transition period', async (t) => {
  const w = new World(t);
  w.add(plain('a'), GIB);
  w.node = { memory: 0 };
  await w.clock.advance(SECOND);
  assert.deepEqual(w.victims, ['a']);
  w.letEnd('a');
  w.waiting = [plain('a')];
  w.node = {};
  await w.clock.advance(18 * SECOND);
  const before = w.reconsidered;
  assert.deepEqual(w.pressure.current(), ['MemoryPressure']);
  await w.clock.advance(14 * SECOND);
  assert.deepEqual(w.pressure.current(), []);
  assert.ok(w.reconsidered > before);
  assert.ok(w.events.at(-1)?.includes('NodeHasSufficientMemory'));
});

test('a node that cannot be looked at is looked at again', async (t) => {
  const w = new World(t);
  w.add(plain('a'), GIB);
  w.unreadable = true;
  w.node = { memory: 0 };
  await w.clock.advance(15 * SECOND);
  assert.deepEqual(w.victims, []);
  w.unreadable = false;
  await w.clock.advance(SECOND);
  assert.deepEqual(w.victims, ['a']);
});
