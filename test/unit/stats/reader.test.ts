import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { status as Status } from '@grpc/grpc-js';
import { settle } from '../../support/clock.ts';
import { put } from './support.ts';
import { World } from './world.ts';

const value = (n: number) => ({ value: BigInt(n) });
const GIB = 2 ** 30;

for (const version of [1, 2] as const) {
  test(`v${version}: a pod with its container, from the kernel`, async (t) => {
    const world = await World.make(t, version);
    const { id } = await world.run('web');
    const [pod] = await world.stats.pods(world.signal);
    assert.deepEqual(pod?.ref, { name: 'web-edge1', namespace: 'default', uid: 'uid-web' });
    assert.equal(pod?.startTimeMs, Date.UTC(2026, 0, 1));
    assert.equal(pod?.memory?.workingSet, 2_800_000);
    assert.equal(pod?.memory?.available, 1_200_000);
    assert.equal(pod?.processCount, 3);
    assert.equal(pod?.network?.default?.rxBytes, 55);
    const [container] = pod?.containers ?? [];
    assert.deepEqual([container?.name, container?.id, container?.image], ['app', id, 'app:1']);
    assert.equal(container?.memory?.workingSet, 800_000);
    assert.equal(container?.cpu?.usageCoreNanoSeconds, 5_000_000);
    assert.equal(container?.memory?.psi?.some.total, version === 2 ? 2000 : undefined);
  });

  test(`v${version}: the node`, async (t) => {
    const world = await World.make(t, version);
    const node = await world.stats.node(world.signal);
    const workingSet = version === 1 ? 1_999_800_000 : 600_000;
    assert.equal(node.memory.workingSet, workingSet);
    assert.equal(node.memory.capacity, 8 * GIB);
    assert.equal(node.memory.available, 8 * GIB - workingSet);
    assert.deepEqual([node.pid.max, node.pid.current], [31_000, 345]);
    assert.equal(node.network?.default?.name, 'wlan0');
    const statfs = fs.statfsSync(world.root);
    assert.equal(node.fs.capacity, statfs.blocks * statfs.bsize);
    assert.equal(node.memory.psi?.some.total, 5000, 'of the machine, on either version');
    const pods = node.systemContainers.find(({ name }) => name === 'pods');
    assert.equal(pods?.memory?.workingSet, 800_000);
    assert.equal(node.imageFs, undefined, 'the runtime has not told where that is');
  });
}

test('rates: settle takes a first sample and waits for the second', async (t) => {
  const world = await World.make(t, 1);
  const { uid } = await world.run('web');
  const settled = world.stats.settle(world.signal);
  await settle();
  world.cgroup(`/kubepods/pod${uid}`, { usage: 1, inactiveFile: 0, cpu: 105_000_000 });
  await world.clock.advance(500);
  await settled;
  const [pod] = await world.stats.pods(world.signal);
  assert.equal(
    pod?.cpu?.usageNanoCores,
    200_000_000,
    'a tenth of a second of CPU in half a second',
  );
  assert.equal(pod?.containers[0]?.cpu?.usageNanoCores, 0);
  await world.clock.advance(10_000);
  await world.stats.settle(world.signal);
  const node = await world.stats.node(world.signal);
  assert.equal(node.cpu?.usageNanoCores, 0, 'what has been sampled is waited for no more');
});

test('disks: writable layer, logs, volumes, hosts file and their sum', async (t) => {
  const world = await World.make(t, 1);
  const { uid, id } = await world.run('web');
  const [made] = world.pods;
  assert.ok(made);
  made.spec.volumes = [{ name: 'data', emptyDir: {} }];
  put(world.root, `node/logs/${uid}/app/0.log`, 'x'.repeat(10_000));
  put(world.root, `node/logs/${uid}/old/0.log`, 'x'.repeat(20_000));
  put(world.root, `node/${uid}/data/file`, 'x'.repeat(30_000));
  put(world.root, `node/${uid}/etc-hosts`, '127.0.0.1 localhost');
  const writableLayer = { usedBytes: value(4_000_000), inodesUsed: value(11) };
  world.cri.fake.runtime.usage.containers.set(id, { writableLayer });
  const [pod] = await world.stats.pods(world.signal);
  const [container] = pod?.containers ?? [];
  const blocks = (name: string): number =>
    fs.lstatSync(path.join(world.root, 'node', name)).blocks * 512;
  const app = blocks(`logs/${uid}/app`) + blocks(`logs/${uid}/app/0.log`);
  const old = blocks(`logs/${uid}/old`) + blocks(`logs/${uid}/old/0.log`);
  const volume = blocks(`${uid}/data`) + blocks(`${uid}/data/file`);
  assert.deepEqual([container?.rootfs?.used, container?.rootfs?.inodesUsed], [4_000_000, 11]);
  assert.deepEqual([container?.logs?.used, container?.logs?.inodesUsed], [app, 2]);
  assert.deepEqual([pod?.volumes[0]?.used, pod?.volumes[0]?.inodesUsed], [volume, 2]);
  const rest = blocks(`logs/${uid}`) + blocks(`${uid}/etc-hosts`);
  assert.equal(pod?.ephemeralStorage?.used, 4_000_000 + app + old + volume + rest);
  assert.equal(pod?.ephemeralStorage?.inodesUsed, 11 + 2 + 2 + 2 + 1 + 1);
});

