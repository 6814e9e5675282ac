/** The client against a real containerd: what unit tests cannot know is how containerd answers. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { createCriClient, probeSocket } from '../../src/cri/client.ts';
import type { CriClient } from '../../src/cri/client.ts';
import { runtimeText } from '../../src/cri/errors.ts';
import { ContainerSchema, ListContainersResponseSchema } from '../../src/cri/gen/cri_pb.ts';
import type { ContainerConfig, SandboxConfig } from '../../src/cri/model.ts';
import { sandboxUsage } from '../../src/stats/runtime-usage.ts';
import { SystemClock } from '../../src/util/clock.ts';
import { codeOf } from '../../src/util/errors.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { containerConfigOf, sandboxConfigOf } from '../support/cri-configs.ts';
import { silent } from '../support/fake-cri-client.ts';

const clock = new SystemClock();
const isCode = (code: string) => (error: unknown) => codeOf(error) === code;
const LOOP = ['sh', '-c', 'trap "exit 7" TERM; while :; do sleep 1 & wait $!; done'];

let containerd: TestContainerd;
let client: CriClient;
let image: string;
let count = 0;

before(async () => {
  containerd = await startContainerd();
  client = createCriClient({
    endpoint: `unix://${containerd.socket}`,
    requestTimeoutMs: 60_000,
    clock,
    logger: silent,
  });
  const found = await client.images.imageStatus('docker.io/library/busybox:latest');
  assert.ok(found, 'busybox is imported');
  image = found.id;
});

after(async () => {
  client.close();
  await containerd.stop();
});

/** A pod of its own per test, with its log directory. */
function podOf(): SandboxConfig {
  const name = `p${++count}`;
  const logDirectory = path.join(containerd.root, 'logs', name);
  fs.mkdirSync(logDirectory, { recursive: true });
  return sandboxConfigOf(`uid-${name}`, name, { logDirectory });
}

async function startIn(
  pod: SandboxConfig,
  sandbox: string,
  name: string,
  more: Partial<ContainerConfig>,
): Promise<string> {
  const config = containerConfigOf(pod.metadata.uid, name, {
    image,
    logPath: `${name}.log`,
    ...more,
  });
  const id = await client.runtime.createContainer(sandbox, config, pod);
  await client.runtime.startContainer(id);
  return id;
}

test('a container runs as asked, is seen as it is, and goes', async () => {
  const { runtime } = client;
  const pod = podOf();
  const sandbox = await runtime.runPodSandbox(pod, '');
  const { state, ips, networkMode } = await runtime.podSandboxStatus(sandbox);
  assert.deepEqual([state, ips.length, networkMode], ['ready', 1, 'pod']);
  const id = await startIn(pod, sandbox, 'app', {
    command: LOOP,
    envs: [{ key: 'GREETING', value: 'grün' }],
    attempt: 3,
  });
  const running = await runtime.containerStatus(id);
  assert.deepEqual([running.name, running.attempt, running.state], ['app', 3, 'running']);
  assert.equal(running.image, 'docker.io/library/busybox:latest');
  assert.ok(running.startedAt >= running.createdAt && running.createdAt > 0n);

  const exec = await runtime.execSync(id, ['sh', '-c', 'echo $GREETING; echo no >&2; exit 3'], 30);
  assert.deepEqual(
    [Buffer.from(exec.stdout).toString(), Buffer.from(exec.stderr).toString(), exec.exitCode],
    ['grün\n', 'no\n', 3],
  );
  await runtime.reopenContainerLog(id);

  await runtime.stopContainer(id, 30);
  const exited = await runtime.containerStatus(id);
  assert.deepEqual([exited.state, exited.exitCode], ['exited', 7]);
  await runtime.removeContainer(id);
  await assert.rejects(runtime.containerStatus(id), isCode('not-found'));
  await runtime.stopPodSandbox(sandbox);
  await runtime.removePodSandbox(sandbox);
  await assert.rejects(runtime.podSandboxStatus(sandbox), isCode('not-found'));
});

test('what a container and its sandbox use is told alone and in lists', async (t) => {
  const { runtime, images } = client;
  const parent = `/islet-cri-test-${process.pid}`;
  const pod = { ...podOf(), cgroupParent: parent };
  const sandbox = await runtime.runPodSandbox(pod, '');
  t.after(async () => {
    await runtime.stopPodSandbox(sandbox);
    await runtime.removePodSandbox(sandbox);
    for (const hierarchy of fs.readdirSync('/sys/fs/cgroup')) {
      const left = path.join('/sys/fs/cgroup', hierarchy, parent);
      if (fs.existsSync(left)) fs.rmdirSync(left);
    }
  });
  const id = await startIn(pod, sandbox, 'app', { command: LOOP });
  const alone = await runtime.containerStats(id);
  assert.deepEqual([alone.id, alone.name], [id, 'app']);
  assert.ok((alone.cpu?.usageCoreNanoSeconds ?? 0) > 0);
  assert.ok((alone.memory?.workingSetBytes ?? 0) > 0);
  const { uid } = pod.metadata;
  const listed = await runtime.listContainerStats({ podUid: uid });
  assert.deepEqual(
    listed.map((stats) => stats.id),
    [id],
  );
  const { metadata, cpu, network, processCount } = await runtime.podSandboxStats(sandbox);
  assert.equal(metadata.uid, uid);
  assert.ok((cpu?.usageCoreNanoSeconds ?? 0) > 0);
  assert.equal(network?.default?.name, 'eth0');
  assert.ok((processCount ?? 0) >= 1);
  const sandboxes = await runtime.listPodSandboxStats({ podUid: uid });
  assert.deepEqual(
    sandboxes.map((stats) => stats.id),
    [sandbox],
  );
  await assert.rejects(runtime.containerStats('nope'), isCode('not-found'));
  const { images: where, containers } = await images.fsUsage();
  assert.ok(fs.statSync(where[0]?.mountpoint ?? '').isDirectory());
  assert.deepEqual(containers, [], 'containerd does not tell them apart');

  // A sandbox without a cgroup parent cannot be measured, and takes the whole list with it.
  const bad = podOf();
  const broken = await runtime.runPodSandbox(bad, '');
  await assert.rejects(runtime.podSandboxStats(broken), isCode('failed'));
  const { signal } = new AbortController();
  const told = await sandboxUsage(runtime, [uid, bad.metadata.uid], signal);
  assert.ok(
    (told.get(uid)?.cpu?.usageCoreNanoSeconds ?? 0) > 0,
    'the good one is told all the same',
  );
  assert.equal(told.get(bad.metadata.uid)?.cpu, undefined);
});

