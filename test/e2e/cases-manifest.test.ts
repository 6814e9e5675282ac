/**
 * What people and their tools do to a manifest directory, and what must come of it: backup files beside
 * a manifest, a manifest written piece by piece, one rewritten with the same meaning.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { stringify } from 'yaml';
import type { Pod } from '../../src/api/pod.ts';
import { NODE_NAME, makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { atWork, logOf, looked, sample, verdict } from './look.ts';
import { LOOP, identity, manifest, podThat, running, shell, statusOf } from './manifest.ts';
import { Runtime, eventOf, idOf } from './runtime.ts';
import type { TaskEvent } from './runtime.ts';

/** From the last byte of a manifest to the start of its pod. */
const STARTS_WITHIN_MS = 5_000;
const WRITINGS = 6;

let containerd: TestContainerd;
let runtime: Runtime;
let agent: TestAgent;
/** Of this whole file. */
let tasks: TaskEvent[];

before(async () => {
  containerd = await startContainerd();
  runtime = new Runtime(containerd);
  tasks = await runtime.watch();
  agent = await makeAgent({ socket: containerd.socket });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  await containerd?.stop();
});

/** Ids of everything that was started after the first `since` events, sandboxes too. */
function startsSince(since: number): string[] {
  return tasks.slice(since).flatMap(({ kind, id }) => (kind === 'start' ? [id] : []));
}

async function removed(name: string): Promise<void> {
  agent.remove(`${name}.yaml`);
  await until('the pod is gone', async () => {
    return !(await agent.pod(name)) && (await runtime.sandboxesNamed(full(name))).length === 0;
  });
}

function full(name: string): string {
  return `${name}-${NODE_NAME}`;
}

test('case 01, backup-shadow: backup files and a second manifest never touch the pod', async () => {
  const generation = (value: string): string => {
    const env = [{ name: 'GENERATION', value }];
    return stringify(
      manifest('backup-shadow', shell(`echo generation=$GENERATION; ${LOOP}`, { env })),
    );
  };
  agent.apply('backup-shadow.yaml', generation('new'));
  const pod = await running(agent, 'backup-shadow');
  const unharmed = async (): Promise<void> => {
    await atWork(agent);
    const named = (await agent.pods()).filter(({ metadata: m }) => m.name === pod.metadata.name);
    assert.deepEqual(
      named.map((one) => identity(one)),
      [identity(pod)],
    );
    assert.equal(statusOf(named[0]).restartCount, 0);
    assert.equal((await runtime.sandboxesNamed(pod.metadata.name)).length, 1);
    assert.equal(await logOf(agent, 'backup-shadow'), 'generation=new\n');
  };
  const foreign = new Map([
    ['backup-shadow.yaml.backup', 'extension .backup'],
    ['backup-shadow.yaml-bak', 'extension .yaml-bak'],
    ['backup-shadow.yaml.orig', 'extension .orig'],
    ['backup-shadow.yaml~', 'extension .yaml~'],
    ['#backup-shadow.yaml#', 'extension .yaml#'],
    ['.backup-shadow.yaml', 'hidden: its name begins with a dot'],
  ]);
  const filesTold = async (): Promise<void> => {
    const { stdout } = await agent.cli('get', 'files');
    const lines = stdout.split('\n').map((line) => line.split(/ {3,}/));
    for (const [name, reason] of foreign) {
      const file = path.join(agent.manifests, name);
      const [, state, pods, message = ''] = lines.find(([first]) => first === file) ?? [];
      assert.deepEqual([state, pods], ['ignored', '<none>'], name);
      assert.ok(message.startsWith(`${file}: ${reason}`), message);
    }
  };
  for (const name of foreign.keys()) agent.apply(name, generation('old'));
  await unharmed();
  await filesTold();
  await agent.restart();
  await unharmed();
  await filesTold();

  // Whether it comes after the other in the order of names or before.
  for (const second of ['zz-second.yaml', 'aa-second.yaml']) {
    agent.apply(second, generation('old'));
    const [message = ''] = await verdict(agent, second, 'duplicate');
    assert.ok(message.includes(`pod default/${pod.metadata.name} `), message);
    for (const name of [second, 'backup-shadow.yaml'])
      assert.ok(message.includes(path.join(agent.manifests, name)), message);
    await unharmed();
    await agent.restart();
    await verdict(agent, second, 'duplicate');
    await unharmed();
    agent.remove(second);
  }
  for (const name of foreign.keys()) agent.remove(name);
  await removed('backup-shadow');
});

