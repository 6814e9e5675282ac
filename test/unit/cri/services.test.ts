import assert from 'node:assert/strict';
import test from 'node:test';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { status as Status } from '@grpc/grpc-js';
import {
  ContainerSchema,
  ListContainersResponseSchema,
  ListPodSandboxResponseSchema,
  PodSandboxSchema,
} from '../../../src/cri/gen/cri_pb.ts';
import type { ContainerEvent } from '../../../src/cri/model.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { codeOf } from '../../../src/util/errors.ts';
import { containerConfigOf, sandboxConfigOf } from '../../support/cri-configs.ts';
import { connect } from '../../support/fake-cri-client.ts';

const isCode = (code: string) => (error: unknown) => codeOf(error) === code;

test('a pod lives and goes', async (t) => {
  const { runtime, images } = await connect(t);
  const pod = sandboxConfigOf('u1', 'web');
  const imageRef = await images.pullImage('busybox', undefined, pod, {});
  const sandbox = await runtime.runPodSandbox(pod, '');
  const id = await runtime.createContainer(
    sandbox,
    containerConfigOf('u1', 'app', { image: imageRef, attempt: 2 }),
    pod,
  );
  assert.equal((await runtime.containerStatus(id)).state, 'created');
  await runtime.startContainer(id);
  const { state, attempt, image, startedAt } = await runtime.containerStatus(id);
  assert.deepEqual([state, attempt, image], ['running', 2, 'busybox']);
  assert.ok(startedAt > 0n);
  const { ips, networkMode, metadata } = await runtime.podSandboxStatus(sandbox);
  assert.deepEqual([ips, networkMode, metadata.uid], [['10.88.0.2'], 'pod', 'u1']);

  await runtime.stopContainer(id, 1);
  assert.equal((await runtime.containerStatus(id)).exitCode, 137);
  await runtime.stopPodSandbox(sandbox);
  assert.equal((await runtime.podSandboxStatus(sandbox)).state, 'notready');
  await runtime.removePodSandbox(sandbox);
  assert.deepEqual(await runtime.listContainers({}), []);
  await assert.rejects(runtime.podSandboxStatus(sandbox), isCode('not-found'));
  await assert.rejects(runtime.containerStatus(id), isCode('not-found'));
});

test('to stop and to remove what is not there succeeds', async (t) => {
  const { fake, runtime, images } = await connect(t);
  for (const rpc of [
    'stopPodSandbox',
    'removePodSandbox',
    'removeContainer',
    'removeImage',
  ] as const)
    fake.fail(rpc, Status.NOT_FOUND);
  await runtime.stopContainer('c', 1);
  await runtime.removeContainer('c');
  await runtime.stopPodSandbox('s');
  await runtime.removePodSandbox('s');
  await images.removeImage('i');
  fake.fail('stopPodSandbox', Status.UNKNOWN, 'network plugin failed');
  await assert.rejects(runtime.stopPodSandbox('s'), isCode('failed'));
});

test('lists may be restricted to a pod, are newest first, and skip what has no metadata', async (t) => {
  const { fake, runtime } = await connect(t);
  for (const uid of ['u1', 'u2']) {
    const pod = sandboxConfigOf(uid, `p-${uid}`);
    const sandbox = await runtime.runPodSandbox(pod, '');
    for (const name of ['a', 'b'])
      await runtime.createContainer(sandbox, containerConfigOf(uid, name), pod);
  }
  const names = async (podUid?: string) =>
    (await runtime.listContainers(podUid === undefined ? {} : { podUid })).map(({ name }) => name);
  assert.deepEqual(await names('u2'), ['b', 'a']);
  assert.equal((await names()).length, 4);
  assert.deepEqual(
    (await runtime.listPodSandboxes({ podUid: 'u1' })).map(({ metadata }) => metadata.name),
    ['p-u1'],
  );
  fake.on('listContainers', () => ({
    containers: [{ id: 'x' }, { id: 'y', metadata: { name: 'n' } }],
  }));
  assert.deepEqual(await names(), ['n']);
});

test('raw lists hold the bytes of the entries, which decode to what the typed lists give', async (t) => {
  const { runtime } = await connect(t);
  const pod = sandboxConfigOf('u1', 'web', { annotations: { note: 'ü' } });
  const sandbox = await runtime.runPodSandbox(pod, '');
  await runtime.createContainer(sandbox, containerConfigOf('u1', 'app'), pod);
  const { items } = fromBinary(ListPodSandboxResponseSchema, await runtime.listPodSandboxesRaw());
  const { containers } = fromBinary(
    ListContainersResponseSchema,
    await runtime.listContainersRaw(),
  );
  assert.deepEqual(
    items.map((item) => runtime.decodePodSandbox(toBinary(PodSandboxSchema, item))),
    await runtime.listPodSandboxes({}),
  );
  assert.deepEqual(
    containers.map((item) => runtime.decodeContainer(toBinary(ContainerSchema, item))),
    await runtime.listContainers({}),
  );
});

test('only a runtime that speaks version 0.1.0 is accepted', async (t) => {
  const { fake, runtime } = await connect(t);
  assert.equal((await runtime.version()).runtimeName, 'fake');
  assert.equal((fake.calls[0]?.request as { version: string }).version, '0.1.0');
  fake.on('version', () => ({ version: '0.2.0', runtimeName: 'odd' }));
  await assert.rejects(runtime.version(), isCode('failed'));
});

