/**
 * ConfigMaps and Secrets from files, as a pod sees them over its life: the whole agent with real files,
 * volumes and database against a runtime in memory.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { PodCondition } from '../../src/api/status.ts';
import type { CreateContainerRequest } from '../../src/cri/gen/cri_pb.ts';
import { Bench } from '../support/bench.ts';

const configMap = (name: string, data: Record<string, string>): object => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data },
});

/** Waits for nothing but itself: variables from `greeting`, and a volume of it below /cfg. */
const pod = (name: string, use: ('env' | 'volume')[], annotations: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, annotations },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'app',
        image: 'docker.io/library/app:1',
        imagePullPolicy: 'IfNotPresent',
        ...(use.includes('env') && {
          env: [
            {
              name: 'GREETING',
              valueFrom: { configMapKeyRef: { name: 'greeting', key: 'greeting' } },
            },
          ],
        }),
        ...(use.includes('volume') && { volumeMounts: [{ name: 'cfg', mountPath: '/cfg' }] }),
      },
      { name: 'other', image: 'docker.io/library/app:1', imagePullPolicy: 'IfNotPresent' },
    ],
    volumes: [{ name: 'cfg', configMap: { name: 'greeting' } }],
  },
});

const documents = (...all: object[]): string =>
  all
    .map((one) => JSON.stringify(one, null, 1))
    .join('\n---\n')
    .replace(/^/, '---\n');

function created(bench: Bench, container = 'app'): CreateContainerRequest[] {
  return bench.cri
    .callsOf('createContainer')
    .map(({ request }) => request as CreateContainerRequest)
    .filter(({ config }) => config?.metadata?.name === container);
}

const greetingOf = (request: CreateContainerRequest | undefined): string | undefined =>
  textOf(request?.config?.envs.find(({ key }) => key === 'GREETING')?.value);
const textOf = (value: Uint8Array | undefined): string | undefined =>
  value && Buffer.from(value).toString();

const condition = (bench: Bench, name: string): PodCondition | undefined =>
  bench.pod(name)?.status.conditions?.find(({ type }) => type === 'islet.dev/ConfigObjectsFound');

function fileOf(bench: Bench, name: string): string {
  const uid = bench.pod(name)?.metadata.uid ?? '';
  const volume = path.join(bench.root, 'pods', uid, 'volumes/kubernetes.io~configmap/cfg');
  return readFileSync(path.join(volume, 'greeting'), 'utf8');
}

const waiting = (bench: Bench, name: string): unknown =>
  bench.pod(name)?.status.containerStatuses?.find((c) => c.name === 'app')?.state.waiting;

const killings = (bench: Bench): string[] =>
  bench
    .events()
    .filter(({ reason }) => reason === 'Killing')
    .map(({ message }) => message);

