import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ContainerGc } from '../../../src/gc/container-gc.ts';
import {
  deadToKeep,
  deadToReclaim,
  deadToRemove,
  sandboxesToRemove,
} from '../../../src/gc/dead-plan.ts';
import type { GcPod } from '../../../src/gc/dead-plan.ts';
import { findLeftovers } from '../../../src/gc/leftovers.ts';
import { podsWithLogs } from '../../../src/gc/log-leftovers.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { PodFiles } from '../../../src/runtime/pod-files.ts';
import { ManualClock } from '../../support/clock.ts';
import { containerOf, recordOf, runtimeOf, sandboxOf } from '../../support/pods.ts';
import { temporaryDirectory } from '../log/support.ts';

const never = new AbortController().signal;
const DEFAULTS = { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 };
const FAR_MS = 1_000_000;

/** Records `NAME-AT`, newest first; `r` runs, `x` has exited. */
function gcPod(uid: string, records: string, more: Partial<GcPod> = {}): GcPod {
  const made = records.split(' ').map((text) => {
    const [name = '', at = '0', state = 'x'] = text.split(/[-:]/);
    return recordOf(containerOf(name), state === 'r' ? 'running' : 'exited', {
      at: Number(at),
      id: `${uid}/${name}-${at}`,
      createdAt: BigInt(at) * 1_000_000_000n,
    });
  });
  return { status: { ...runtimeOf([], made), uid }, ended: false, ...more };
}

function idsOf(dead: readonly { record: { id: string } }[]): string {
  return dead.map(({ record }) => record.id).join(' ');
}

describe('which dead containers go', () => {
  const crashed = gcPod('p', 'a-5:r a-4:x a-3:x a-2:x b-3:x b-1:x');
  const rows: [string, Partial<typeof DEFAULTS>, GcPod[], string][] = [
    ['by default all but the newest dead of each', {}, [crashed], 'p/a-3 p/a-2 p/b-1'],
    ['none with no limit', { maxPerContainer: -1 }, [crashed], ''],
    ['two are kept', { maxPerContainer: 2 }, [crashed], 'p/a-2'],
    [
      'none is kept but what tells that a container has run',
      { maxPerContainer: 0 },
      [crashed],
      'p/a-4 p/a-3 p/a-2 p/b-1',
    ],
    ['young ones stay', { maxPerContainer: 0, minAgeMs: FAR_MS - 2500 }, [crashed], 'p/a-2 p/b-1'],
    [
      'beyond the total: the oldest of all, fairly',
      { maxPerContainer: -1, maxTotal: 3 },
      [gcPod('p', 'a-9:r a-8:x a-7:x a-6:x'), gcPod('q', 'a-5:r a-4:x a-3:x')],
      'p/a-7 p/a-6 q/a-3',
    ],
    [
      'beyond the total: down to one a container, then the oldest',
      { maxPerContainer: -1, maxTotal: 1 },
      [gcPod('p', 'a-9:r a-8:x a-7:x'), gcPod('q', 'a-5:r a-4:x')],
      'p/a-7 q/a-4',
    ],
  ];
  for (const [name, settings, pods, expected] of rows)
    it(name, () => {
      assert.equal(idsOf(deadToRemove(pods, { ...DEFAULTS, ...settings }, FAR_MS)), expected);
    });

  it('disk pressure takes all of a finished pod, and what a running one does not need', () => {
    const finished = gcPod('f', 'a-1:x', { ended: true });
    assert.equal(idsOf(deadToReclaim([finished, crashed])), 'f/a-1 p/a-4 p/a-3 p/a-2 p/b-1');
  });

  it('the passes over the pods clear at once only what the periodic one would', () => {
    assert.equal(deadToKeep(DEFAULTS), 1);
    assert.equal(deadToKeep({ ...DEFAULTS, maxPerContainer: 0 }), 1);
    assert.equal(deadToKeep({ ...DEFAULTS, maxPerContainer: 3 }), 3);
    assert.equal(deadToKeep({ ...DEFAULTS, maxPerContainer: -1 }), Infinity);
    assert.equal(deadToKeep({ ...DEFAULTS, minAgeMs: 1 }), Infinity);
  });

  it('sandboxes go that stand still and that no record needs', () => {
    const sandboxes = [2, 1, 0].map((n) => sandboxOf(n, { state: n === 2 ? 'ready' : 'notready' }));
    const record = recordOf(containerOf('a'), 'exited', { sandboxId: 'sandbox-1' });
    const pod = {
      status: runtimeOf(sandboxes, [record]),
      ended: false,
    };
    assert.deepEqual(sandboxesToRemove(pod, new Set()), ['sandbox-0']);
    assert.deepEqual(sandboxesToRemove(pod, new Set([record.id])), ['sandbox-1', 'sandbox-0']);
    const still = { ...pod, status: runtimeOf(sandboxes.slice(1), []), ended: true };
    assert.deepEqual(sandboxesToRemove(still, new Set()), ['sandbox-1', 'sandbox-0']);
  });
});