test('case 02, partial-write: a manifest written in three pieces becomes one whole pod', async () => {
  const container = (name: string): string =>
    `  - name: ${name}\n    image: docker.io/library/busybox:latest\n    imagePullPolicy: IfNotPresent\n`;
  const command = `    command: ["sh", "-c", ${JSON.stringify(LOOP)}]\n`;
  const head = stringify(manifest('partial-write', [])).replace(/ \[\]\n$/, '\n');
  // Each beginning is a valid pod of its own.
  const pieces = [`${head}${container('first')}${command}`, container('second'), command];
  for (let writing = 1; writing <= WRITINGS; writing++) {
    const since = tasks.length;
    const fd = fs.openSync(path.join(agent.manifests, 'partial-write.yaml'), 'w');
    for (const [at, piece] of pieces.entries()) {
      fs.writeSync(fd, piece);
      if (at === pieces.length - 1) continue;
      await looked(agent);
      await verdict(agent, 'partial-write.yaml', 'waiting');
    }
    fs.closeSync(fd);
    const writtenAt = Date.now();
    const pod = await running(agent, 'partial-write');
    const names = ['first', 'second'];
    const ids = names.map((name) => idOf(statusOf(pod, name).containerID));
    const begins = await until('both starts are heard', () => {
      const found = ids.flatMap((id) => eventOf(tasks, 'start', id) ?? []);
      return found.length === ids.length && found;
    });
    for (const { at } of begins) assert.ok(at - writtenAt <= STARTS_WITHIN_MS, `${at - writtenAt}`);
    const [sandbox, ...others] = await runtime.sandboxesNamed(full('partial-write'));
    assert.deepEqual(others, []);
    // Nothing else was ever started, not for a moment.
    assert.deepEqual(startsSince(since).toSorted(), [sandbox?.id, ...ids].toSorted());
    assert.deepEqual(await verdict(agent, 'partial-write.yaml', 'accepted'), []);
    await removed('partial-write');
  }
});

test('case 03, identical-rewrite: only another meaning replaces a pod, once, and an event says so', async () => {
  const pod = (step: string, rev: string) => {
    const env = [{ name: 'STEP', value: step }];
    const resources = { limits: { cpu: '100m', memory: '16Mi' } };
    const made = manifest('identical-rewrite', shell(`echo $STEP; ${LOOP}`, { env, resources }));
    return { ...made, metadata: { ...made.metadata, labels: { rev } } };
  };
  const file = path.join(agent.manifests, 'identical-rewrite.yaml');
  const put = (text: string | object): void => agent.apply('identical-rewrite.yaml', text);
  const one = pod('one', 'a');
  const yaml = stringify(one);
  const { spec, metadata, kind, apiVersion } = one;
  const rewrites: [string, () => void][] = [
    ['touched', () => fs.utimesSync(file, new Date(), new Date())],
    ['the same bytes in place', () => fs.writeFileSync(file, yaml)],
    ['the same bytes renamed over it', () => put(yaml)],
    ['a comment', () => put(`# nothing new\n${yaml}`)],
    ['another order', () => put(stringify({ spec, metadata, kind, apiVersion }))],
    ['JSON', () => put(one)],
    ['a default spelt out', () => put({ ...one, spec: { ...spec, restartPolicy: 'Always' } })],
    ['0.1 for 100m', () => put(yaml.replace('100m', '"0.1"'))],
  ];
  put(yaml);
  const first = await running(agent, 'identical-rewrite');
  const same = (now: Pod | undefined) => [identity(now), statusOf(now).state.running?.startedAt];
  const since = tasks.length;
  const ever = sample(agent, 'identical-rewrite', (now) => JSON.stringify(same(now)));
  for (const [what, rewrite] of rewrites) {
    rewrite();
    await looked(agent);
    assert.deepEqual(same(await agent.pod('identical-rewrite')), same(first), what);
    assert.equal((await agent.file('identical-rewrite.yaml'))?.state, 'accepted', what);
  }
  await agent.restart();
  await atWork(agent);
  assert.deepEqual(await ever(), [JSON.stringify(same(first))]);
  assert.equal(statusOf(first).restartCount, 0);
  // Those of the pod that shows the agent at work.
  await until('its starts are heard', () => startsSince(since).length >= 2);
  assert.equal(startsSince(since).length, 2);

  const relabelled = await replacement(first, () => put(pod('one', 'b')));
  assert.equal(relabelled.metadata.labels?.['rev'], 'b');
  const changed = await replacement(relabelled, () => put(pod('two', 'b')));
  await atWork(agent);
  assert.deepEqual(identity(await running(agent, 'identical-rewrite')), identity(changed));
  await removed('identical-rewrite');
});

/** What `change` makes of a pod: one sandbox and one container in its place, and an event that says so. */
async function replacement(old: Pod, change: () => void): Promise<Pod> {
  const since = tasks.length;
  const { uid } = old.metadata;
  const name = old.metadata.name.replace(/-[^-]+$/, '');
  change();
  const isNew = (pod: Pod): boolean =>
    pod.metadata.uid !== uid && pod.status.containerStatuses?.[0]?.ready === true;
  const pod = await podThat(agent, name, 'is another', isNew);
  await until('nothing of the old one is left', async () => {
    return (await runtime.sandboxes(uid)).length === 0;
  });
  const [sandbox, ...others] = await runtime.sandboxesNamed(pod.metadata.name);
  assert.deepEqual(others, []);
  const id = idOf(statusOf(pod).containerID);
  await until('its start is heard', () => eventOf(tasks, 'start', id));
  const ids = [sandbox?.id, id];
  assert.deepEqual(startsSince(since).toSorted(), ids.toSorted());
  assert.equal(statusOf(pod).restartCount, 0);
  const told = (await agent.events(name)).filter(({ reason }) => reason === 'ManifestChanged');
  const message = `the manifest changed: this pod replaces the one with uid ${uid}`;
  assert.deepEqual([told.at(-1)?.uid, told.at(-1)?.message], [pod.metadata.uid, message]);
  return pod;
}
