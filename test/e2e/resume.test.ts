/**
 * What a new agent, or a new version of a pod, takes over from the one before: results, restart counts,
 * pauses, init containers that ran, host ports.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import test, { after, before } from 'node:test';
import type { Pod } from '../../src/api/pod.ts';
import { freePort, makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { LOOP, identity, manifest, podThat, running, shell, statusOf } from './manifest.ts';
import { Runtime, idOf } from './runtime.ts';
import type { TaskEvent } from './runtime.ts';

const GRACE_S = 3;

let containerd: TestContainerd;
let runtime: Runtime;
let agent: TestAgent;
let newPods = 0;

before(async () => {
  containerd = await startContainerd();
  runtime = new Runtime(containerd);
  agent = await makeAgent({ socket: containerd.socket });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  await containerd?.stop();
});

/** The agent works: what it wanted to do to other pods since its start it has begun by now. */
async function atWork(): Promise<void> {
  newPods += 1;
  const name = `new-${newPods}`;
  agent.apply(`${name}.yaml`, manifest(name, shell(LOOP)));
  await running(agent, name);
  agent.remove(`${name}.yaml`);
}

test('a pod that succeeded is not run again, even when the runtime has forgotten it', async () => {
  const spec = { restartPolicy: 'Never' };
  agent.apply('once.yaml', manifest('once', shell('echo did it'), spec));
  const succeeded = (pod: Pod): boolean => pod.status.phase === 'Succeeded';
  const { metadata } = await podThat(agent, 'once', 'has succeeded', succeeded);
  await agent.stop();
  await runtime.removePod(metadata.uid);
  assert.deepEqual(await runtime.containers(metadata.uid), []);
  await agent.start();
  await atWork();
  const pod = await podThat(agent, 'once', 'has succeeded', succeeded);
  assert.equal(pod.metadata.uid, metadata.uid);
  assert.equal(statusOf(pod).state.terminated?.exitCode, 0);
  assert.deepEqual(await runtime.containers(metadata.uid), []);
  assert.deepEqual(await runtime.sandboxes(metadata.uid), []);
  agent.remove('once.yaml');
});

test('restart count and pause of a crash loop go on after the agent was killed', async () => {
  agent.apply('crashy.yaml', manifest('crashy', shell('exit 3')));
  const pausing =
    (restarts: number, seconds: number) =>
    (pod: Pod): boolean => {
      const { restartCount, state } = statusOf(pod);
      return (
        restartCount === restarts &&
        state.waiting?.reason === 'CrashLoopBackOff' &&
        (state.waiting.message ?? '').startsWith(`back-off ${seconds}s restarting`)
      );
    };
  const lastLife = (pod: Pod) => {
    const { exitCode, startedAt = '', finishedAt = '' } = statusOf(pod).lastState.terminated ?? {};
    assert.equal(exitCode, 3);
    return { started: Date.parse(startedAt), finished: Date.parse(finishedAt) };
  };
  const second = lastLife(await podThat(agent, 'crashy', 'pauses for 10 s', pausing(1, 10)));
  await agent.restart('SIGKILL');
  const third = lastLife(await podThat(agent, 'crashy', 'pauses for 20 s', pausing(2, 20)));
  assert.ok(third.started - second.finished >= 10_000, JSON.stringify({ second, third }));

  agent.apply('crashy.yaml', manifest('crashy', shell(LOOP)));
  const changed = await running(agent, 'crashy');
  assert.equal(statusOf(changed).restartCount, 0);
  const waited = Date.parse(statusOf(changed).state.running?.startedAt ?? '') - third.finished;
  assert.ok(waited < 20_000, `the old pause delayed the changed pod: ${waited} ms`);
  agent.remove('crashy.yaml');
});

