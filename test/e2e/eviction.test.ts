/**
 * Real pressure on the built agent: pods that fill the memory of all pods, the memory of the node and the
 * disk of the agent. The right one goes, in the kubelet's words, the others keep their containers, and
 * it comes back by itself. The hogs are small: thresholds lie just below what there is.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after, afterEach, before } from 'node:test';
import type { Pod } from '../../src/api/pod.ts';
import { NODE_NAME, makeAgent, removeCgroup, until } from '../support/agent.ts';
import type { AgentOptions, TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { LOOP, identity, manifest, podThat, running, shell, statusOf } from './manifest.ts';

const MIB = 2 ** 20;
const CGROUP_ROOT = `/islet-e2e-${process.pid}`;
const TRANSITION = { evictionPressureTransitionPeriod: '2s' };

let containerd: TestContainerd;
let agent: TestAgent | undefined;
let flags: string;

before(async () => {
  containerd = await startContainerd();
  flags = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-e2e-flags-'));
});

afterEach(async () => {
  await agent?.dispose();
  agent = undefined;
  for (const flag of fs.readdirSync(flags)) fs.rmSync(path.join(flags, flag));
});

after(async () => {
  await containerd?.stop();
  fs.rmSync(flags, { recursive: true });
  const top = '/sys/fs/cgroup';
  for (const where of [top, ...fs.readdirSync(top).map((name) => path.join(top, name))]) {
    const directory = path.join(where, CGROUP_ROOT);
    if (fs.existsSync(directory)) removeCgroup(directory);
  }
});

async function agentWith(options: Omit<AgentOptions, 'socket'>): Promise<TestAgent> {
  return (agent = await makeAgent({ socket: containerd.socket, ...options }));
}

/** Fills a volume with so many MiB once the test raises the flag `fill`, and in later lives too while it is up. */
function filler(mib: number, volume: object, spec = {}): object {
  const fill = `dd if=/dev/zero of=/v/big bs=1M count=${mib} 2>/dev/null`;
  const script = `while [ ! -e /flags/fill ]; do sleep 0.2; done & wait $!; ${fill}; ${LOOP}`;
  const volumeMounts = [
    { name: 'v', mountPath: '/v' },
    { name: 'flags', mountPath: '/flags' },
  ];
  const volumes = [
    { name: 'v', ...volume },
    { name: 'flags', hostPath: { path: flags } },
  ];
  return manifest('hog', shell(`trap "exit 0" TERM; ${script}`, { volumeMounts }), {
    volumes,
    ...spec,
  });
}

function raise(flag: string): void {
  fs.writeFileSync(path.join(flags, flag), '');
}

function lower(flag: string): void {
  fs.rmSync(path.join(flags, flag));
}

/** Resolves when the hog is down for good: evicted, in whatever words. */
async function evicted(a: TestAgent): Promise<Pod> {
  const pod = await podThat(a, 'hog', 'is evicted', ({ status }) => status.reason === 'Evicted');
  const { reason } = (await a.events('hog')).find((event) => event.reason === 'Evicted') ?? {};
  assert.equal(reason, 'Evicted');
  assert.equal(pod.status.phase, 'Failed');
  return pod;
}

/** It runs again, in another container, and its restarts are counted on. */
async function backAgain(a: TestAgent, before: Pod): Promise<void> {
  const pod = await running(a, 'hog');
  assert.notEqual(statusOf(pod).containerID, statusOf(before).containerID);
  assert.equal(pod.metadata.uid, before.metadata.uid);
  assert.equal(statusOf(pod).restartCount, statusOf(before).restartCount + 1);
  const reasons = (await a.events('hog')).map((event) => event.reason);
  assert.ok(reasons.includes('EvictionOver'), reasons.join(' '));
}

test('pods that share too little memory: the hungry one goes, and is back when it is sated', async () => {
  const limitMiB = 300;
  const reserved = Math.floor(os.totalmem() / 1024) - limitMiB * 1024;
  const a = await agentWith({
    kubelet: {
      ...TRANSITION,
      cgroupRoot: CGROUP_ROOT,
      enforceNodeAllocatable: ['pods'],
      systemReserved: { memory: `${reserved}Ki` },
      evictionHard: { 'allocatableMemory.available': '120Mi' },
    },
  });
  a.apply('hog.yaml', filler(200, { emptyDir: { medium: 'Memory' } }));
  a.apply('steady.yaml', manifest('steady', shell(LOOP)));
  await a.start();
  const hog = await running(a, 'hog');
  const steady = identity(await running(a, 'steady'));

  raise('fill');
  const gone = await evicted(a);
  assert.match(
    gone.status.message ?? '',
    /^The node was low on resource: memory\. Threshold quantity: 120Mi, available: \d+\w*\. Container main was using \d+\w*, request is 0, has larger consumption of memory\. $/,
  );
  const target = gone.status.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual([target?.status, target?.reason], ['True', 'TerminationByKubelet']);
  const refused = manifest('late', shell(LOOP));
  a.apply('late.yaml', refused);
  const late = await podThat(a, 'late', 'is kept out', ({ status }) => status.phase === 'Failed');
  assert.equal(late.status.message, 'Pod was rejected: The node had condition: [MemoryPressure]. ');

  lower('fill');
  await backAgain(a, hog);
  await running(a, 'late');
  assert.deepEqual(identity(await running(a, 'steady')), steady);
  assert.match(
    await a.get('/metrics'),
    /kubelet_evictions\{eviction_signal="allocatableMemory.available"\} 1/,
  );
});

