import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { CgroupTree } from '../../../src/pod/cgroup-tree.ts';
import { PodCgroups, sigkill, systemPodCgroups } from '../../../src/pod/cgroups.ts';
import { cgroupVersion } from '../../../src/runtime/cgroup-version.ts';
import type { CgroupVersion } from '../../../src/runtime/cgroup-version.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { factsOf, MIB } from '../../support/facts.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const never = new AbortController().signal;
const MOUNT = '/sys/fs/cgroup';
/** Of this test run only: other agents of the machine have their own. */
const PRIVATE = `islet-test-${process.pid}`;

function cgroupsAt(root: string, version: CgroupVersion, cgroupRoot: string): PodCgroups {
  return new PodCgroups({
    tree: new CgroupTree({ root, version }),
    driver: 'cgroupfs',
    cgroupRoot,
    cgroupsPerQOS: true,
    enforcePods: false,
    facts: factsOf({ cgroupVersion: version }),
    clock: new SystemClock(),
    kill: sigkill,
  });
}

function burstable(uid: string): Pod {
  const resources = {
    requests: { cpu: '100m' },
    limits: { cpu: '250m', memory: '64Mi' },
  };
  return podOf({ containers: [containerOf('app', { resources })] }, uid);
}

/** A process that does nothing, in a cgroup. */
async function processIn(dir: string): Promise<ChildProcess> {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  await once(child, 'spawn');
  fs.writeFileSync(path.join(dir, 'cgroup.procs'), String(child.pid));
  return child;
}

const real = (): string | false => {
  if (process.getuid?.() !== 0) return 'needs root';
  return cgroupVersion(MOUNT) === 1 ? false : 'needs cgroup v1';
};

describe('cgroup v1, for real', { skip: real() }, () => {
  const cgroups = cgroupsAt(MOUNT, 1, `/${PRIVATE}`);
  const read = (controller: string, cgroup: string, file: string): string =>
    fs.readFileSync(path.join(MOUNT, controller, PRIVATE, cgroup, file), 'utf8').trim();
  const hierarchies = fs.existsSync(MOUNT) ? fs.readdirSync(MOUNT) : [];
  const left = (cgroup: string): string[] =>
    hierarchies.filter((name) => fs.existsSync(path.join(MOUNT, name, PRIVATE, cgroup)));

  after(async () => {
    const tree = new CgroupTree({ root: MOUNT, version: 1 });
    await tree.remove(`/${PRIVATE}`);
    assert.deepEqual(left(''), [], 'nothing is left on the machine');
  });

  test('the levels and their weights', async () => {
    await cgroups.ensureRoot(never);
    await cgroups.ensureRoot(never);
    assert.equal(read('cpu', 'kubepods', 'cpu.shares'), '2048');
    assert.equal(read('cpu', 'kubepods/besteffort', 'cpu.shares'), '2');
    await cgroups.refreshQos([burstable('a'), burstable('b')], never);
    assert.equal(read('cpu', 'kubepods/burstable', 'cpu.shares'), '204');
    await cgroups.ensureRoot(never);
    assert.equal(read('cpu', 'kubepods/burstable', 'cpu.shares'), '204', 'a start keeps weights');
  });

  test('a pod’s limits are in the kernel', async () => {
    const pod = burstable('uid-1');
    assert.equal(await cgroups.exists(pod), false);
    await cgroups.ensure(pod, never);
    await cgroups.ensure(pod, never);
    assert.equal(await cgroups.exists(pod), true);
    const at = 'kubepods/burstable/poduid-1';
    assert.equal(cgroups.cgroupParent(pod), `/${PRIVATE}/${at}`);
    assert.equal(read('cpu', at, 'cpu.shares'), '102');
    assert.equal(read('cpu', at, 'cpu.cfs_quota_us'), '25000');
    assert.equal(read('memory', at, 'memory.limit_in_bytes'), String(64 * MIB));
    assert.notEqual(
      read('cpuset', at, 'cpuset.cpus'),
      '',
      'a cpuset without CPUs takes no process',
    );
    assert.equal(read('cpuset', at, 'cpuset.mems'), read('cpuset', '..', 'cpuset.mems'));
  });

  test('the pods that have a cgroup are found, and half ones too', async () => {
    await cgroups.ensure(podOf({}, 'uid-2'), never);
    fs.mkdirSync(path.join(MOUNT, 'pids', PRIVATE, 'kubepods', 'poduid-3'));
    const found = await cgroups.list();
    const text = found.map(({ uid, qos }) => `${uid} ${qos}`).sort();
    assert.deepEqual(text, ['uid-1 Burstable', 'uid-2 BestEffort', 'uid-3 Guaranteed']);
    await cgroups.throttle({ uid: 'uid-1', qos: 'Burstable' }, never);
    assert.equal(read('cpu', 'kubepods/burstable/poduid-1', 'cpu.shares'), '2');
  });

  test('destroying a pod’s cgroup kills what runs in it and leaves nothing', async () => {
    const at = 'kubepods/burstable/poduid-1';
    // As a runtime does: a directory of its own in every hierarchy, one of them unmanaged.
    for (const controller of ['cpu', 'memory', 'pids', 'freezer']) {
      fs.mkdirSync(path.join(MOUNT, controller, PRIVATE, at, 'container'), { recursive: true });
    }
    const inChild = await processIn(path.join(MOUNT, 'memory', PRIVATE, at, 'container'));
    const inPod = await processIn(path.join(MOUNT, 'freezer', PRIVATE, at));
    const ends = [inChild, inPod].map((child) => once(child, 'exit'));
    await cgroups.destroy('uid-1', never);
    for (const [, signal] of await Promise.all(ends)) assert.equal(signal, 'SIGKILL');
    assert.deepEqual(left(at), []);
    await cgroups.destroy('uid-1', never);
    await cgroups.destroy('uid-2', never);
    await cgroups.destroy('uid-3', never);
    assert.deepEqual(await cgroups.list(), []);
  });
});

