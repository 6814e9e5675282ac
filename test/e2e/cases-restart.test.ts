/**
 * What a container that is started again goes on with: its pause and count in a crash loop, the init
 * containers that ran before it.
 */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import type { Pod } from '../../src/api/pod.ts';
import { podSummary } from '../../src/cli/pod-summary.ts';
import { makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { atWork, logOf, sample } from './look.ts';
import { LOOP, identity, manifest, podThat, running, shell, statusOf } from './manifest.ts';
import { Runtime, eventOf, idOf } from './runtime.ts';
import type { TaskEvent } from './runtime.ts';

/** The largest pause: just enough above the first one of 10 s to tell them apart. */
const CAP_S = 11;
/** From the end of a pause to the start of the container. */
const SLACK_S = 3;
/** By how much the runtime tells of an end later than it was. */
const HEARD_LATE_S = 0.5;

let containerd: TestContainerd;
let runtime: Runtime;
let agent: TestAgent;
/** Of this whole file. */
let tasks: TaskEvent[];

before(async () => {
  containerd = await startContainerd();
  runtime = new Runtime(containerd);
  tasks = await runtime.watch();
  const crashLoopBackOff = { maxContainerRestartPeriod: `${CAP_S}s` };
  agent = await makeAgent({ socket: containerd.socket, kubelet: { crashLoopBackOff } });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  await containerd?.stop();
});

test('case 07, crashloop-cap: pauses grow to the cap and go on after the agent was killed', async () => {
  const pod = (stay: string) => {
    const script = 'echo up; sleep $STAY; [ $STAY -gt 60 ] && exit 0; exit 3';
    const env = [{ name: 'STAY', value: stay }];
    return manifest('crashloop-cap', shell(script, { env }), { terminationGracePeriodSeconds: 1 });
  };
  agent.apply('crashloop-cap.yaml', pod('0'));
  const second = await lifeBeforePause(1, 10);
  const third = await lifeBeforePause(2, CAP_S);
  const ever = sample(agent, 'crashloop-cap', (now) => statusLine(now));
  await agent.restart('SIGKILL');
  const fourth = await lifeBeforePause(3, CAP_S);
  // What was before the kill, then the next life; neither a shorter pause nor a lower count.
  for (const seen of await ever()) assert.match(seen, /^[23] (running|terminated|back-off 11s)$/);
  for (const [last, next, pause] of [
    [second, third, 10],
    [third, fourth, CAP_S],
  ] as const) {
    const paused = (next.startedAt - last.finishedAt) / 1000;
    assert.ok(
      paused >= pause - HEARD_LATE_S && paused <= CAP_S + SLACK_S,
      `${paused} s in place of ${pause} s`,
    );
  }

  agent.apply('crashloop-cap.yaml', pod('600'));
  const changed = await podThat(agent, 'crashloop-cap', 'runs', (now) => statusOf(now).ready);
  assert.equal(statusOf(changed).restartCount, 0);
  const startedAt = await until(
    'its start is heard',
    () => eventOf(tasks, 'start', idOf(statusOf(changed).containerID))?.at,
  );
  const waited = startedAt - fourth.finishedAt;
  assert.ok(waited < CAP_S * 1000, `the old pause delayed the changed pod: ${waited} ms`);
  agent.remove('crashloop-cap.yaml');
});

/** The last life of the container once it pauses for so long; at most one dead one is kept. */
async function lifeBeforePause(
  restarts: number,
  seconds: number,
): Promise<{ startedAt: number; finishedAt: number }> {
  const pausing = (now: Pod): boolean => statusLine(now) === `${restarts} back-off ${seconds}s`;
  const pod = await podThat(agent, 'crashloop-cap', `pauses for ${seconds} s`, pausing);
  const { state, lastState } = statusOf(pod);
  assert.equal(state.waiting?.reason, 'CrashLoopBackOff');
  assert.equal(lastState.terminated?.exitCode, 3);
  await until('no more than the newest dead one is kept', async () => {
    const kept = await runtime.containers(pod.metadata.uid);
    assert.deepEqual(
      kept.map((one) => [one.state, one.attempt]),
      [['exited', restarts]],
    );
    return true;
  });
  const id = idOf(lastState.terminated?.containerID);
  const start = await until('its start is heard', () => eventOf(tasks, 'start', id));
  const exit = await until('its end is heard', () => eventOf(tasks, 'exit', id));
  return { startedAt: start.at, finishedAt: exit.at };
}

/** `<restarts> running`, or `<restarts> back-off <n>s`. */
function statusLine(pod: Pod | undefined): string {
  const { restartCount, state } = statusOf(pod);
  const pause = /^back-off \S+/.exec(state.waiting?.message ?? '')?.[0];
  return `${restartCount} ${pause ?? Object.keys(state).join()}`;
}

test('case 08, init-gone: a removed init record changes nothing, a new sandbox runs it again', async () => {
  const volumeMounts = [{ name: 'work', mountPath: '/data' }];
  const init = shell('echo ran >> /data/inits', { name: 'prepare', volumeMounts });
  const main = shell(`echo inits=$(grep -c ran /data/inits); ${LOOP}`, { volumeMounts });
  const spec = { initContainers: [init], volumes: [{ name: 'work', emptyDir: {} }] };
  agent.apply('init-gone.yaml', manifest('init-gone', main, spec));
  const first = await running(agent, 'init-gone');
  const prepared = idOf(initStatus(first)?.containerID);
  await runtime.removeContainer(prepared);
  const ever = sample(agent, 'init-gone', (pod) => {
    if (!pod) return 'not there';
    const initialized = pod.status.conditions?.find(({ type }) => type === 'Initialized');
    return `${podSummary(pod).status}, initialized ${initialized?.status}`;
  });
  await agent.restart();
  await atWork(agent);
  let pod = await running(agent, 'init-gone');
  assert.deepEqual(await ever(), ['Running, initialized True']);
  assert.deepEqual(identity(pod), identity(first));
  assert.match((await agent.cli('get', 'pods', 'init-gone')).stdout, /-\S+ +1\/1 +Running +0 /);
  assert.equal(await logOf(agent, 'init-gone'), 'inits=1\n');
  const names = (await runtime.containers(pod.metadata.uid)).map(({ name }) => name);
  assert.deepEqual(names, ['main']);

  // The emptyDir is the pod's, not the sandbox's: it stays, every time.
  for (const inits of [2, 3]) {
    const old = idOf(statusOf(pod).containerID);
    const sandboxes = await runtime.sandboxes(pod.metadata.uid);
    for (const { id } of sandboxes) await runtime.stopSandbox(id);
    pod = await podThat(agent, 'init-gone', 'runs in a new sandbox', (now) => {
      const { containerID, ready } = statusOf(now);
      return ready && idOf(containerID) !== old;
    });
    const ids = [initStatus(pod)?.containerID, statusOf(pod).containerID].map(idOf);
    const [end, begin] = await until('both are heard', () => {
      const events = [eventOf(tasks, 'exit', ids[0] ?? ''), eventOf(tasks, 'start', ids[1] ?? '')];
      return events.every((event) => event !== undefined) && events;
    });
    assert.ok(end && begin && tasks.indexOf(end) < tasks.indexOf(begin), 'main before init');
    assert.equal(await logOf(agent, 'init-gone'), `inits=${inits}\n`);
    const now = (await runtime.sandboxes(pod.metadata.uid)).filter((s) => s.state === 'ready');
    assert.equal(now.length, 1);
    assert.ok(!sandboxes.some(({ id }) => id === now[0]?.id));
  }
  agent.remove('init-gone.yaml');
});

function initStatus(pod: Pod) {
  return pod.status.initContainerStatuses?.[0];
}
