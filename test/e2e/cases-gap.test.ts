/**
 * A container that is made and not started when the agent, or the runtime, dies: it never stays so,
 * and never gets a second one beside it.
 */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import type { Pod } from '../../src/api/pod.ts';
import type { Container } from '../../src/cri/model.ts';
import { makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { CriProxy } from './cri-proxy.ts';
import { manifest, podThat, shell, statusOf } from './manifest.ts';
import { Runtime, idOf } from './runtime.ts';

const KILLS = 10;
const BACK_WITHIN_S = 30;

let containerd: TestContainerd;
let proxy: CriProxy;
let runtime: Runtime;
let agent: TestAgent;
let uid: string;

before(async () => {
  containerd = await startContainerd();
  proxy = await CriProxy.start(containerd.socket);
  runtime = new Runtime(containerd);
  const crashLoopBackOff = { maxContainerRestartPeriod: '1s' };
  agent = await makeAgent({ socket: proxy.socket, kubelet: { crashLoopBackOff } });
  await agent.start();
  const initContainers = [shell('echo init-done', { name: 'hello' })];
  const spec = { restartPolicy: 'OnFailure', initContainers };
  agent.apply('gap.yaml', manifest('gap', shell('echo working; sleep 0.2; exit 1'), spec));
  const crashed = (pod: Pod): boolean => statusOf(pod).lastState.terminated?.exitCode === 1;
  uid = (await podThat(agent, 'gap', 'has crashed', crashed)).metadata.uid;
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  proxy?.stop();
  await containerd?.stop();
});

/** Those of the crashing container, in order of attempts; never more than one that is not over. */
async function mains(): Promise<Container[]> {
  const all = (await runtime.containers(uid)).filter(({ name }) => name === 'main');
  const open = all.filter(({ state }) => state !== 'exited');
  const told = open.map(({ id, attempt, state }) => `${id.slice(0, 8)} #${attempt} ${state}`);
  assert.ok(open.length <= 1, `side by side: ${told.join(', ')}`);
  assert.equal(new Set(all.map(({ attempt }) => attempt)).size, all.length);
  return all.toSorted((a, b) => a.attempt - b.attempt);
}

/** Runs `accident` when the container was made and its start was not asked for; then it must live again. */
async function survives(accident: (drop: () => void) => Promise<void>): Promise<void> {
  const hold = proxy.hold('StartContainer', 'before');
  await until('a start is held', () => hold.reached);
  const half = (await mains()).at(-1);
  assert.equal(half?.state, 'created');
  await accident(() => hold.drop());
  const begun = performance.now();
  let broken: unknown;
  const next = await until(
    'it has lived again',
    async () => {
      const newest = await mains().then(
        (all) => all.at(-1),
        (error: unknown) => void (broken ??= error),
      );
      if (broken) return 'broken';
      const lived = newest?.state === 'running' || newest?.state === 'exited';
      return lived && newest.attempt >= half.attempt && newest;
    },
    BACK_WITHIN_S,
  );
  if (next === 'broken') throw broken;
  assert.ok(next.id === half.id || next.attempt > half.attempt);
  const kept = (await mains()).filter(({ id, state }) => id === half.id && state === 'created');
  assert.deepEqual(kept, [], 'still half-made');
  const left = BACK_WITHIN_S - (performance.now() - begun) / 1000;
  await until('the status says so', () => statusKnows(next), left);
}

async function statusKnows(container: Container): Promise<boolean> {
  const pod = await agent.pod('gap');
  const { state, lastState, restartCount } = statusOf(pod);
  const ids = [state.running && statusOf(pod).containerID, state.terminated?.containerID];
  const known = [...ids, lastState.terminated?.containerID].map(idOf).includes(container.id);
  // It crashes on: the one that was seen may have had a successor meanwhile.
  if (!known && restartCount <= container.attempt) throw new Error(JSON.stringify(pod?.status));
  return pod?.status.phase === 'Running';
}

test(`case 09, create-start-gap: the agent killed ${KILLS} times between creation and start`, async () => {
  for (let kill = 1; kill <= KILLS; kill++)
    await survives(async (drop) => {
      await agent.stop('SIGKILL');
      drop();
      await agent.start();
    });
});

test('case 09, create-start-gap: containerd killed between creation and start', async () => {
  await survives(async (drop) => {
    await containerd.kill();
    drop();
    await containerd.restart();
  });
});

test('case 09, create-start-gap: no name was reserved for longer than one retry', async () => {
  const reserved = (await agent.events('gap')).filter(({ message }) => /reserved/.test(message));
  for (const { count, message } of reserved) assert.equal(count, 1, message);
  assert.doesNotMatch(JSON.stringify((await agent.pod('gap'))?.status), /reserved/);
});