describe('cgroup v2, on a recorded tree', () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-cgroups-'));
  after(() => fs.rmSync(root, { recursive: true }));
  const read = (name: string): string => fs.readFileSync(path.join(root, name), 'utf8');
  /** The kernel fills a new directory; here it is there before. */
  const record = (cgroup: string): void => {
    fs.mkdirSync(path.join(root, cgroup), { recursive: true });
    fs.writeFileSync(path.join(root, cgroup, 'cgroup.controllers'), 'cpuset cpu memory pids\n');
    fs.writeFileSync(path.join(root, cgroup, 'cgroup.subtree_control'), 'memory pids cpuset\n');
  };
  const cgroups = cgroupsAt(root, 2, '/');

  test('controllers are passed on and limits written', async () => {
    for (const level of ['', 'kubepods', 'kubepods/burstable', 'kubepods/burstable/poduid-1']) {
      record(level);
    }
    const pod = burstable('uid-1');
    await cgroups.ensure(pod, never);
    const at = 'kubepods/burstable/poduid-1';
    assert.equal(read('kubepods/cgroup.subtree_control'), '+cpu', 'only what was missing');
    assert.equal(read(`${at}/cpu.weight`), '4');
    assert.equal(read(`${at}/cpu.max`), '25000 100000');
    assert.equal(read(`${at}/memory.max`), String(64 * MIB));
    assert.equal(
      fs.existsSync(path.join(root, at, 'hugetlb.2MB.max')),
      false,
      'no such controller',
    );
    assert.equal(await cgroups.exists(pod), true);
    assert.deepEqual(await cgroups.list(), [{ uid: 'uid-1', qos: 'Burstable' }]);
  });

  test('a node without memory or cpu control is told so', async () => {
    fs.writeFileSync(path.join(root, 'cgroup.controllers'), 'memory pids\n');
    await assert.rejects(
      cgroups.ensureRoot(never),
      (error) =>
        error instanceof IsletError &&
        error.code === 'unavailable' &&
        error.message.endsWith('missing below ' + root + ': cpu'),
    );
  });
});

const UNIFIED = path.join(MOUNT, 'unified');
const hybrid = (): string | false => {
  if (process.getuid?.() !== 0) return 'needs root';
  return fs.existsSync(path.join(UNIFIED, 'cgroup.procs')) ? false : 'needs a v2 hierarchy';
};

test('cgroup v2, for real: processes are killed, directories go', { skip: hybrid() }, async () => {
  const cgroups = cgroupsAt(UNIFIED, 2, `/${PRIVATE}`);
  const pod = podOf({}, 'uid-1');
  await cgroups.ensure(pod, never);
  const dir = path.join(UNIFIED, cgroups.cgroupParent(pod));
  fs.mkdirSync(path.join(dir, 'container'));
  const child = await processIn(path.join(dir, 'container'));
  const end = once(child, 'exit');
  await cgroups.destroy('uid-1', never);
  assert.equal((await end)[1], 'SIGKILL');
  assert.equal(fs.existsSync(dir), false);
  await new CgroupTree({ root: UNIFIED, version: 2 }).remove(`/${PRIVATE}`);
});

test('a cgroup that stays busy is an error, after some tries', async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-busy-'));
  after(() => fs.rmSync(root, { recursive: true }));
  const dir = path.join(root, 'kubepods/besteffort/poduid-1');
  fs.mkdirSync(dir, { recursive: true });
  fs.writeFileSync(path.join(dir, 'cgroup.procs'), '11\n12\n0\n');
  const killed: number[] = [];
  const waits: number[] = [];
  const cgroups = new PodCgroups({
    tree: new CgroupTree({ root, version: 2 }),
    driver: 'cgroupfs',
    cgroupRoot: '',
    cgroupsPerQOS: true,
    enforcePods: false,
    facts: factsOf(),
    clock: {
      wall: () => 0,
      monotonic: () => 0,
      sleep: (ms) => {
        waits.push(ms);
        return Promise.resolve();
      },
    },
    kill: (pid) => killed.push(pid),
  });
  await assert.rejects(cgroups.destroy('uid-1', never), IsletError);
  assert.deepEqual(waits, [10, 20, 40, 80, 160]);
  assert.deepEqual(killed, [11, 12, 11, 12, 11, 12, 11, 12, 11, 12]);
});

test('without cgroups per pod, everything is the configured root and nothing is made', async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-none-'));
  after(() => fs.rmSync(root, { recursive: true }));
  const kubelet = { cgroupRoot: '/own', cgroupsPerQOS: false, enforceNodeAllocatable: ['pods'] };
  const deps = { facts: factsOf(), clock: new SystemClock(), root };
  const cgroups = systemPodCgroups(kubelet, 'cgroupfs', deps);
  const pod = podOf();
  await cgroups.ensureRoot(never);
  await cgroups.ensure(pod, never);
  await cgroups.destroy('uid-1', never);
  assert.equal(cgroups.cgroupParent(pod), '/own');
  assert.deepEqual(await cgroups.list(), []);
  assert.deepEqual(fs.readdirSync(root), []);
});
