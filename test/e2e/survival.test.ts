/**
 * A running pod is never hurt by anything but a valid change of its manifest (design.md, promise 2):
 * one pod runs through everything that happens in this file and keeps its container. Harmless writes to
 * the manifest directory: cases-manifest.test.ts.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { stringify } from 'yaml';
import type { Pod } from '../../src/api/pod.ts';
import { NODE_NAME, makeAgent } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { atWork, verdict } from './look.ts';
import { LOOP, identity, manifest, podThat, running, shell, statusOf } from './manifest.ts';
import { Runtime, idOf, lives } from './runtime.ts';

const resources = { limits: { cpu: '100m', memory: '16Mi' } };
const STEADY = manifest('steady', shell(LOOP, { resources }));
/** Crashed once in its life, which nobody may forget. */
const WORN = manifest(
  'worn',
  shell(`[ -e /m/lived ] || { touch /m/lived; exit 3; }; ${LOOP}`, {
    volumeMounts: [{ name: 'm', mountPath: '/m' }],
  }),
  { volumes: [{ name: 'm', emptyDir: {} }] },
);

let containerd: TestContainerd;
let runtime: Runtime;
let agent: TestAgent;
let steady: object;
let worn: object;
let process_: { id: string; pid: number };

before(async () => {
  containerd = await startContainerd();
  runtime = new Runtime(containerd);
  agent = await makeAgent({ socket: containerd.socket });
  agent.apply('steady.yaml', stringify(STEADY));
  agent.apply('worn.yaml', WORN);
  await agent.start();
  const pod = await running(agent, 'steady');
  steady = identity(pod);
  const id = idOf(statusOf(pod).containerID);
  const pid = runtime.processes().get(id);
  assert.ok(pid !== undefined);
  process_ = { id, pid };
  const again = await podThat(agent, 'worn', 'lives again', (p) => statusOf(p).restartCount === 1);
  worn = identity(again);
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  await containerd?.stop();
});

/** Nothing happened to the pods, and nothing is about to: a new pod has started meanwhile. */
async function unharmed(): Promise<void> {
  await atWork(agent);
  const pod = await running(agent, 'steady');
  assert.deepEqual(identity(pod), steady);
  assert.ok(lives(process_.pid));
  const containers = await runtime.containers(pod.metadata.uid);
  assert.deepEqual(
    containers.map(({ id, state }) => [id, state]),
    [[process_.id, 'running']],
  );
  assert.deepEqual(identity(await running(agent, 'worn')), worn);
}

test('a broken edit, also over an agent restart', async () => {
  agent.apply('steady.yaml', stringify(STEADY).replace('containers:', 'containers: 5 #'));
  await verdict(agent, 'steady.yaml', 'invalid');
  const events = await agent.events('steady');
  assert.ok(events.some(({ reason }) => reason === 'ManifestRejected'));
  await agent.restart();
  await verdict(agent, 'steady.yaml', 'invalid');
  assert.equal((await agent.file('steady.yaml'))?.usingLastGood, true);
  await unharmed();
  agent.apply('steady.yaml', stringify(STEADY));
  await verdict(agent, 'steady.yaml', 'accepted');
  await unharmed();
});

test('the database overwritten while no agent runs: said loudly, set aside, no pod lost', async () => {
  await agent.stop();
  const database = path.join(agent.root, 'islet.db');
  const garbage = 'no database '.repeat(5000);
  fs.writeFileSync(database, garbage);
  await agent.start();
  await unharmed();
  const names = fs.readdirSync(agent.root).filter((name) => name.startsWith('islet.db.damaged-'));
  assert.equal(names.length, 1);
  assert.equal(fs.readFileSync(path.join(agent.root, names[0] ?? ''), 'utf8'), garbage);
  const loud = agent
    .log()
    .split('\n')
    .filter((line) => line.includes(names[0] ?? ''));
  assert.equal(loud.length, 1);
  assert.match(loud[0] ?? '', /"level":"error".*the database is damaged; it was set aside/);
});

test('containerd killed and started again; the agent finds it again by itself', async () => {
  await containerd.kill();
  assert.ok(lives(process_.pid));
  await containerd.restart();
  await unharmed();
});

test('the agent killed', async () => {
  await agent.restart('SIGKILL');
  await unharmed();
  assert.equal(
    (await agent.pods()).filter((p) => p.metadata.name === `steady-${NODE_NAME}`).length,
    1,
  );
});

test('a pod that succeeded is not run again, even when the runtime has forgotten it', async () => {
  const spec = { restartPolicy: 'Never' };
  agent.apply('once.yaml', manifest('once', shell('echo did it'), spec));
  const succeeded = (pod: Pod): boolean => pod.status.phase === 'Succeeded';
  const { metadata } = await podThat(agent, 'once', 'has succeeded', succeeded);
  await agent.stop();
  await runtime.removePod(metadata.uid);
  assert.deepEqual(await runtime.containers(metadata.uid), []);
  await agent.start();
  await atWork(agent);
  const pod = await podThat(agent, 'once', 'has succeeded', succeeded);
  assert.equal(pod.metadata.uid, metadata.uid);
  assert.equal(statusOf(pod).state.terminated?.exitCode, 0);
  assert.deepEqual(await runtime.containers(metadata.uid), []);
  assert.deepEqual(await runtime.sandboxes(metadata.uid), []);
  agent.remove('once.yaml');
});
