/**
 * ConfigMaps and Secrets from files in real containers: the handed case 05, and a restart on change.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import type { Pod } from '../../src/api/pod.ts';
import type { PodCondition } from '../../src/api/status.ts';
import { makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { identity, manifest, podThat, running, shell, statusOf } from './manifest.ts';

const CASE = path.join(import.meta.dirname, '../../../../shared/cases/05-local-configmap.yaml');

let containerd: TestContainerd;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd();
  agent = await makeAgent({ socket: containerd.socket });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await containerd?.stop();
});

async function logOf(pod: string): Promise<string> {
  const { code, stdout, stderr } = await agent.cli('logs', pod);
  assert.equal(code, 0, stderr);
  return stdout;
}

const missing = (pod: Pod | undefined): PodCondition | undefined =>
  pod?.status.conditions?.find(({ type }) => type === 'islet.dev/ConfigObjectsFound');

const skip = fs.existsSync(CASE) ? false : `there is no ${CASE}`;

test('case 05: a ConfigMap beside its pod, changed, removed and put back', { skip }, async () => {
  const name = 'local-configmap';
  const text = fs.readFileSync(CASE, 'utf8');
  agent.apply('05.yaml', text);
  const first = identity(await running(agent, name));
  await until('both are read', async () =>
    (await logOf(name)).includes('env=morning file=morning'),
  );

  agent.apply('05.yaml', text.replace('greeting: morning', 'greeting: evening'));
  await until('the file follows', async () => (await logOf(name)).includes('file=evening'));
  const log = await logOf(name);
  assert.doesNotMatch(log, /file=$/m);
  assert.doesNotMatch(log, /env=(?!morning )/);
  assert.deepEqual(identity(await agent.pod(name)), first);

  const alone = text.slice(text.indexOf('---'));
  agent.apply('05.yaml', alone);
  const said = 'ConfigMap default/greeting is missing';
  await podThat(agent, name, 'says what is missing', (pod) => missing(pod)?.message === said);
  await agent.restart();
  await podThat(agent, name, 'still says it', (pod) => missing(pod)?.message === said);
  assert.match((await agent.cli('describe', 'pod', name)).stdout, new RegExp(said));

  const waits = manifest(
    'waits',
    shell('sleep 1000', { envFrom: [{ configMapRef: { name: 'greeting' } }] }),
  );
  agent.apply('waits.yaml', waits);
  await podThat(agent, 'waits', 'tells why it waits', (pod) => {
    const { reason, message } = statusOf(pod).state.waiting ?? {};
    return reason === 'CreateContainerConfigError' && message === 'configmap "greeting" not found';
  });
  assert.deepEqual(identity(await agent.pod(name)), first);
  agent.apply('05.yaml', text.replace('greeting: morning', 'greeting: night'));
  await running(agent, 'waits');
  await until('the volume follows again', async () => (await logOf(name)).includes('file=night'));
  await podThat(agent, name, 'misses nothing', (pod) => missing(pod) === undefined);
  assert.deepEqual(identity(await agent.pod(name)), first);
  for (const file of ['05.yaml', 'waits.yaml']) agent.remove(file);
});

test('restart on change: in place, with preStop, also for a Secret in a volume', async () => {
  const secret = (value: string): object => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'creds' } },
    stringData: { password: value },
  });
  // Each life and each hook leaves a line in the emptyDir.
  const script =
    'echo "life $(cat /creds/password) $VALUE" >> /data/lives; trap "exit 0" TERM; while :; do sleep 1 & wait $!; done';
  const main = shell(script, {
    env: [{ name: 'VALUE', valueFrom: { secretKeyRef: { name: 'creds', key: 'password' } } }],
    lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo stopping >> /data/lives'] } } },
    volumeMounts: [
      { name: 'creds', mountPath: '/creds' },
      { name: 'data', mountPath: '/data' },
    ],
  });
  const volumes = [
    { name: 'creds', secret: { secretName: 'creds' } },
    { name: 'data', emptyDir: {} },
  ];
  const pod = manifest('restarts', [main, { ...shell('sleep 1000'), name: 'other' }], { volumes });
  pod.metadata['annotations'] = { 'islet.dev/restart-on-change': 'true' };
  agent.apply('creds.yaml', secret('one'));
  agent.apply('restarts.yaml', pod);
  const { metadata, status } = await running(agent, 'restarts');
  const other = identity(await agent.pod('restarts'), 'other');
  const { uid } = metadata;
  const data = path.join(agent.root, 'pods', uid, 'volumes/kubernetes.io~empty-dir/data/lives');
  const lives = (): string[] => fs.readFileSync(data, 'utf8').trim().split('\n');
  await until('it has begun', () => lives().length === 1);

  agent.apply('creds.yaml', secret('two'));
  await until('it has begun again', () => lives().length === 3);
  await agent.stop();
  agent.apply('creds.yaml', secret('three'));
  await agent.start();
  await until('and once more', () => lives().length === 5);
  assert.deepEqual(lives(), [
    'life one one',
    'stopping',
    'life two two',
    'stopping',
    'life three three',
  ]);
  const now = await podThat(agent, 'restarts', 'runs', (one) => statusOf(one).restartCount === 2);
  assert.equal(now.metadata.uid, uid);
  assert.equal(now.status.podIP, status.podIP);
  assert.deepEqual(identity(now, 'other'), other);
  const told = (await agent.events('restarts')).filter(({ reason }) => reason === 'Killing');
  const why = 'Container main uses Secret default/creds, which changed, will be restarted';
  assert.deepEqual(
    told.map(({ message, count }) => [message, count]),
    [[why, 2]],
  );
  for (const file of ['creds.yaml', 'restarts.yaml']) agent.remove(file);
});
