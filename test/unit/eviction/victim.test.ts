/** Whom eviction chooses and what it says: usage by layout, messages, limits of local storage. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { isCriticalPod, podPriority } from '../../../src/api/priority.ts';
import { Annotation } from '../../../src/api/reasons.ts';
import { hasStorageLimits, limitHit } from '../../../src/eviction/local-storage.ts';
import { evictionMessage } from '../../../src/eviction/message.ts';
import { reclaimsFor } from '../../../src/eviction/reclaim.ts';
import type { DiskLayout, Signal } from '../../../src/eviction/signal.ts';
import { observationsOf } from '../../../src/eviction/signal.ts';
import type { Threshold } from '../../../src/eviction/threshold.ts';
import { rankingFor } from '../../../src/eviction/usage.ts';
import { containerOf, podOf } from '../../support/pods.ts';
import { GIB, MIB, nodeOf, podStatsOf, used } from '../../support/stats.ts';

const HEAVY = podStatsOf('uid-1', {
  memory: 300 * MIB,
  processes: 12,
  rootfs: used(5, 50),
  logs: used(7, 70),
  volumes: [
    { name: 'cache', local: true, ...used(11, 110) },
    { name: 'data', local: false, ...used(1000, 1000) },
  ],
});

function asking(requests: Record<string, string>, limits: Record<string, string> = {}): Pod {
  return podOf({ containers: [containerOf('app', { resources: { requests, limits } })] });
}

function rowOf(signal: Signal, layout: DiskLayout, pod = podOf()) {
  return rankingFor(signal, layout, [pod], new Map([['uid-1', HEAVY]])).rows[0];
}

test('memory is compared with the request, processes with nobody', () => {
  const pod = asking({ memory: '200Mi' });
  assert.deepEqual(rowOf('memory.available', 'one', pod), {
    ...{ usage: 300 * MIB, request: 200 * MIB, priority: 0, overRequest: true },
  });
  assert.equal(rowOf('memory.available', 'one', asking({ memory: '1Gi' }))?.overRequest, false);
  assert.equal(rowOf('pid.available', 'one')?.usage, 12);
  assert.equal(rankingFor('pid.available', 'one', [], new Map()).order, 'priority');
  assert.equal(rankingFor('nodefs.available', 'one', [], new Map()).order, 'use');
});

test('a pod without statistics has no usage and is not over its request', () => {
  const { rows } = rankingFor('memory.available', 'one', [podOf()], new Map());
  assert.deepEqual(rows, [{ usage: undefined, request: 0, priority: 0, overRequest: false }]);
});

const DISK_USE: readonly [DiskLayout, Signal, number][] = [
  ['one', 'nodefs.available', 23],
  ['one', 'imagefs.available', 23],
  ['one', 'containerfs.inodesFree', 230],
  ['imagefs', 'nodefs.available', 18],
  ['imagefs', 'nodefs.inodesFree', 180],
  ['imagefs', 'imagefs.available', 5],
  ['imagefs', 'containerfs.available', 5],
  ['split', 'nodefs.available', 23],
  ['split', 'imagefs.available', 0],
  ['split', 'containerfs.available', 23],
];

test('what counts on a disk depends on what lies on it', () => {
  for (const [layout, signal, usage] of DISK_USE)
    assert.equal(rowOf(signal, layout)?.usage, usage, `${layout} ${signal}`);
});

test('whoever uses inodes is over what it asked for, as nobody can', () => {
  const row = rowOf('nodefs.inodesFree', 'one', asking({ 'ephemeral-storage': '1Gi' }));
  assert.deepEqual([row?.overRequest, row?.request], [true, GIB]);
});

test('what the node gives back first depends on what is short and where', () => {
  const both = ['deadContainers', 'unusedImages'];
  const rows: [Signal, DiskLayout, string[]][] = [
    ['memory.available', 'one', []],
    ['pid.available', 'one', []],
    ['nodefs.available', 'one', both],
    ['nodefs.inodesFree', 'imagefs', []],
    ['imagefs.available', 'imagefs', both],
    ['nodefs.available', 'split', ['deadContainers']],
    ['imagefs.inodesFree', 'split', ['unusedImages']],
    ['containerfs.available', 'split', ['deadContainers']],
  ];
  for (const [signal, layout, steps] of rows)
    assert.deepEqual(reclaimsFor(signal, layout), steps, `${signal} ${layout}`);
});

function messageOf(due: Threshold[], pod: Pod, stats = HEAVY, memory = 90 * MIB + 512): string {
  const observations = observationsOf(nodeOf({ memory, disk: GIB, inodes: 1234, pids: 5000 }));
  const resource = due[0]?.signal === 'memory.available' ? 'memory' : 'ephemeral-storage';
  return evictionMessage({ resource, due, observations }, pod, stats);
}

test('the message names threshold, available amount and whoever uses more than it asked for', () => {
  const due: Threshold[] = [{ signal: 'memory.available', value: '100Mi' }];
  assert.equal(
    messageOf(due, asking({ memory: '200Mi' })),
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 94372352. Container app was using 300Mi, request is 200Mi, has larger consumption of memory. ',
  );
  assert.equal(
    messageOf(due, asking({ memory: '300Mi' })),
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 94372352. ',
  );
  assert.match(messageOf(due, podOf()), /Container app was using 300Mi, request is 0, has larger/);
});

test('a pod with resources of its own is named as a whole', () => {
  const due: Threshold[] = [{ signal: 'memory.available', value: '10%' }];
  const pod = podOf({ resources: { requests: { memory: '64Mi' } } });
  assert.equal(
    messageOf(due, pod, HEAVY, 90 * MIB),
    'The node was low on resource: memory. Threshold quantity: 858993472, available: 90Mi. Pod web-edge1 was using 300Mi, request is 64Mi, has larger consumption of memory. ',
  );
});

test('layers and logs of a container are named together, when both are known', () => {
  const due: Threshold[] = [{ signal: 'nodefs.available', value: '2Gi' }];
  assert.equal(
    messageOf(due, podOf()),
    'The node was low on resource: ephemeral-storage. Threshold quantity: 2Gi, available: 1Gi. Container app was using 12, request is 0, has larger consumption of ephemeral-storage. ',
  );
  const blind = podStatsOf('uid-1', { logs: used(7) });
  assert.doesNotMatch(messageOf(due, podOf(), blind), /Container/);
});

test('inodes and processes are counted, not measured', () => {
  const observations = observationsOf(nodeOf({ inodes: 4096, pids: 2048 }));
  const say = (resource: 'inodes' | 'pids', signal: Signal) =>
    evictionMessage({ resource, due: [{ signal, value: '5000' }], observations }, podOf(), HEAVY);
  assert.equal(
    say('inodes', 'nodefs.inodesFree'),
    'The node was low on resource: inodes. Threshold quantity: 5k, available: 4096. ',
  );
  assert.equal(
    say('pids', 'pid.available'),
    'The node was low on resource: pids. Threshold quantity: 5k, available: 2048. ',
  );
});

test('an emptyDir above its size limit', () => {
  const pod = podOf({ volumes: [{ name: 'cache', emptyDir: { sizeLimit: '10' } }] });
  assert.equal(hasStorageLimits(pod), true);
  assert.deepEqual(limitHit(pod, HEAVY, false), {
    signal: 'emptydirfs.limit',
    message: 'Usage of EmptyDir volume "cache" exceeds the limit "10". ',
  });
  const enough = podOf({ volumes: [{ name: 'cache', emptyDir: { sizeLimit: '11' } }] });
  assert.equal(limitHit(enough, HEAVY, false), undefined);
  const none = podOf({ volumes: [{ name: 'cache', emptyDir: { sizeLimit: '0' } }] });
  assert.equal(hasStorageLimits(none), false);
});

test('a pod above the limits of its containers together', () => {
  const pod = asking({}, { 'ephemeral-storage': '1Mi' });
  assert.deepEqual(limitHit(pod, podStatsOf('uid-1', { ephemeral: MIB + 1 }), false), {
    signal: 'ephemeralpodfs.limit',
    message: 'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ',
  });
  assert.equal(limitHit(pod, podStatsOf('uid-1', { ephemeral: MIB }), false), undefined);
});

test('a container above its own limit; its layer does not count where it is on another disk', () => {
  const pod = asking({}, { 'ephemeral-storage': '1Mi' });
  const stats = podStatsOf('uid-1', { logs: used(MIB / 2), rootfs: used(MIB) });
  assert.deepEqual(limitHit(pod, stats, false), {
    signal: 'ephemeralcontainerfs.limit',
    message: 'Container app exceeded its local ephemeral storage limit "1Mi". ',
  });
  assert.equal(limitHit(pod, stats, true), undefined);
});

test('a static pod is critical only by its priority, unless nothing static may be evicted', () => {
  const of = (spec: Parameters<typeof podOf>[0]): Pod => {
    const pod = podOf(spec);
    pod.metadata.annotations = { [Annotation.configSource]: 'file' };
    return pod;
  };
  assert.equal(podPriority(of({ priorityClassName: 'system-node-critical' })), 2_000_001_000);
  assert.equal(podPriority(of({ priorityClassName: 'system-cluster-critical' })), 2_000_000_000);
  assert.equal(podPriority(of({ priorityClassName: 'mine' })), 0);
  assert.equal(isCriticalPod(of({ priorityClassName: 'system-cluster-critical' }), true), true);
  assert.equal(isCriticalPod(of({ priority: 2_000_000_000 }), true), true);
  assert.equal(isCriticalPod(of({ priority: 1_999_999_999 }), true), false);
  assert.equal(isCriticalPod(of({}), false), true);
  assert.equal(isCriticalPod(podOf(), false), false, 'not from a manifest');
});