async function world(t: TestContext) {
  const root = await temporaryDirectory(t);
  const [podLogsDir, containerLogsDir] = [path.join(root, 'pods'), path.join(root, 'containers')];
  fs.mkdirSync(podLogsDir);
  fs.mkdirSync(containerLogsDir);
  const files = new PodFiles({ rootDir: root, podLogsDir, containerLogsDir, clusterDomain: '' });
  const pods: GcPod[] = [];
  const calls: string[] = [];
  const events: string[] = [];
  const state = { alive: new Set<string>(), wanted: new Set<string>() as Set<string> | undefined };
  const runtime = {
    broken: undefined as string | undefined,
    removeContainer: (id: string) => {
      if (runtime.broken === id) return Promise.reject(new IsletError('failed', `no ${id}`));
      return Promise.resolve(void calls.push(`container ${id}`));
    },
    stopPodSandbox: (id: string) => Promise.resolve(void calls.push(`stop ${id}`)),
    removePodSandbox: (id: string) => Promise.resolve(void calls.push(`sandbox ${id}`)),
  };
  const gc = new ContainerGc({
    pods: () => pods,
    isAlive: (uid) => state.alive.has(uid),
    wantedNames: () => state.wanted,
    adoptLeftovers: () => Promise.resolve(void calls.push('leftovers')),
    ...{ runtime, files, podLogsDir, containerLogsDir, settings: DEFAULTS },
    onRemoved: () => void calls.push('relist'),
    nodeName: 'edge1',
    events: { event: (_, type, reason, text) => void events.push(`${type} ${reason} ${text}`) },
    clock: new ManualClock(),
  });
  const log = (pod: string, file: string): string => {
    const target = path.join(podLogsDir, pod, file);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(target, 'x');
    return target;
  };
  return { gc, pods, calls, events, state, runtime, podLogsDir, containerLogsDir, log };
}

describe('container garbage collection', () => {
  it('removes records with their logs, goes on after a failure, and tells of it', async (t) => {
    const w = await world(t);
    w.pods.push(gcPod('u', 'a-5:r a-4:x a-3:x a-2:x'));
    const { namespace, name } = w.pods[0]?.status ?? assert.fail();
    const dir = `${namespace}_${name}_u`;
    const count = w.pods[0]?.status.containers[3]?.attempt ?? 0;
    w.log(dir, `a/${count}.log`);
    w.runtime.broken = 'u/a-3';
    await w.gc.collect(never);
    assert.deepEqual(w.calls, ['container u/a-2', 'relist', 'leftovers']);
    assert.deepEqual(w.events, ['Warning ContainerGCFailed no u/a-3']);
    assert.deepEqual(fs.readdirSync(path.join(w.podLogsDir, dir, 'a')), []);
  });

  it('has nothing to do where nothing is left', async (t) => {
    const w = await world(t);
    w.pods.push(gcPod('u', 'a-5:r a-4:x'));
    await w.gc.collect(never);
    assert.deepEqual(w.calls, ['leftovers']);
  });

  it('removes logs of earlier pods of a wanted name, and nobody else’s', async (t) => {
    const w = await world(t);
    w.state.wanted = new Set(['web-edge1_default']);
    w.state.alive = new Set(['now', 'ending']);
    for (const uid of ['now', 'ending', 'before']) w.log(`default_web-edge1_${uid}`, 'a/0.log');
    w.log('default_other-edge1_x', 'a/0.log');
    w.log('not-a-pod', 'a/0.log');
    await w.gc.collect(never);
    const left = ['default_other-edge1_x', 'default_web-edge1_ending', 'default_web-edge1_now'];
    assert.deepEqual(fs.readdirSync(w.podLogsDir).sort(), [...left, 'not-a-pod']);
  });

  it('removes no logs while it is not certain what is wanted', async (t) => {
    const w = await world(t);
    w.state.wanted = undefined;
    w.log('default_web-edge1_before', 'a/0.log');
    await w.gc.collect(never);
    assert.equal(fs.readdirSync(w.podLogsDir).length, 1);
  });

  it('removes links that lead to logs which are gone, but none of a pod that lives', async (t) => {
    const w = await world(t);
    w.state.alive = new Set(['now']);
    const link = (name: string, target: string): void =>
      fs.symlinkSync(target, path.join(w.containerLogsDir, name));
    link('there.log', w.log('default_a_x', 'a/0.log'));
    link('dead.log', path.join(w.podLogsDir, 'default_a_x/a/1.log'));
    link('rotating.log', path.join(w.podLogsDir, 'default_b_now/a/0.log'));
    link('elsewhere.log', '/nowhere/pods/default_a_x/a/1.log');
    link('dead.txt', path.join(w.podLogsDir, 'default_a_x/a/1.log'));
    await w.gc.collect(never);
    const left = fs.readdirSync(w.containerLogsDir).sort();
    assert.deepEqual(left, ['dead.txt', 'elsewhere.log', 'rotating.log', 'there.log']);
  });

  it('knows a left pod by the name of its logs where only its uid is known otherwise', async (t) => {
    const w = await world(t);
    w.log('default_web-edge1_u1', 'a/0.log');
    const found = await findLeftovers({
      inRuntime: () => [],
      onDisk: () => Promise.resolve(['u1', 'u2']),
      inLogs: () => podsWithLogs(w.podLogsDir),
      inStore: () => [],
      wantedNames: () => new Set(),
    });
    assert.deepEqual(found, [
      { uid: 'u1', name: 'web-edge1', namespace: 'default' },
      { uid: 'u2', name: 'u2', namespace: '' },
    ]);
  });
});
