import assert from 'node:assert/strict';
import { EventEmitter, getEventListeners, once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { fromBinary } from '@bufbuild/protobuf';
import { probeSocket } from '../../../src/cri/client.ts';
import { ListContainersResponseSchema } from '../../../src/cri/gen/cri_pb.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { codeOf } from '../../../src/util/errors.ts';
import { connect } from '../../support/fake-cri-client.ts';

const clock = new SystemClock();
const isCode = (code: string) => (error: unknown) => codeOf(error) === code;

/** Calls until it works; the back-off of the channel decides how often that is. */
async function untilAnswered(call: () => Promise<unknown>): Promise<void> {
  for (;;)
    try {
      await call();
      return;
    } catch (error) {
      assert.equal(codeOf(error), 'unavailable');
      await clock.sleep(20, AbortSignal.timeout(60_000));
    }
}

test('an answer of more than 16 MiB arrives whole', async (t) => {
  const { fake, runtime } = await connect(t);
  const annotations = { text: 'x'.repeat(1024 * 1024) };
  const container = (i: number) => ({ id: `c${i}`, metadata: { name: 'c' }, annotations });
  fake.on('listContainers', () => ({
    containers: Array.from({ length: 18 }, (_, i) => container(i)),
  }));
  const raw = await runtime.listContainersRaw();
  assert.ok(raw.byteLength > 18 * 1024 * 1024);
  const { containers } = fromBinary(ListContainersResponseSchema, raw);
  assert.deepEqual(
    containers.map(({ id, annotations }) => [id, annotations.text?.length]),
    Array.from({ length: 18 }, (_, i) => [`c${i}`, 1024 * 1024]),
  );
});

test('a runtime that restarts between two calls is not noticed by them', async (t) => {
  const reconnected = new EventEmitter();
  const onReconnect = (): void => void reconnected.emit('again');
  const { fake, runtime } = await connect(t, { onReconnect });
  await runtime.version();
  const lost = once(reconnected, 'again');
  fake.kill();
  await fake.listen();
  await untilAnswered(() => runtime.version());
  await lost;
});

test('while nobody listens calls fail at once, afterwards they work', async (t) => {
  const { fake, runtime } = await connect(t);
  await runtime.version();
  fake.kill();
  for (let i = 0; i < 20; i++) await assert.rejects(runtime.version(), isCode('unavailable'));
  await fake.listen();
  await untilAnswered(() => runtime.version());
});

test('a call under way when the runtime dies fails as unavailable', async (t) => {
  const { fake, runtime } = await connect(t);
  await runtime.version();
  fake.hang('stopContainer');
  const call = runtime.stopContainer('c', 0);
  while (fake.callsOf('stopContainer').length === 0)
    await clock.sleep(1, AbortSignal.timeout(9999));
  fake.kill();
  await assert.rejects(call, isCode('unavailable'));
});

test('a signal ends its calls, here and in the runtime, and is left alone by ended ones', async (t) => {
  const { fake, runtime } = await connect(t);
  const controller = new AbortController();
  const { signal } = controller;
  for (let i = 0; i < 20; i++) await runtime.listContainersRaw(signal);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  fake.hang('stopContainer');
  const calls = [1, 2].map((grace) => runtime.stopContainer('c', grace, signal));
  while (fake.callsOf('stopContainer').length < 2) await clock.sleep(1, AbortSignal.timeout(9999));
  controller.abort();
  for (const call of calls) await assert.rejects(call, isCode('aborted'));
  while (!fake.callsOf('stopContainer').every(({ cancelled }) => cancelled))
    await clock.sleep(1, AbortSignal.timeout(9999));
  const before = fake.calls.length;
  await assert.rejects(runtime.version(signal), isCode('aborted'));
  assert.equal(fake.calls.length, before);
});

test('close ends calls under way that get no answer', async (t) => {
  const client = await connect(t);
  const { fake, runtime } = client;
  fake.hang('startContainer');
  const hanging = runtime.startContainer('c1');
  const refused = assert.rejects(hanging, isCode('unavailable'));
  while (fake.callsOf('startContainer').length === 0)
    await clock.sleep(5, AbortSignal.timeout(10_000));
  client.close();
  await refused;
});

test('after close every call is refused', async (t) => {
  const client = await connect(t);
  await client.runtime.version();
  client.close();
  await assert.rejects(client.runtime.version(), isCode('unavailable'));
});

test('images may live behind another endpoint', async (t) => {
  const other = await connect(t);
  const { fake, images, runtime } = await connect(t, { imageEndpoint: other.fake.socket });
  await Promise.all([images.listImages(), runtime.version()]);
  assert.deepEqual(
    [fake, other.fake].map(({ calls }) => calls.map(({ rpc }) => rpc)),
    [['version'], ['listImages']],
  );
});

test('a probe finds a runtime and nothing else', async (t) => {
  const { fake } = await connect(t);
  const probe = (endpoint: string) => probeSocket({ endpoint, timeoutMs: 300, clock });
  assert.equal((await probe(fake.socket))?.runtimeName, 'fake');
  fake.hang('version');
  assert.equal(await probe(fake.socket), undefined);
  fake.on('version', () => ({ version: '0.2.0' }));
  assert.equal(await probe(fake.socket), undefined);
  assert.equal(await probe(`${fake.socket}.nope`), undefined);

  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'mute-'));
  const open = new Set<net.Socket>();
  const mute = net
    .createServer((socket) => open.add(socket))
    .listen(path.join(directory, 'mute.sock'));
  await once(mute, 'listening');
  t.after(() => {
    mute.close();
    for (const socket of open) socket.destroy();
    fs.rmSync(directory, { recursive: true });
  });
  assert.equal(await probe(path.join(directory, 'mute.sock')), undefined);
});