describe('ConfigMaps from files', () => {
  it('a pod waits for an object and a key that are not there, and starts by itself', async (t) => {
    const bench = await Bench.start(t);
    bench.write('pod', documents(pod('web', ['env'])));
    await bench.startAgent();
    await bench.until('it waits', () => waiting(bench, 'web') !== undefined);
    await bench.until('it says why', () => {
      const { reason, message } = waiting(bench, 'web') as { reason: string; message?: string };
      return (
        reason === 'CreateContainerConfigError' && message === 'configmap "greeting" not found'
      );
    });
    assert.equal(condition(bench, 'web')?.message, 'ConfigMap default/greeting is missing');
    bench.write('map', documents(configMap('greeting', { hello: 'x' })));
    await bench.until('the key is missing', () => {
      const { message } = waiting(bench, 'web') as { message?: string };
      return message === "couldn't find key greeting in ConfigMap default/greeting";
    });
    assert.equal(condition(bench, 'web'), undefined);
    bench.write('map', documents(configMap('greeting', { greeting: 'morning' })));
    await bench.until('it runs', () => bench.isRunning('web'));
    assert.deepEqual(created(bench).map(greetingOf), ['morning']);
  });

  it('a pod waits for the object of a volume, and starts by itself', async (t) => {
    const bench = await Bench.start(t);
    bench.write('pod', documents(pod('web', ['volume'])));
    await bench.startAgent();
    await bench.until('it says why', () =>
      bench
        .events()
        .some(
          ({ reason, message }) =>
            reason === 'FailedMount' &&
            message.endsWith('volume "cfg" : configmap "greeting" not found'),
        ),
    );
    bench.write('map', documents(configMap('greeting', { greeting: 'morning' })));
    await bench.until('it runs', () => bench.isRunning('web'));
    assert.equal(fileOf(bench, 'web'), 'morning');
  });

  it('a change reaches the volume and nothing else of a running pod', async (t) => {
    const bench = await Bench.start(t);
    const web = pod('web', ['env', 'volume']);
    bench.write('all', documents(configMap('greeting', { greeting: 'morning' }), web));
    await bench.startAgent();
    await bench.until('it runs', () => bench.isRunning('web'));
    const { uid } = bench.pod('web')?.metadata ?? {};
    bench.write('all', documents(configMap('greeting', { greeting: 'evening' }), web));
    await bench.until('the file follows', () => fileOf(bench, 'web') === 'evening');
    assert.equal(bench.pod('web')?.metadata.uid, uid);
    assert.deepEqual(bench.containers('web'), ['CONTAINER_RUNNING#0', 'CONTAINER_RUNNING#0']);
    assert.equal(created(bench).length, 1);
  });

  it('its removal leaves a running pod alone, also over a restart of agent and container', async (t) => {
    const bench = await Bench.start(t);
    const web = pod('web', ['volume']);
    bench.write('all', documents(configMap('greeting', { greeting: 'morning' }), web));
    await bench.startAgent();
    await bench.until('it runs', () => bench.isRunning('web'));
    assert.equal(condition(bench, 'web'), undefined);
    bench.write('all', documents(web));
    await bench.until('the status says it', () => condition(bench, 'web')?.status === 'False');
    await bench.until('so does an event', () =>
      bench
        .events()
        .some(({ message }) =>
          message.includes(
            'MountVolume.SetUp failed for volume "cfg" : configmap "greeting" not found',
          ),
        ),
    );
    await bench.stopAgent();
    await bench.startAgent();
    await bench.until('it is known again', () => bench.isRunning('web'));
    assert.equal(condition(bench, 'web')?.message, 'ConfigMap default/greeting is missing');
    assert.equal(created(bench).length, 1);
    const [first] = [...bench.cri.runtime.containers].filter(
      ([, { status }]) => status.metadata?.name === 'app',
    );
    bench.cri.runtime.exit(first?.[0] ?? '', 1);
    await bench.until('it runs again', () => created(bench).length === 2);
    assert.equal(fileOf(bench, 'web'), 'morning');
    bench.write('all', documents(configMap('greeting', { greeting: 'back' }), web));
    await bench.until('the object is back', () => fileOf(bench, 'web') === 'back');
    await bench.until('the status says it', () => condition(bench, 'web') === undefined);
  });
});

describe('restart on change', () => {
  const annotations = { 'islet.dev/restart-on-change': 'true' };

  it('restarts what refers to the object in place, also when the change came without an agent', async (t) => {
    const bench = await Bench.start(t);
    const web = pod('web', ['env'], annotations);
    const write = (greeting: string): void =>
      bench.write('all', documents(configMap('greeting', { greeting }), web));
    write('one');
    await bench.startAgent();
    await bench.until('it runs', () => bench.isRunning('web'));
    const { uid } = bench.pod('web')?.metadata ?? {};

    write('two');
    await bench.until('it has the new one', () => greetingOf(created(bench).at(-1)) === 'two');
    await bench.until('it runs', () => bench.isRunning('web'));
    assert.deepEqual(killings(bench), [
      'Container app uses ConfigMap default/greeting, which changed, will be restarted',
    ]);

    await bench.stopAgent();
    write('three');
    await bench.startAgent();
    await bench.until('it has the new one', () => greetingOf(created(bench).at(-1)) === 'three');
    await bench.until('it runs', () => bench.isRunning('web'));

    bench.write('all', documents(web));
    await bench.until('the object is gone', () => condition(bench, 'web') !== undefined);
    write('three');
    await bench.until('it is back', () => condition(bench, 'web') === undefined);
    assert.deepEqual(created(bench).map(greetingOf), ['one', 'two', 'three']);
    write('four');
    await bench.until('it has the new one', () => greetingOf(created(bench).at(-1)) === 'four');

    assert.equal(bench.pod('web')?.metadata.uid, uid);
    assert.equal(bench.cri.callsOf('runPodSandbox').length, 1);
    assert.equal(created(bench, 'other').length, 1);
    assert.ok(
      !JSON.stringify(created(bench).map(({ config }) => config?.annotations)).includes('four'),
    );
  });

  it('warns of a value that it does not know', async (t) => {
    const bench = await Bench.start(t);
    const odd = pod('web', [], { 'islet.dev/restart-on-change': 'yes' });
    bench.write('pod', documents(odd));
    await bench.startAgent();
    await bench.until('it is told', () =>
      bench
        .events()
        .some(
          ({ reason, message }) =>
            reason === 'ManifestWarning' &&
            message.includes('expected "true" or "false", found "yes"'),
        ),
    );
  });
});
