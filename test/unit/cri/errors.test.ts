import assert from 'node:assert/strict';
import test from 'node:test';
import { status as Status } from '@grpc/grpc-js';
import { RuntimeFault, runtimeText } from '../../../src/cri/errors.ts';
import { IsletError, codeOf } from '../../../src/util/errors.ts';
import type { ErrorCode } from '../../../src/util/errors.ts';
import { connect } from '../../support/fake-cri-client.ts';

const CODES: readonly [keyof typeof Status, ErrorCode][] = [
  ['UNKNOWN', 'failed'],
  ['INVALID_ARGUMENT', 'failed'],
  ['DEADLINE_EXCEEDED', 'deadline'],
  ['NOT_FOUND', 'not-found'],
  ['ALREADY_EXISTS', 'already-exists'],
  ['RESOURCE_EXHAUSTED', 'failed'],
  ['FAILED_PRECONDITION', 'failed'],
  ['UNIMPLEMENTED', 'unimplemented'],
  ['INTERNAL', 'failed'],
  ['UNAVAILABLE', 'unavailable'],
];

test('a status of the runtime becomes the code that callers branch on', async (t) => {
  const { fake, runtime } = await connect(t);
  for (const [name, code] of CODES) {
    fake.fail('startContainer', Status[name], `because ${name}`);
    await assert.rejects(runtime.startContainer('c1'), (error) => {
      assert.ok(error instanceof IsletError);
      assert.equal(error.code, code, name);
      assert.equal(error.message, `StartContainer c1: because ${name}`);
      assert.equal(runtimeText(error), `because ${name}`);
      assert.ok(error.cause instanceof RuntimeFault);
      assert.equal(error.cause.grpcCode, Status[name]);
      return true;
    });
  }
});

test('a runtime that cancels has failed; aborted is what the caller gave up', async (t) => {
  const { fake, runtime } = await connect(t);
  fake.fail('startContainer', Status.CANCELLED, 'context canceled');
  await assert.rejects(runtime.startContainer('c1'), (error) => codeOf(error) === 'failed');
});

test('the text for users of an error that no runtime made is its message', () => {
  assert.equal(runtimeText(new IsletError('invalid', 'no such file')), 'no such file');
  assert.equal(runtimeText(new IsletError('failed', 'a', { cause: new Error('b') })), 'a');
  assert.equal(runtimeText('odd'), 'odd');
});

test('an error names the pod and container that it is about', async (t) => {
  const { fake, runtime, images } = await connect(t);
  const { sandboxConfigOf, containerConfigOf } = await import('../../support/cri-configs.ts');
  const pod = sandboxConfigOf('u', 'web');
  for (const rpc of ['runPodSandbox', 'createContainer', 'pullImage'] as const)
    fake.fail(rpc, Status.UNKNOWN, 'x');
  const messages = [
    runtime.runPodSandbox(pod, ''),
    runtime.createContainer('s1', containerConfigOf('u', 'app'), pod),
    images.pullImage('busybox', undefined, undefined, {}),
  ].map((call) => call.catch((error: unknown) => (error as Error).message));
  assert.deepEqual(await Promise.all(messages), [
    'RunPodSandbox default/web: x',
    'CreateContainer default/web/app: x',
    'PullImage busybox: x',
  ]);
});

test('bytes that are no message are corrupt', async (t) => {
  const { runtime } = await connect(t);
  const truncated = Uint8Array.of(10, 200, 1, 65);
  for (const decode of [
    () => runtime.decodeContainer(truncated),
    () => runtime.decodePodSandbox(truncated),
  ])
    assert.throws(decode, (error) => codeOf(error) === 'corrupt');
});

test('an answer without the status it is for is corrupt', async (t) => {
  const { fake, runtime } = await connect(t);
  fake.on('containerStatus', () => ({}));
  fake.on('podSandboxStatus', () => ({}));
  for (const call of [runtime.containerStatus('c'), runtime.podSandboxStatus('s')])
    await assert.rejects(call, (error) => codeOf(error) === 'corrupt');
});
