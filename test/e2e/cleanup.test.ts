/**
 * What must not stay: anything of a pod whose manifest went while no agent ran, and what an agent
 * killed in the middle of a start has left half-made. Between creation and start: cases-gap.test.ts.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import type { Pod } from '../../src/api/pod.ts';
import { cgroupsOf, logLinks, makeAgent, mountsBelow, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { CriProxy } from './cri-proxy.ts';
import type { HoldPoint } from './cri-proxy.ts';
import { LOOP, manifest, running, shell, statusOf } from './manifest.ts';
import { Runtime, eventOf, idOf, lives } from './runtime.ts';

/** Longer than nothing, much shorter than the default of 30 s. */
const GRACE_S = 3;
const FAR_BELOW_DEFAULT_S = 20;

let containerd: TestContainerd;
let proxy: CriProxy;
let runtime: Runtime;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd();
  proxy = await CriProxy.start(containerd.socket);
  runtime = new Runtime(containerd);
  agent = await makeAgent({ socket: proxy.socket });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  proxy?.stop();
  await containerd?.stop();
});

/** What the node has of a pod; empty when nothing is left. */
async function traces({ metadata: { uid } }: Pod): Promise<Record<string, string[]>> {
  const named = (directory: string): string[] =>
    fs.readdirSync(directory).filter((name) => name.includes(uid));
  const found = {
    containers: (await runtime.containers(uid)).map(({ id }) => id),
    sandboxes: (await runtime.sandboxes(uid)).map(({ id }) => id),
    mounts: mountsBelow(path.join(agent.root, 'pods', uid)),
    cgroups: cgroupsOf(uid),
    directories: named(path.join(agent.root, 'pods')),
    logs: named(agent.podLogs),
    links: logLinks(agent.podLogs).filter((link) => fs.readlinkSync(link).includes(uid)),
  };
  return Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0));
}

test('a manifest removed while no agent ran: its pod gets its own grace, then all of it goes', async () => {
  const volumes = [
    { name: 'fast', emptyDir: { medium: 'Memory' } },
    { name: 'disk', emptyDir: {} },
  ];
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  // A plain sleep is PID 1 and ignores SIGTERM: it ends when its grace period does.
  const script = 'echo here; touch /fast/f /disk/f; exec sleep 1000';
  const spec = { terminationGracePeriodSeconds: GRACE_S, volumes };
  agent.apply('doomed.yaml', manifest('doomed', shell(script, { volumeMounts }), spec));
  const pod = await running(agent, 'doomed');
  const id = idOf(statusOf(pod).containerID);
  const pid = runtime.processes().get(id);
  assert.ok(pid !== undefined);
  // The link to its log is made when it runs already.
  await until('all of it is there', async () => {
    const all = ['containers', 'sandboxes', 'mounts', 'cgroups', 'directories', 'logs', 'links'];
    assert.deepEqual(Object.keys(await traces(pod)), all);
    return true;
  });
  const tasks = await runtime.watch();

  await agent.stop();
  agent.remove('doomed.yaml');
  assert.ok(lives(pid));
  const startedAt = Date.now();
  await agent.start();
  const exit = await until(
    'its process has ended',
    () => eventOf(tasks, 'exit', id),
    FAR_BELOW_DEFAULT_S,
  );
  assert.equal(exit.exitStatus, 137);
  assert.ok(exit.at - startedAt >= GRACE_S * 1000, `killed after ${exit.at - startedAt} ms`);
  await until('nothing of it is left', async () => {
    const left = await traces(pod);
    if (Object.keys(left).length > 0) throw new Error(JSON.stringify(left));
    return true;
  });
});

const GAPS: readonly { method: string; point: HoldPoint; what: string; left: string[] }[] = [
  { method: 'RunPodSandbox', point: 'after', what: 'a sandbox and its answer', left: [] },
  {
    method: 'CreateContainer',
    point: 'after',
    what: 'a container and its answer',
    left: ['created'],
  },
  { method: 'StartContainer', point: 'after', what: 'a start and its answer', left: ['running'] },
];

for (const { method, point, what, left } of GAPS)
  test(`the agent killed between ${what}: the pod runs, once, and nothing half-made stays`, async () => {
    const name = `gap-${method.toLowerCase()}-${point}`;
    const hold = proxy.hold(method, point);
    agent.apply(`${name}.yaml`, manifest(name, shell(LOOP)));
    await until('the call is held', () => hold.reached);
    const uid = (await agent.pod(name))?.metadata.uid ?? '';
    await agent.stop('SIGKILL');
    hold.drop();
    const halfMade = await runtime.containers(uid);
    assert.deepEqual(
      halfMade.map(({ state }) => state),
      left,
    );
    assert.equal((await runtime.sandboxes(uid)).length, 1);
    await agent.start();
    const pod = await running(agent, name);
    await onceAndWhole(pod);
    // What runs is not hurt, whoever started it.
    if (left[0] === 'running') assert.equal(idOf(statusOf(pod).containerID), halfMade[0]?.id);
    agent.remove(`${name}.yaml`);
  });

/** One ready sandbox, one running container that the agent knows, no other but old ones that are over. */
async function onceAndWhole(pod: Pod): Promise<void> {
  const { uid, name } = pod.metadata;
  await until(`${name} is whole`, async () => {
    const containers = await runtime.containers(uid);
    assert.equal(new Set(containers.map(({ attempt }) => attempt)).size, containers.length);
    const alive = containers.filter(({ state }) => state !== 'exited');
    const ready = (await runtime.sandboxes(uid)).filter(({ state }) => state === 'ready');
    const current = await agent.pod(name.replace(/-[^-]+$/, ''));
    const id = idOf(statusOf(current).containerID);
    if (ready.length === 1 && alive.length === 1 && alive[0]?.state === 'running')
      return alive[0].id === id;
    throw new Error(JSON.stringify({ containers, sandboxes: ready }));
  });
}
