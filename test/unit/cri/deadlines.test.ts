import assert from 'node:assert/strict';
import test from 'node:test';
import { runtimeText } from '../../../src/cri/errors.ts';
import { codeOf } from '../../../src/util/errors.ts';
import { containerConfigOf, sandboxConfigOf } from '../../support/cri-configs.ts';
import { connect } from '../../support/fake-cri-client.ts';
import type { RpcName } from '../../support/fake-cri-rpc.ts';

const REQUEST_MS = 120_000;

test('every call tells the runtime how long it may take', async (t) => {
  const { fake, runtime, images } = await connect(t, { requestTimeoutMs: REQUEST_MS });
  const pod = sandboxConfigOf('u', 'p');
  const sandbox = await runtime.runPodSandbox(pod, '');
  const id = await runtime.createContainer(sandbox, containerConfigOf('u', 'c'), pod);
  await runtime.startContainer(id);
  await runtime.listContainersRaw();
  await images.pullImage('busybox', undefined, pod, {});
  await images.imageStatus('busybox');
  await runtime.execSync(id, ['true'], 7);
  await runtime.stopContainer(id, 30);
  const wanted: [RpcName, number | undefined][] = [
    ['runPodSandbox', 2 * REQUEST_MS],
    ['createContainer', REQUEST_MS],
    ['startContainer', REQUEST_MS],
    ['listContainers', REQUEST_MS],
    ['pullImage', undefined],
    ['imageStatus', REQUEST_MS],
    ['execSync', REQUEST_MS + 7_000],
    ['stopContainer', REQUEST_MS + 30_000],
  ];
  for (const [rpc, timeoutMs] of wanted) {
    const got = fake.callsOf(rpc)[0]?.timeoutMs;
    if (timeoutMs === undefined) assert.equal(got, undefined, rpc);
    else
      assert.ok(
        got !== undefined && got > timeoutMs - 10_000 && got <= timeoutMs,
        `${rpc}: ${got}`,
      );
  }
});

test('a command without a timeout has no deadline', async (t) => {
  const { fake, runtime } = await connect(t);
  fake.on('execSync', () => ({ stdout: Buffer.from('hi'), exitCode: 3 }));
  const { stdout, exitCode } = await runtime.execSync('c', ['sh'], 0);
  assert.deepEqual([Buffer.from(stdout).toString(), exitCode], ['hi', 3]);
  assert.equal(fake.calls[0]?.timeoutMs, undefined);
});

test('a grace period of ages is asked for without a deadline, not refused', async (t) => {
  const { fake, runtime } = await connect(t);
  await runtime.stopContainer('gone', 1e18);
  assert.equal(fake.calls[0]?.timeoutMs, undefined);
  assert.equal((fake.calls[0]?.request as { timeout: bigint }).timeout, 10n ** 18n);
});

test('a call that hangs ends with its deadline, and the next one works', async (t) => {
  const { fake, runtime } = await connect(t, { requestTimeoutMs: 100 });
  fake.hang('startContainer');
  await assert.rejects(runtime.startContainer('c'), (error) => {
    assert.equal(codeOf(error), 'deadline');
    assert.equal(runtimeText(error), 'context deadline exceeded');
    return true;
  });
  fake.reset();
  assert.deepEqual(await runtime.listContainers({}), []);
});
