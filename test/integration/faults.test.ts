/**
 * The whole agent, in this process, against a runtime that misbehaves: the protocol, the files and the
 * database are real, only the runtime behind the socket is not.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Bench } from '../support/bench.ts';

const podName = (request: unknown): string =>
  (request as { config?: { metadata?: { name?: string } } }).config?.metadata?.name ?? '';

describe('a runtime that misbehaves', () => {
  it('a pod whose sandbox never comes stops no other pod', async (t) => {
    const bench = await Bench.start(t);
    const run = bench.cri.runtime.handlers.runPodSandbox;
    bench.cri.on('runPodSandbox', (request) =>
      podName(request).startsWith('stuck') ? new Promise(() => {}) : run!(request),
    );
    // More stuck pods than start slots, and first in the order of files.
    for (let i = 0; i < 8; i++) bench.apply(`stuck${i}`);
    bench.apply('well');
    await bench.startAgent();
    await bench.until('the other pod runs', () => bench.isRunning('well'));
  });

  it('a name that is still reserved is not tried twice', async (t) => {
    const bench = await Bench.start(t);
    const attempts: number[] = [];
    const run = bench.cri.runtime.handlers.runPodSandbox;
    bench.cri.on('runPodSandbox', (request) => {
      const attempt = request.config?.metadata?.attempt ?? -1;
      attempts.push(attempt);
      if (attempt === 0) throw new Error('failed to reserve sandbox name "x": name is reserved');
      return run!(request);
    });
    bench.apply('web');
    await bench.startAgent();
    await bench.until('the pod runs', () => bench.isRunning('web'));
    assert.deepEqual(attempts, [0, 1]);
    const reasons = eventsOf(bench, 'web');
    assert.ok(reasons.includes('FailedCreatePodSandBox'), reasons.join(' '));
  });

  it('a container made but not started when the agent died is replaced, never doubled', async (t) => {
    const bench = await Bench.start(t);
    bench.cri.hang('startContainer');
    bench.apply('gap');
    await bench.startAgent();
    await bench.until(
      'it waits in the start',
      () => bench.cri.callsOf('startContainer').length === 1,
    );
    await bench.stopAgent();
    assert.deepEqual(bench.containers('gap'), ['CONTAINER_CREATED#0']);
    bench.cri.reset();
    await bench.startAgent();
    await bench.until('it runs', () => bench.isRunning('gap'));
    assert.deepEqual(bench.containers('gap'), ['CONTAINER_RUNNING#1']);
  });

  it('one that cannot be removed gets no second beside it, and the status says why', async (t) => {
    const bench = await Bench.start(t);
    const { createContainer, removeContainer } = bench.cri.runtime.handlers;
    bench.cri.hang('startContainer');
    bench.apply('gap');
    await bench.startAgent();
    await bench.until('it waits', () => bench.cri.callsOf('startContainer').length === 1);
    await bench.stopAgent();
    bench.cri.reset();
    let failures = 1;
    bench.cri.on('removeContainer', (request) => {
      if (failures-- > 0) throw new Error('device is busy');
      return removeContainer!(request);
    });
    const beside: string[][] = [];
    bench.cri.on('createContainer', (request) => {
      beside.push(bench.containers('gap'));
      return createContainer!(request);
    });
    await bench.startAgent();
    const waiting = () => bench.pod('gap')?.status.containerStatuses?.[0]?.state.waiting;
    await bench.until('why', () => waiting()?.message?.includes('device is busy') === true);
    assert.equal(waiting()?.reason, 'CreateContainerError');
    await bench.until('it runs', () => bench.isRunning('gap'));
    assert.deepEqual(beside, [[]]);
    assert.deepEqual(bench.containers('gap'), ['CONTAINER_RUNNING#1']);
  });

  it('one made after a crash has served its pause: its successor starts at once, counted on', async (t) => {
    const bench = await Bench.start(t);
    bench.apply('gap');
    await bench.startAgent();
    await bench.until('it runs', () => bench.isRunning('gap'));
    bench.cri.hang('startContainer');
    for (const [id, { status }] of bench.cri.runtime.containers) {
      bench.cri.runtime.exit(id, 1);
      status.finishedAt = BigInt(Date.now()) * 1_000_000n;
    }
    await bench.until('it waits', () => bench.cri.callsOf('startContainer').length === 2);
    await bench.stopAgent();
    bench.cri.reset();
    await bench.startAgent();
    await bench.until('it runs again', () => bench.isRunning('gap'));
    assert.deepEqual(bench.containers('gap'), ['CONTAINER_EXITED#0', 'CONTAINER_RUNNING#2']);
    assert.ok(!eventsOf(bench, 'gap').includes('BackOff'));
  });

  it('a runtime that is not there yet is waited for, and one that comes back is used again', async (t) => {
    const bench = await Bench.start(t);
    bench.cri.kill();
    bench.apply('early');
    await bench.startAgent();
    assert.equal(bench.pod('early')?.status.phase, 'Pending');
    await bench.cri.listen();
    await bench.until('the pod runs', () => bench.isRunning('early'));
    bench.cri.kill();
    bench.apply('late');
    await bench.cri.listen();
    await bench.until('the next pod runs', () => bench.isRunning('late'));
    assert.deepEqual(bench.containers('early'), ['CONTAINER_RUNNING#0']);
  });

  it('a container that the runtime cannot create shows why, and is tried again', async (t) => {
    const bench = await Bench.start(t);
    let failures = 2;
    const create = bench.cri.runtime.handlers.createContainer;
    bench.cri.on('createContainer', (request) => {
      if (failures-- > 0) throw new Error('no such device');
      return create!(request);
    });
    bench.apply('dev');
    await bench.startAgent();
    const waiting = (): string | undefined =>
      bench.pod('dev')?.status.containerStatuses?.[0]?.state.waiting?.message;
    await bench.until('the reason shows', () => waiting()?.includes('no such device') === true);
    await bench.until('it runs', () => bench.isRunning('dev'));
    assert.deepEqual(bench.containers('dev'), ['CONTAINER_RUNNING#0']);
  });

  it('an image that cannot be pulled backs off and does not hold up other pods', async (t) => {
    const bench = await Bench.start(t);
    bench.cri.on('pullImage', () => {
      throw new Error('dial tcp: no route to host');
    });
    const containers = [{ name: 'app', image: 'reg.test/none:1', imagePullPolicy: 'IfNotPresent' }];
    bench.apply('nopull', { containers });
    bench.apply('well');
    await bench.startAgent();
    const waiting = () => bench.pod('nopull')?.status.containerStatuses?.[0]?.state.waiting;
    await bench.until('ErrImagePull', () => waiting()?.reason === 'ErrImagePull');
    assert.match(waiting()?.message ?? '', /no route to host/);
    await bench.until('the other runs', () => bench.isRunning('well'));
    await bench.until('back-off', () => waiting()?.reason === 'ImagePullBackOff');
    assert.equal(bench.cri.callsOf('pullImage').length, 1);
  });

  it('a start that fails is told of by the name of the container, again and again the same', async (t) => {
    const bench = await Bench.start(t);
    bench.cri.on('startContainer', ({ containerId }) => {
      throw new Error(`task ${containerId}: no such file`);
    });
    bench.apply('nostart');
    await bench.startAgent();
    const told = () => bench.events().filter((e) => e.reason === 'Failed');
    await bench.until('it failed twice', () => (told()[0]?.count ?? 0) >= 2);
    assert.deepEqual(
      told().map((e) => e.message),
      ['Error: task app: no such file'],
    );
  });

  it('a sandbox whose status cannot be read is told of as such', async (t) => {
    const bench = await Bench.start(t);
    bench.cri.on('podSandboxStatus', () => {
      throw new Error('not now');
    });
    bench.apply('blind');
    await bench.startAgent();
    const told = () =>
      bench.events().filter((e) => e.name === 'blind-f1' && e.reason.includes('SandBox'));
    await bench.until('it is told', () => told().length > 0);
    bench.cri.reset();
    await bench.until('it runs', () => bench.isRunning('blind'));
    assert.deepEqual(
      told().map(({ reason, message }) => [reason, message]),
      [['FailedPodSandBoxStatus', 'Unable to get pod sandbox status: not now']],
    );
  });

  it('a pod past its deadline fails, says so once, and is stopped', async (t) => {
    const bench = await Bench.start(t);
    bench.apply('late', { activeDeadlineSeconds: 1 });
    await bench.startAgent();
    await bench.until('it has failed', () => bench.pod('late')?.status.phase === 'Failed');
    const { reason, message } = bench.pod('late')?.status ?? {};
    assert.equal(reason, 'DeadlineExceeded');
    assert.equal(message, 'Pod was active on the node longer than the specified deadline');
    await bench.until('it is stopped', () => bench.containers('late')[0] === 'CONTAINER_EXITED#0');
    await bench.stopAgent();
    await bench.startAgent();
    await bench.until('it is known again', () => bench.pod('late')?.status.phase === 'Failed');
    const said = bench.events().filter((e) => e.reason === 'DeadlineExceeded');
    assert.deepEqual(
      said.map(({ name, count, type }) => [name, count, type]),
      [['late-f1', 1, 'Normal']],
    );
  });

  it('records and sandbox of a removed pod are removed, whatever failed the first time', async (t) => {
    const bench = await Bench.start(t);
    bench.apply('gone');
    await bench.startAgent();
    await bench.until('it runs', () => bench.isRunning('gone'));
    let failures = 2;
    const stop = bench.cri.runtime.handlers.stopContainer;
    bench.cri.on('stopContainer', (request) => {
      if (failures-- > 0) throw new Error('shim does not answer');
      return stop!(request);
    });
    bench.remove('gone');
    await bench.until('the pod is gone', () => bench.pod('gone') === undefined);
    assert.deepEqual(bench.containers('gone'), []);
    assert.equal(bench.cri.runtime.sandboxes.size, 0);
    assert.ok(eventsOf(bench, 'gone').includes('FailedKillPod'));
  });
});

function eventsOf(bench: Bench, name: string): string[] {
  return bench
    .events()
    .filter((e) => e.name === `${name}-f1`)
    .map((e) => e.reason);
}