test('a command that outlives its timeout is a deadline, not a failure', async () => {
  const { runtime } = client;
  const pod = podOf();
  const sandbox = await runtime.runPodSandbox(pod, '');
  const id = await startIn(pod, sandbox, 'app', { command: LOOP });
  await assert.rejects(runtime.execSync(id, ['sleep', '60'], 1), isCode('deadline'));
  await assert.rejects(runtime.execSync(id, ['no-such-command'], 5), isCode('failed'));
});

test('what is not there is not-found, or already done', async () => {
  const { runtime, images } = client;
  await assert.rejects(runtime.execSync('nope', ['true'], 1), isCode('not-found'));
  await runtime.stopContainer('nope', 1);
  await runtime.removeContainer('nope');
  await runtime.stopPodSandbox('nope');
  await runtime.removePodSandbox('nope');
  await images.removeImage('docker.io/library/nope:1');
  assert.equal(await images.imageStatus('docker.io/library/nope:1'), undefined);
});

test('a name that is taken, and a program that is not there, fail with containerd’s own words', async () => {
  const { runtime } = client;
  const pod = podOf();
  const sandbox = await runtime.runPodSandbox(pod, '');
  await assert.rejects(runtime.runPodSandbox(pod, ''), (error) => {
    assert.equal(codeOf(error), 'failed');
    assert.ok(runtimeText(error).includes(sandbox));
    return true;
  });
  await assert.rejects(startIn(pod, sandbox, 'bad', { command: ['/nope'] }), (error) => {
    assert.equal(codeOf(error), 'failed');
    assert.ok(runtimeText(error).includes('/nope'));
    return true;
  });
  const [bad] = await runtime.listContainers({ podUid: pod.metadata.uid });
  assert.equal(bad?.name, 'bad');
  const { state, reason, exitCode } = await runtime.containerStatus(bad.id);
  assert.deepEqual([state, reason, exitCode], ['exited', 'StartError', 128]);
});

test('raw lists hold the same as typed ones', async () => {
  const { runtime } = client;
  const pod = podOf();
  const sandbox = await runtime.runPodSandbox(pod, '');
  await startIn(pod, sandbox, 'a', { command: LOOP, annotations: { note: 'ü' } });
  const raw = await runtime.listContainersRaw();
  const entries = fromBinary(ListContainersResponseSchema, raw).containers;
  const decoded = entries.map((entry) => runtime.decodeContainer(toBinary(ContainerSchema, entry)));
  const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
  assert.deepEqual(decoded.sort(byId), (await runtime.listContainers({})).sort(byId));
  assert.ok(decoded.some(({ name, annotations }) => name === 'a' && annotations.note === 'ü'));
});

test('the runtime tells its version, condition and image file system', async () => {
  const { runtime, images } = client;
  assert.equal((await runtime.version()).runtimeName, 'containerd');
  const { conditions } = await runtime.status();
  assert.ok(conditions.some(({ type, status }) => type === 'NetworkReady' && status));
  assert.ok((await images.fsUsage()).images.length > 0);
  assert.ok((await images.listImages()).every(({ size }) => size > 0));
});

test('a call under way when containerd dies is unavailable, and all is well afterwards', async () => {
  const { runtime } = client;
  const pod = podOf();
  const sandbox = await runtime.runPodSandbox(pod, '');
  const id = await startIn(pod, sandbox, 'app', { command: LOOP });
  const call = assert.rejects(runtime.execSync(id, ['sleep', '60'], 0), isCode('unavailable'));
  await containerd.kill();
  await call;
  await assert.rejects(runtime.listContainersRaw(), isCode('unavailable'));
  assert.equal(
    await probeSocket({ endpoint: containerd.socket, timeoutMs: 500, clock }),
    undefined,
  );
  await containerd.restart();
  for (;;)
    try {
      assert.equal((await runtime.containerStatus(id)).state, 'running');
      break;
    } catch (error) {
      assert.equal(codeOf(error), 'unavailable');
      await clock.sleep(50, AbortSignal.timeout(60_000));
    }
});