test('without disks the runtime is not asked', async (t) => {
  const world = await World.make(t, 1);
  await world.run('web');
  const [pod] = await world.stats.pods(world.signal, { disk: false });
  assert.equal(pod?.memory?.workingSet, 2_800_000);
  assert.equal(pod?.containers[0]?.rootfs, undefined);
  assert.deepEqual(world.cri.fake.callsOf('listContainerStats'), []);
});

test('a list that fails as a whole is asked for one by one; one that fails is left out', async (t) => {
  const world = await World.make(t, 1);
  const a = await world.run('a');
  const b = await world.run('b');
  const writableLayer = { usedBytes: value(5), inodesUsed: value(1) };
  for (const { id } of [a, b]) world.cri.fake.runtime.usage.containers.set(id, { writableLayer });
  world.cri.fake.fail('listContainerStats', Status.UNKNOWN, 'a sandbox is broken');
  const used = (await world.stats.pods(world.signal)).map((pod) => pod.containers[0]?.rootfs?.used);
  assert.deepEqual(used, [5, 5]);
  world.cri.fake.runtime.containers.delete(b.id);
  const later = await world.stats.pods(world.signal, { fresh: true });
  assert.deepEqual(
    later.map((pod) => pod.containers[0]?.rootfs?.used),
    [5, undefined],
  );
  assert.equal(later[1]?.memory?.workingSet, 2_800_000, 'the kernel still tells');
});

test('where no cgroup is found the runtime tells CPU and memory, sandboxes one by one too', async (t) => {
  const world = await World.make(t, 2);
  const { id } = await world.run('vm', false);
  const { usage, sandboxes } = world.cri.fake.runtime;
  const timestamp = 1_700_000_000_000_000_000n;
  const cpu = { timestamp, usageCoreNanoSeconds: value(77), usageNanoCores: value(8) };
  const memory = { timestamp, workingSetBytes: value(9000), usageBytes: value(9500) };
  usage.containers.set(id, { cpu, memory });
  const [sandbox = ''] = sandboxes.keys();
  const eth0 = { name: 'eth0', rxBytes: value(1), txBytes: value(2) };
  const network = { defaultInterface: eth0, interfaces: [eth0] };
  usage.sandboxes.set(sandbox, { cpu, memory, network, process: { processCount: value(6) } });
  world.cri.fake.fail('listPodSandboxStats', Status.UNKNOWN, 'a sandbox is broken');
  const [pod] = await world.stats.pods(world.signal);
  assert.deepEqual(pod?.containers[0]?.cpu, {
    timeMs: 1_700_000_000_000,
    usageCoreNanoSeconds: 77,
    usageNanoCores: 8,
  });
  assert.equal(pod?.memory?.workingSet, 9000);
  assert.equal(pod?.processCount, 6);
  assert.deepEqual(pod?.network?.default, {
    ...{ name: 'eth0', rxBytes: 1, rxErrors: 0, txBytes: 2, txErrors: 0 },
  });
});

test('a pod without cgroup and container has no statistics; one on the host has no network', async (t) => {
  const world = await World.make(t, 1);
  await world.run('host');
  const [host] = world.pods;
  assert.ok(host);
  host.spec.hostNetwork = true;
  world.pods.push({ ...host, metadata: { ...host.metadata, uid: 'waiting' }, status: {} });
  const pods = await world.stats.pods(world.signal);
  assert.deepEqual(
    pods.map(({ ref }) => ref.uid),
    ['uid-host'],
  );
  assert.equal(pods[0]?.network, undefined);
});

test('answers are shared for a second, unless they must be fresh', async (t) => {
  const world = await World.make(t, 1);
  await world.run('web');
  const asked = (): number => world.cri.fake.callsOf('listContainerStats').length;
  await Promise.all([world.stats.pods(world.signal), world.stats.pods(world.signal)]);
  assert.equal(asked(), 1);
  await world.stats.pods(world.signal, { fresh: true });
  assert.equal(asked(), 2);
  await world.clock.advance(1000);
  await world.stats.pods(world.signal);
  assert.equal(asked(), 3);
});

test('the image file system: room from the kernel, use from the runtime, kept while it hangs', async (t) => {
  const world = await World.make(t, 1);
  const mountpoint = path.join(world.root, 'images');
  fs.mkdirSync(mountpoint);
  world.cri.fake.runtime.usage.imageFs = [
    { fsId: { mountpoint }, usedBytes: value(1234), inodesUsed: value(56) },
  ];
  const statfs = fs.statfsSync(mountpoint);
  const first = await world.stats.node(world.signal);
  assert.deepEqual([first.imageFs?.used, first.imageFs?.inodesUsed], [1234, 56]);
  assert.equal(first.imageFs?.capacity, statfs.blocks * statfs.bsize);
  assert.equal(first.imageFs?.device, first.fs.device, 'no file system of its own');
  assert.deepEqual(first.containerFs, first.imageFs);
  world.cri.fake.hang('imageFsInfo');
  await world.clock.advance(20_000);
  const later = await world.stats.node(world.signal);
  assert.equal(later.imageFs?.used, 1234);
  assert.equal(world.cri.fake.callsOf('imageFsInfo').length <= 2, true);
});

test('a runtime that hangs from the start holds the node up for two seconds at most', async (t) => {
  const world = await World.make(t, 1);
  world.cri.fake.hang('imageFsInfo');
  const answer = world.stats.node(world.signal);
  await settle();
  await world.clock.advance(2000);
  assert.equal((await answer).imageFs, undefined);
});
