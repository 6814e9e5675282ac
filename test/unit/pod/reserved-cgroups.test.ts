import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { CgroupKeeper } from '../../../src/pod/cgroup-keeper.ts';
import { CgroupTree } from '../../../src/pod/cgroup-tree.ts';
import { ReservedCgroups, enforcedReservations } from '../../../src/pod/reserved-cgroups.ts';
import { cgroupVersion } from '../../../src/runtime/cgroup-version.ts';
import { GIB, MIB } from '../../support/facts.ts';
import { ManualClock } from '../../support/clock.ts';

const MOUNT = '/sys/fs/cgroup';
const NOTHING = {
  enforceNodeAllocatable: ['pods'],
  kubeReserved: {},
  systemReserved: {},
  kubeReservedCgroup: '',
  systemReservedCgroup: '',
};
const KUBE = {
  ...NOTHING,
  enforceNodeAllocatable: ['pods', 'kube-reserved'],
  kubeReserved: { cpu: '500m', memory: '1Gi', pid: '1000', 'ephemeral-storage': '1Gi' },
  kubeReservedCgroup: '/podruntime.slice',
};

test('what is enforced on whom', () => {
  assert.deepEqual(enforcedReservations(NOTHING), []);
  const limits = { cpuShares: 512, memory: GIB, pids: 1000 };
  assert.deepEqual(enforcedReservations(KUBE), [
    { owner: 'kube', cgroup: '/podruntime.slice', limits },
  ]);
  const both = {
    ...KUBE,
    enforceNodeAllocatable: ['kube-reserved-compressible', 'system-reserved'],
    systemReserved: { memory: '100Mi' },
    systemReservedCgroup: 'system.slice/',
  };
  assert.deepEqual(enforcedReservations(both), [
    { owner: 'system', cgroup: '/system.slice', limits: { memory: 100 * MIB } },
    { owner: 'kube', cgroup: '/podruntime.slice', limits: { cpuShares: 512 } },
  ]);
});

const real = (): string | false => {
  if (process.getuid?.() !== 0) return 'needs root';
  return cgroupVersion(MOUNT) === 1 ? false : 'needs cgroup v1';
};

test('cgroup v1, for real: an existing cgroup is limited', { skip: real() }, async () => {
  const name = `islet-reserved-${process.pid}`;
  const tree = new CgroupTree({ root: MOUNT, version: 1 });
  after(() => tree.remove(`/${name}`));
  const reserved = new ReservedCgroups({ tree, version: 1 });
  const [reservation] = enforcedReservations({ ...KUBE, kubeReservedCgroup: name });
  assert.ok(reservation);
  await assert.rejects(
    reserved.enforce(reservation),
    /no such cgroup in the hierarchy of cpu, memory, pids$/,
  );
  for (const controller of ['cpu', 'memory', 'pids']) {
    fs.mkdirSync(path.join(MOUNT, controller, name), { recursive: true });
  }
  await reserved.enforce(reservation);
  const read = (controller: string, file: string): string =>
    fs.readFileSync(path.join(MOUNT, controller, name, file), 'utf8').trim();
  assert.equal(read('cpu', 'cpu.shares'), '512');
  assert.equal(read('memory', 'memory.limit_in_bytes'), String(GIB));
  assert.equal(read('pids', 'pids.max'), '1000');
});

test('cgroup v2, on a recorded tree: limits, and a controller that is not there', async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-reserved-'));
  after(() => fs.rmSync(root, { recursive: true }));
  const dir = path.join(root, 'podruntime.slice');
  fs.mkdirSync(dir);
  fs.writeFileSync(path.join(dir, 'cgroup.controllers'), 'cpu memory\n');
  const tree = new CgroupTree({ root, version: 2 });
  const reserved = new ReservedCgroups({ tree, version: 2 });
  const [reservation] = enforcedReservations(KUBE);
  assert.ok(reservation);
  await assert.rejects(reserved.enforce(reservation), /no such cgroup with the controller pids$/);
  fs.writeFileSync(path.join(dir, 'cgroup.controllers'), 'cpu memory pids\n');
  await reserved.enforce(reservation);
  const read = (file: string): string => fs.readFileSync(path.join(dir, file), 'utf8');
  assert.deepEqual(['cpu.weight', 'memory.max', 'pids.max'].map(read), ['20', String(GIB), '1000']);
});

test('the keeper says once what is enforced, and again and again what is not; pods wait for neither', async () => {
  const events: string[] = [];
  const clock = new ManualClock();
  const stop = new AbortController();
  const weighed: string[] = [];
  let there = false;
  const keeper = new CgroupKeeper({
    cgroups: {
      ensureRoot: () => Promise.resolve(),
      refreshQos: (pods, _signal, options) => {
        weighed.push(options?.onlyChanged ? 'changed' : 'all');
        return pods.length > 0 ? Promise.reject(new Error('no')) : Promise.resolve();
      },
      ensure: () => Promise.resolve(),
      destroy: () => Promise.resolve(),
    },
    reserved: {
      enforce: () => (there ? Promise.resolve() : Promise.reject(new Error('not there'))),
    },
    reservations: enforcedReservations(KUBE),
    enforcePods: true,
    activePods: () => [],
    nodeName: 'edge1',
    events: {
      event: (target, type, reason, message) =>
        void events.push(`${target.kind} ${type} ${reason}: ${message}`),
    },
    clock,
  });
  await keeper.prepare(stop.signal);
  const refused =
    'Node Warning FailedNodeAllocatableEnforcement: Failed to enforce Kube Reserved Cgroup Limits on ' +
    '"/podruntime.slice": not there';
  const pods = 'Node Normal NodeAllocatableEnforced: Updated Node Allocatable limit across pods';
  assert.deepEqual(events, [pods, refused]);
  const running = keeper.run(stop.signal).catch(() => undefined);
  await clock.advance(60_000);
  assert.deepEqual(events, [pods, refused, refused]);
  there = true;
  await clock.advance(60_000);
  await clock.advance(60_000);
  assert.deepEqual(events.slice(3), [
    'Node Normal NodeAllocatableEnforced: Updated limits on kube reserved cgroup /podruntime.slice',
  ]);
  assert.deepEqual(weighed, ['all', 'all', 'all']);
  await keeper.destroy('uid-1', stop.signal);
  assert.deepEqual(weighed.slice(3), ['changed']);
  stop.abort();
  await running;
});