test('an init container whose record was removed is not run again by a new agent', async () => {
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  const init = shell('echo ran >> /data/inits', { name: 'prepare', volumeMounts });
  const main = shell(LOOP, { volumeMounts });
  const volumes = [{ name: 'data', emptyDir: {} }];
  agent.apply('init.yaml', manifest('init', main, { initContainers: [init], volumes }));
  const pod = await running(agent, 'init');
  const before_ = identity(pod);
  const prepared = idOf(pod.status.initContainerStatuses?.[0]?.containerID);
  await agent.stop();
  await runtime.removeContainer(prepared);
  await agent.start();
  await atWork();
  const later = await running(agent, 'init');
  assert.deepEqual(identity(later), before_);
  assert.equal(later.status.conditions?.find((c) => c.type === 'Initialized')?.status, 'True');
  const names = (await runtime.containers(pod.metadata.uid)).map((c) => c.name);
  assert.deepEqual(names, ['main']);
  const emptyDir = 'volumes/kubernetes.io~empty-dir/data/inits';
  const inits = path.join(agent.root, 'pods', pod.metadata.uid, emptyDir);
  assert.equal(fs.readFileSync(inits, 'utf8'), 'ran\n');
  assert.match((await agent.cli('get', 'pods', 'init')).stdout, /init-\S+ +1\/1 +Running +0 /);
  agent.remove('init.yaml');
});

test('a host port goes from the old pod to its successor: edited, then in another namespace', async () => {
  const port = await freePort();
  const page = (text: string, namespace = 'default') => {
    const serve = `mkdir -p /tmp/www; echo ${text} > /tmp/www/index.html
exec httpd -f -p ${port} -h /tmp/www`;
    const ports = [{ name: 'web', containerPort: port, hostPort: port }];
    const spec = { hostNetwork: true, terminationGracePeriodSeconds: GRACE_S };
    const pod = manifest('handover', shell(serve, { ports }), spec);
    return { ...pod, metadata: { ...pod.metadata, namespace } };
  };
  const tasks = runtime.watch();
  const served = (text: string) =>
    until(`the port serves ${text}`, async () => (await body(port)).trim() === text);
  const current = async (namespace: string): Promise<string> => {
    const pod = await until('the pod runs', async () => {
      const found = await agent.pod('handover', namespace);
      return found?.status.phase === 'Running' && !found.metadata.deletionTimestamp && found;
    });
    assert.equal(statusOf(pod).restartCount, 0);
    return idOf(statusOf(pod).containerID);
  };

  agent.apply('handover.yaml', page('v1'));
  await served('v1');
  let old = await current('default');
  await until('the events of the runtime are seen', () => eventOf(tasks, 'start', old));
  for (const [text, namespace] of [
    ['v2', 'default'],
    ['v3', 'edge'],
  ] as const) {
    const changedAt = Date.now();
    agent.apply('handover.yaml', page(text, namespace));
    await served(text);
    const fresh = await current(namespace);
    const exit = await until('the old one has ended', () => eventOf(tasks, 'exit', old));
    const start = await until('the new one has started', () => eventOf(tasks, 'start', fresh));
    assert.ok(tasks.indexOf(exit) < tasks.indexOf(start), 'both ran at once');
    // httpd is PID 1 and ignores SIGTERM: it has the port for as long as it may.
    assert.equal(exit.exitStatus, 137);
    assert.ok(exit.at - changedAt >= GRACE_S * 1000, `killed after ${exit.at - changedAt} ms`);
    const { stdout } = await agent.cli('logs', 'handover', '-n', namespace);
    assert.equal(stdout, '');
    old = fresh;
  }
  await until('the old pod is gone', async () => !(await agent.pod('handover', 'default')));
});

function eventOf(tasks: TaskEvent[], kind: TaskEvent['kind'], id: string): TaskEvent | undefined {
  return tasks.find((task) => task.kind === kind && task.id === id);
}

function body(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const url = `http://127.0.0.1:${port}/`;
    http
      .get(url, { agent: false, timeout: 2000 }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => (text += part));
        answer.on('end', () => resolve(text)).on('error', reject);
      })
      .on('timeout', () => reject(new Error('no answer')))
      .on('error', reject);
  });
}