test('a node that runs short of memory evicts the hungry pod and no critical one', async () => {
  const hungryMiB = 200;
  const a = await agentWith({ kubelet: { ...TRANSITION, evictionHard: {} } });
  a.apply('hog.yaml', filler(hungryMiB, { emptyDir: { medium: 'Memory' } }));
  const system = { priorityClassName: 'system-cluster-critical' };
  a.apply('steady.yaml', manifest('steady', shell(LOOP), system));
  await a.start();
  await running(a, 'hog');
  const steady = identity(await running(a, 'steady'));
  const { node } = JSON.parse(await a.get('/stats/summary')) as {
    node: { memory: { availableBytes: number } };
  };
  const least = Math.floor(node.memory.availableBytes / MIB - hungryMiB / 2);
  const config = JSON.parse(fs.readFileSync(a.configFile, 'utf8')) as { evictionHard: object };
  config.evictionHard = { 'memory.available': `${least}Mi` };
  fs.writeFileSync(a.configFile, JSON.stringify(config));
  await a.restart();
  await running(a, 'hog');
  raise('fill');
  const gone = await evicted(a);
  assert.match(
    gone.status.message ?? '',
    new RegExp(`^The node was low on resource: memory\\. Threshold quantity: ${least}Mi, `),
  );
  assert.deepEqual(identity(await running(a, 'steady')), steady);
});

test('a node that runs short of process ids evicts the pod that has most of them', async () => {
  const tasks = 600;
  const a = await agentWith({ kubelet: { ...TRANSITION, evictionHard: {} } });
  const spawn = `i=0; while [ -e /flags/fill ] && [ $i -lt ${tasks} ]; do sleep 600 & i=$((i+1)); done`;
  const script = `while [ ! -e /flags/fill ]; do sleep 0.2; done & wait $!; ${spawn}; ${LOOP}`;
  const hogSpec = { volumes: [{ name: 'flags', hostPath: { path: flags } }] };
  const volumeMounts = [{ name: 'flags', mountPath: '/flags' }];
  a.apply(
    'hog.yaml',
    manifest('hog', shell(`trap "exit 0" TERM; ${script}`, { volumeMounts }), hogSpec),
  );
  a.apply('steady.yaml', manifest('steady', shell(LOOP)));
  await a.start();
  const hog = await running(a, 'hog');
  const steady = identity(await running(a, 'steady'));
  const { node } = JSON.parse(await a.get('/stats/summary')) as {
    node: { rlimit: { maxpid: number; curproc: number } };
  };
  const least = node.rlimit.maxpid - node.rlimit.curproc - tasks / 2;
  const config = JSON.parse(fs.readFileSync(a.configFile, 'utf8')) as { evictionHard: object };
  config.evictionHard = { 'pid.available': String(least) };
  fs.writeFileSync(a.configFile, JSON.stringify(config));
  await a.restart();
  await running(a, 'hog');
  raise('fill');
  const gone = await evicted(a);
  assert.match(
    gone.status.message ?? '',
    new RegExp(
      `^The node was low on resource: pids\\. Threshold quantity: ${least}, available: \\d+\\. $`,
    ),
  );
  lower('fill');
  await backAgain(a, hog);
  assert.deepEqual(identity(await running(a, 'steady')), steady);
});

test('a full disk of the agent: the pod that fills it goes and leaves the disk free, and is back', async () => {
  const a = await agentWith({
    kubelet: { ...TRANSITION, evictionHard: { 'nodefs.available': '30%' } },
  });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'islet-e2e', a.root]);
  a.apply('hog.yaml', filler(80, { emptyDir: {} }));
  a.apply('steady.yaml', manifest('steady', shell(LOOP)));
  await a.start();
  const hog = await running(a, 'hog');
  const steady = identity(await running(a, 'steady'));
  raise('fill');
  const gone = await evicted(a);
  assert.match(
    gone.status.message ?? '',
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: \d+, available: \d+\w*\. /,
  );
  lower('fill');
  await until('the disk is free', () => {
    const { bavail, blocks } = fs.statfsSync(a.root);
    return bavail / blocks > 0.9;
  });
  const events = (await a.events('hog')).map(({ reason }) => reason);
  assert.ok(events.includes('Killing'), events.join(' '));
  await backAgain(a, hog);
  assert.deepEqual(identity(await running(a, 'steady')), steady);
  assert.ok((await a.pod('hog'))?.metadata.name.endsWith(NODE_NAME));
});

test('an emptyDir above its size limit costs its pod the containers, and stays down over a restart', async () => {
  const a = await agentWith({
    kubelet: { evictionHard: {}, evictionPressureTransitionPeriod: '1h' },
  });
  a.apply('hog.yaml', filler(3, { emptyDir: { sizeLimit: '1Mi' } }));
  a.apply('steady.yaml', manifest('steady', shell(LOOP)));
  await a.start();
  await running(a, 'hog');
  const steady = identity(await running(a, 'steady'));
  raise('fill');
  const gone = await evicted(a);
  assert.equal(gone.status.message, 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ');
  await a.restart();
  assert.deepEqual(identity(await running(a, 'steady')), steady);
  assert.equal((await a.pod('hog'))?.status.reason, 'Evicted');
});
