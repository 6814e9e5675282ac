/**
 * A running pod is never hurt by anything but a valid change of its manifest (design.md, promise 2):
 * one pod runs through everything that happens in this file and keeps its container.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { stringify } from 'yaml';
import { NODE_NAME, makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
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
let newPods = 0;
let looks = 0;

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
  newPods += 1;
  const name = `new-${newPods}`;
  agent.apply(`${name}.yaml`, manifest(name, shell(LOOP)));
  await running(agent, name);
  agent.remove(`${name}.yaml`);
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

/** Resolves when the agent has listed the directory and judged what it found, after this call. */
async function looked(): Promise<void> {
  looks += 1;
  const name = `zz-look-${looks}.yaml`;
  agent.apply(name, 'kind: Nonsense\n');
  await until('a new file is seen', async () => (await agent.file(name))?.state === 'invalid');
  agent.remove(name);
}

async function verdict(file: string, state: string): Promise<readonly string[]> {
  const found = await until(`${file} is ${state}`, async () => {
    const view = await agent.file(file);
    if (view?.state !== state) throw new Error(`it is ${JSON.stringify(view)}`);
    return view;
  });
  return found.messages;
}

test('a broken edit, also over an agent restart', async () => {
  agent.apply('steady.yaml', stringify(STEADY).replace('containers:', 'containers: 5 #'));
  await verdict('steady.yaml', 'invalid');
  const events = await agent.events('steady');
  assert.ok(events.some(({ reason }) => reason === 'ManifestRejected'));
  await agent.restart();
  await verdict('steady.yaml', 'invalid');
  assert.equal((await agent.file('steady.yaml'))?.usingLastGood, true);
  await unharmed();
  agent.apply('steady.yaml', stringify(STEADY));
  await verdict('steady.yaml', 'accepted');
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

test('a manifest touched or rewritten with the same meaning', async () => {
  const file = path.join(agent.manifests, 'steady.yaml');
  const yaml = stringify(STEADY);
  const { spec, metadata, kind, apiVersion } = STEADY;
  const variants: [string, () => void][] = [
    ['touched', () => fs.utimesSync(file, new Date(), new Date())],
    ['the same bytes in place', () => fs.writeFileSync(file, yaml)],
    ['the same bytes renamed over it', () => agent.apply('steady.yaml', yaml)],
    ['a comment', () => agent.apply('steady.yaml', `# nothing new\n${yaml}`)],
    [
      'another order',
      () => agent.apply('steady.yaml', stringify({ spec, metadata, kind, apiVersion })),
    ],
    ['JSON', () => agent.apply('steady.yaml', STEADY)],
    [
      'a default spelt out',
      () => agent.apply('steady.yaml', { ...STEADY, spec: { ...spec, restartPolicy: 'Always' } }),
    ],
    ['0.1 for 100m', () => agent.apply('steady.yaml', yaml.replace('100m', '"0.1"'))],
  ];
  for (const [what, change] of variants) {
    change();
    await looked();
    assert.deepEqual(identity(await agent.pod('steady')), steady, what);
    assert.equal((await agent.file('steady.yaml'))?.state, 'accepted', what);
  }
  await unharmed();
  await agent.restart();
  await unharmed();
});

test('a second file with the same pod, first in order, also over an agent restart', async () => {
  agent.apply('aa-second.yaml', manifest('steady', shell('echo impostor')));
  const [message = ''] = await verdict('aa-second.yaml', 'duplicate');
  for (const name of ['aa-second.yaml', 'steady.yaml'])
    assert.ok(message.includes(path.join(agent.manifests, name)), message);
  await unharmed();
  await agent.restart();
  await verdict('aa-second.yaml', 'duplicate');
  await unharmed();
  agent.remove('aa-second.yaml');
});

test('backup files beside it, also over an agent restart', async () => {
  const old = stringify(manifest('steady', shell('echo impostor')));
  const names = [
    'steady.yaml.bak',
    'steady.yaml~',
    '#steady.yaml#',
    '.steady.yaml',
    'steady.yaml.orig',
  ];
  for (const name of names) agent.apply(name, old);
  for (const name of names) await verdict(name, 'ignored');
  await agent.restart();
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
