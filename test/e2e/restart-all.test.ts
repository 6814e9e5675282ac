/**
 * RestartAllContainers on a real containerd: the pod starts over in its sandbox, and an agent that was killed
 * in the middle of it changes nothing.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import type { Pod } from '../../src/api/pod.ts';
import { makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { LOOP, manifest, podThat, running, shell, statusOf } from './manifest.ts';
import { Runtime } from './runtime.ts';

let containerd: TestContainerd;
let runtime: Runtime;
let agent: TestAgent;

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

const RULES = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
const volumeMounts = [{ name: 'data', mountPath: '/data' }];
const note = (who: string): string => `echo ${who} >> /data/order`;

/** `trigger` exits with 42 when the file `go` of its life is there. */
function group(): object {
  const init = shell(note('init'), { name: 'prepare', volumeMounts });
  const side = shell(`${note('side')}; ${LOOP}`, {
    ...{ name: 'side', volumeMounts, restartPolicy: 'Always' },
  });
  const trigger = shell(
    `${note('trigger')}; echo life; while ! rm /data/go 2>/dev/null; do sleep 0.1; done; exit 42`,
    { name: 'trigger', volumeMounts, restartPolicy: 'Never', restartPolicyRules: RULES },
  );
  const deaf = shell(`${note('deaf')}; trap "" TERM; while :; do sleep 1; done`, {
    ...{ name: 'deaf', volumeMounts },
    lifecycle: { preStop: { exec: { command: ['sh', '-c', note('hook')] } } },
  });
  return manifest('group', [trigger, deaf], {
    ...{ restartPolicy: 'Never', terminationGracePeriodSeconds: 30 },
    ...{ initContainers: [init, side], volumes: [{ name: 'data', emptyDir: {} }] },
  });
}

const restarted = (count: number) => (pod: Pod) =>
  pod.status.phase === 'Running' &&
  ['trigger', 'deaf'].every((name) => {
    const { restartCount, state } = statusOf(pod, name);
    return restartCount === count && state.running !== undefined;
  });

test('a pod starts over in its sandbox, also when the agent is killed meanwhile', async () => {
  agent.apply('group.yaml', group());
  const pod = await running(agent, 'group');
  const { uid } = pod.metadata;
  const data = path.join(agent.root, 'pods', uid, 'volumes/kubernetes.io~empty-dir/data');
  const order = (): string[] =>
    fs.readFileSync(path.join(data, 'order'), 'utf8').trim().split('\n');
  const sandboxes = (await runtime.sandboxes(uid)).map((s) => s.id);
  const first = ['init', 'side', 'trigger', 'deaf'];
  await until('all have begun', () => order().length === 4);

  fs.writeFileSync(path.join(data, 'go'), '');
  const second = await podThat(agent, 'group', 'runs again', restarted(1));
  await until('all have begun again', () => order().length === 8);
  assert.deepEqual(order(), [...first, ...first], 'no preStop hook, init first');
  assert.equal(second.status.podIP, pod.status.podIP);
  assert.deepEqual(
    (await runtime.sandboxes(uid)).map((s) => s.id),
    sandboxes,
  );
  for (const name of ['trigger', 'deaf']) {
    const end = statusOf(second, name).lastState.terminated;
    assert.deepEqual([end?.exitCode, end?.reason], [137, 'RestartingAllContainers']);
  }
  assert.equal((await runtime.containers(uid)).length, 4);
  assert.equal((await agent.cli('logs', 'group', '-c', 'trigger', '--previous')).stdout, 'life\n');

  fs.writeFileSync(path.join(data, 'go'), '');
  // `deaf` is killed only after two seconds, so this is in the middle.
  await podThat(agent, 'group', 'is starting over', ({ status }) =>
    Boolean(
      status.conditions?.some((c) => c.type === 'AllContainersRestarting' && c.status === 'True'),
    ),
  );
  await agent.restart('SIGKILL');
  const third = await podThat(agent, 'group', 'runs a third time', restarted(2));
  assert.equal(third.metadata.uid, uid);
  await until('all have begun a third time', () => order().length === 12);
  assert.deepEqual(order().slice(8).sort(), [...first].sort());
  assert.deepEqual(
    (await runtime.sandboxes(uid)).map((s) => s.id),
    sandboxes,
  );
});
