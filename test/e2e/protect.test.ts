/**
 * The node takes only what it can hold, keeps pods within their bounds, says who ran out of memory, and stops
 * its pods by priority when it is told to end.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import type { Pod } from '../../src/api/pod.ts';
import { cgroupsOf, makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { identity, LOOP, manifest, podThat, running, shell, statusOf } from './manifest.ts';
import { eventOf, idOf, Runtime } from './runtime.ts';

const PIDS = 64;

let containerd: TestContainerd;
let runtime: Runtime;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd();
  runtime = new Runtime(containerd);
  const kubelet = { podPidsLimit: PIDS };
  const islet = { stopPodsOnExit: true };
  agent = await makeAgent({ socket: containerd.socket, kubelet, islet });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  await containerd?.stop();
});

const asking = (milli: number): object =>
  shell(LOOP, { resources: { requests: { cpu: `${milli}m` } } });
const failedFor = (reason: string) => (pod: Pod) =>
  pod.status.phase === 'Failed' && pod.status.reason === reason;
const CRITICAL = { priorityClassName: 'system-node-critical' };
const eventText = async (pod: string, reason: string): Promise<string | undefined> =>
  (await agent.events(pod)).find((e) => e.reason === reason)?.message;

test('no more is taken than fits; a critical pod takes a place, which goes back after it', async () => {
  const all = os.cpus().length * 1000;
  agent.apply('first.yaml', manifest('first', asking(all - 200)));
  const first = await running(agent, 'first');
  agent.apply('second.yaml', manifest('second', asking(300)));
  const refused = await podThat(agent, 'second', 'is refused', failedFor('OutOfcpu'));
  assert.equal(
    refused.status.message,
    "Pod was rejected: Node didn't have enough resource: cpu, " +
      `requested: 300, used: ${all - 200}, capacity: ${all}`,
  );
  agent.apply('urgent.yaml', manifest('urgent', asking(250), CRITICAL));
  await running(agent, 'urgent');
  const victim = await podThat(agent, 'first', 'is preempted', failedFor('Preempting'));
  assert.equal(victim.metadata.uid, first.metadata.uid);
  assert.ok(victim.status.conditions?.some((c) => c.type === 'DisruptionTarget'));
  assert.equal(await eventText('first', 'Preempting'), 'Preempted in order to admit critical pod');
  await running(agent, 'second');
  agent.remove('urgent.yaml');
  agent.remove('second.yaml');
  const back = await running(agent, 'first');
  assert.equal(back.metadata.uid, first.metadata.uid);
  assert.notEqual(statusOf(back).containerID, statusOf(first).containerID);
  assert.equal((await runtime.containers(first.metadata.uid)).length, 1, 'it began anew');
  agent.remove('first.yaml');
});

test('a fork bomb fills its own pod and hurts nobody else', async () => {
  const neighbour = 'while :; do echo tick; sleep 0.2; done';
  agent.apply('neighbour.yaml', manifest('neighbour', shell(neighbour)));
  const before = identity(await running(agent, 'neighbour'));
  const bomb = "sh -c 'while :; do sleep 300 & done'; echo over; exec tail -f /dev/null";
  agent.apply('bomb.yaml', manifest('bomb', shell(bomb)));
  const { metadata } = await running(agent, 'bomb');
  const said = await until('the bomb has gone off', async () => {
    const { stdout } = await agent.cli('logs', 'bomb');
    return /over/.test(stdout) && stdout;
  });
  assert.match(said, /can't fork/);
  const cgroup = cgroupsOf(metadata.uid).find((dir) => fs.existsSync(path.join(dir, 'pids.max')));
  assert.ok(cgroup);
  const pids = (file: string): number =>
    Number(fs.readFileSync(path.join(cgroup, file), 'utf8').trim());
  assert.equal(pids('pids.max'), PIDS);
  assert.ok(pids('pids.current') > PIDS / 2 && pids('pids.current') <= PIDS);
  const ticks = async (): Promise<number> =>
    (await agent.cli('logs', 'neighbour')).stdout.split('tick').length;
  const now = await ticks();
  await until('the neighbour goes on', async () => (await ticks()) > now + 2);
  assert.deepEqual(identity(await agent.pod('neighbour')), before);
  agent.remove('bomb.yaml');
  agent.remove('neighbour.yaml');
});

const HOG = 'a=0123456789abcdef; while :; do a=$a$a; done';

test('who runs out of memory is named, the main process of a container or a child of it', async () => {
  const resources = { limits: { memory: '16Mi' } };
  const hog = shell(HOG, { resources });
  agent.apply('hog.yaml', manifest('hog', hog, { restartPolicy: 'Never' }));
  const pod = await podThat(agent, 'hog', 'has failed', ({ status }) => status.phase === 'Failed');
  const { reason, exitCode } = statusOf(pod).state.terminated ?? {};
  assert.deepEqual([reason, exitCode], ['OOMKilled', 137]);
  const text = await until('it is told', () => eventText('hog', 'OOMKilling'));
  assert.match(text, /^Process sh \(pid \d+\) was killed: the (pod|container) has reached its/);

  const parent = shell(`sh -c '${HOG}'; ${LOOP}`, { resources });
  agent.apply('parent.yaml', manifest('parent', parent));
  await until('the child is told of', () => eventText('parent', 'OOMKilling'));
  agent.remove('hog.yaml');
  agent.remove('parent.yaml');
});

test('told to end, the agent stops its pods by priority; the next one has them back', async () => {
  const slow = 'trap "sleep 1; exit 0" TERM; while :; do sleep 0.1; done';
  agent.apply('plain.yaml', manifest('plain', shell(slow), { restartPolicy: 'Never' }));
  agent.apply('vital.yaml', manifest('vital', shell(LOOP), CRITICAL));
  const plain = await running(agent, 'plain');
  const vital = await running(agent, 'vital');
  const tasks = await runtime.watch();
  await agent.stop('SIGTERM');
  const end = (pod: Pod) =>
    until(`${pod.metadata.name} has ended`, () =>
      eventOf(tasks, 'exit', idOf(statusOf(pod).containerID)),
    );
  assert.ok((await end(plain)).at <= (await end(vital)).at, 'the critical one last');
  const file = path.join(agent.root, 'graceful_node_shutdown_state');
  const { startTime, endTime } = JSON.parse(fs.readFileSync(file, 'utf8')) as Record<
    string,
    string
  >;
  assert.ok(Date.parse(endTime ?? '') - Date.parse(startTime ?? '') >= 1000);
  await agent.start();
  const again = await running(agent, 'plain');
  assert.equal(again.metadata.uid, plain.metadata.uid);
  assert.equal(again.status.reason, undefined);
  await running(agent, 'vital');
});