test('the cgroup driver is what the runtime says, unless it says nothing', async (t) => {
  const { fake, runtime } = await connect(t);
  await assert.rejects(runtime.cgroupDriver(), isCode('unimplemented'));
  fake.on('runtimeConfig', () => ({}));
  await assert.rejects(runtime.cgroupDriver(), isCode('unimplemented'));
  fake.on('runtimeConfig', () => ({ linux: { cgroupDriver: 0 } }));
  assert.equal(await runtime.cgroupDriver(), 'systemd');
  fake.on('runtimeConfig', () => ({ linux: { cgroupDriver: 1 } }));
  assert.equal(await runtime.cgroupDriver(), 'cgroupfs');
});

test('conditions of the runtime are read', async (t) => {
  const { fake, runtime } = await connect(t);
  fake.on('status', () => ({
    status: { conditions: [{ type: 'NetworkReady', reason: 'NoCni', message: 'no network' }] },
  }));
  assert.deepEqual((await runtime.status()).conditions, [
    { type: 'NetworkReady', status: false, reason: 'NoCni', message: 'no network' },
  ]);
});

test('what the runtime can do is read by handler; one that says nothing can nothing', async (t) => {
  const { fake, runtime } = await connect(t);
  const silent = await runtime.status();
  assert.deepEqual([...silent.handlers], []);
  assert.equal(silent.supplementalGroupsPolicy, false);
  fake.on('status', () => ({
    runtimeHandlers: [
      { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
      { name: 'kata', features: { userNamespaces: true } },
      { name: 'old' },
    ],
    features: { supplementalGroupsPolicy: true },
  }));
  const { handlers, supplementalGroupsPolicy } = await runtime.status();
  assert.deepEqual(Object.fromEntries(handlers), {
    '': { recursiveReadOnlyMounts: true, userNamespaces: true },
    kata: { recursiveReadOnlyMounts: false, userNamespaces: true },
    old: { recursiveReadOnlyMounts: false, userNamespaces: false },
  });
  assert.equal(supplementalGroupsPolicy, true);
});

test('an image that is not there is no error', async (t) => {
  const { fake, images } = await connect(t);
  assert.equal(await images.imageStatus('busybox'), undefined);
  const { id } = fake.runtime.addImage('busybox');
  assert.equal((await images.imageStatus('busybox'))?.id, id);
  assert.deepEqual(
    (await images.listImages()).map(({ repoTags }) => repoTags),
    [['busybox']],
  );
});

test('a pull carries the credentials', async (t) => {
  const { fake, images } = await connect(t);
  const auth = { username: 'me', password: 'secret', serverAddress: 'r.example' };
  await images.pullImage('r.example/a', auth, undefined, { note: '1' });
  const request = fake.calls[0]?.request as { auth: typeof auth; image: { annotations: object } };
  const { username, password, serverAddress } = request.auth;
  assert.deepEqual({ username, password, serverAddress }, auth);
  assert.deepEqual({ ...request.image.annotations }, { note: '1' });
});

test('events arrive while one listens, and end with the signal', async (t) => {
  const { fake, runtime } = await connect(t);
  const controller = new AbortController();
  const seen: ContainerEvent[] = [];
  const listen = async (): Promise<void> => {
    for await (const event of runtime.containerEvents(controller.signal)) {
      seen.push(event);
      if (event.kind === 'deleted') controller.abort();
    }
  };
  const ended = assert.rejects(listen(), isCode('aborted'));
  const clock = new SystemClock();
  while (fake.listeners === 0) await clock.sleep(1, AbortSignal.timeout(9999));
  const pod = sandboxConfigOf('u', 'p');
  const sandbox = await runtime.runPodSandbox(pod, '');
  const id = await runtime.createContainer(sandbox, containerConfigOf('u', 'c'), pod);
  await runtime.startContainer(id);
  await runtime.removeContainer(id);
  await ended;
  assert.deepEqual(
    seen.filter(({ containerId }) => containerId === id).map(({ kind }) => kind),
    ['created', 'started', 'stopped', 'deleted'],
  );
  while (fake.listeners > 0) await clock.sleep(1, AbortSignal.timeout(9999));
});

test('who stops to listen without a signal ends the stream too', async (t) => {
  const { fake, runtime } = await connect(t);
  const clock = new SystemClock();
  const listening = (async () => {
    for await (const event of runtime.containerEvents(new AbortController().signal)) return event;
    return undefined;
  })();
  while (fake.listeners === 0) await clock.sleep(1, AbortSignal.timeout(9999));
  fake.emit({ containerId: 'c', containerEventType: 2, createdAt: 1n });
  assert.equal((await listening)?.kind, 'stopped');
  while (fake.listeners > 0) await clock.sleep(1, AbortSignal.timeout(9999));
});

test('a runtime without events, and one that dies, end the stream with what it was', async (t) => {
  const { fake, runtime } = await connect(t);
  const listen = async (): Promise<void> => {
    const events = runtime.containerEvents(new AbortController().signal)[Symbol.asyncIterator]();
    while (!(await events.next()).done);
  };
  fake.fail('getContainerEvents', Status.UNIMPLEMENTED);
  await assert.rejects(listen(), isCode('unimplemented'));
  fake.reset();
  const listening = listen();
  const clock = new SystemClock();
  while (fake.listeners === 0) await clock.sleep(1, AbortSignal.timeout(9999));
  fake.kill();
  await assert.rejects(listening, isCode('unavailable'));
});
