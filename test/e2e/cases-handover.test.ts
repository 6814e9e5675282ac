/**
 * A host port goes from a pod to the one that replaces it, which neither shares nor fights for it.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import test, { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../src/api/pod.ts';
import { freePort, makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { manifest, shell, statusOf } from './manifest.ts';
import type { PodManifest } from './manifest.ts';
import { Runtime, eventOf, idOf } from './runtime.ts';

const GRACE_S = 3;
/** How much longer than the grace period the port may be silent. */
const SILENCE_S = 10;
const POLL_MS = 50;

let containerd: TestContainerd;
let runtime: Runtime;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd();
  runtime = new Runtime(containerd);
  agent = await makeAgent({ socket: containerd.socket });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  await containerd?.stop();
});

test('case 04, hostport-handover: the port changes hands after the full grace, never both', async () => {
  const port = await freePort();
  const tasks = await runtime.watch();
  const client = new PortClient(port);
  agent.apply('handover.yaml', page(port, 'v1'));
  await client.served('v1');
  let old = idOf(statusOf(await current('default')).containerID);
  for (const [text, namespace] of [
    ['v2', 'default'],
    ['v3', 'edge'],
  ] as const) {
    const changedAt = Date.now();
    agent.apply('handover.yaml', page(port, text, namespace));
    await client.served(text);
    const fresh = await current(namespace);
    const id = idOf(statusOf(fresh).containerID);
    const exit = await until('the old one’s end is heard', () => eventOf(tasks, 'exit', old));
    const start = await until('the new one’s start is heard', () => eventOf(tasks, 'start', id));
    assert.ok(tasks.indexOf(exit) < tasks.indexOf(start) && exit.at <= start.at, 'both ran');
    // httpd is PID 1 and ignores SIGTERM: it has the port for as long as it may.
    assert.equal(exit.exitStatus, 137);
    assert.ok(exit.at - changedAt >= GRACE_S * 1000, `killed after ${exit.at - changedAt} ms`);
    const silence = client.silenceBefore(text);
    assert.ok(silence <= (GRACE_S + SILENCE_S) * 1000, `silent for ${silence} ms`);
    assert.equal(statusOf(fresh).restartCount, 0);
    // httpd says nothing but that it cannot have its port.
    assert.equal((await agent.cli('logs', 'handover', '-n', namespace)).stdout, '');
    const troubles = (await agent.events('handover')).filter(({ type }) => type === 'Warning');
    assert.deepEqual(troubles, []);
    old = id;
  }
  await client.stop();
  assert.deepEqual(client.answers, ['v1', 'v2', 'v3']);
  await until('the old pod is gone', async () => !(await agent.pod('handover', 'default')));
});

function page(port: number, text: string, namespace = 'default'): PodManifest {
  const serve = `mkdir -p /tmp/www; echo ${text} > /tmp/www/index.html
exec httpd -f -p ${port} -h /tmp/www`;
  const ports = [{ name: 'web', containerPort: port, hostPort: port }];
  const spec = { hostNetwork: true, terminationGracePeriodSeconds: GRACE_S };
  const pod = manifest('handover', shell(serve, { ports }), spec);
  return { ...pod, metadata: { ...pod.metadata, namespace } };
}

async function current(namespace: string): Promise<Pod> {
  return until('the pod runs', async () => {
    const found = await agent.pod('handover', namespace);
    return found?.status.phase === 'Running' && !found.metadata.deletionTimestamp && found;
  });
}

/** Asks a port all the time and keeps when which answer came first and last. */
class PortClient {
  readonly #answers: { text: string; firstAt: number; lastAt: number }[] = [];
  readonly #ended: Promise<void>;
  #done = false;

  constructor(port: number) {
    this.#ended = this.#ask(port);
  }

  /** Different answers in the order in which they came. */
  get answers(): string[] {
    return this.#answers.map(({ text }) => text);
  }

  async served(text: string): Promise<void> {
    await until(`the port serves ${text}`, () => this.answers.includes(text));
  }

  /** Milliseconds between the first answer `text` and the last one before it. */
  silenceBefore(text: string): number {
    const at = this.answers.indexOf(text);
    const [before_, after_] = [this.#answers[at - 1], this.#answers[at]];
    assert.ok(before_ && after_, `${text} came after no other answer`);
    return after_.firstAt - before_.lastAt;
  }

  async stop(): Promise<void> {
    this.#done = true;
    await this.#ended;
  }

  async #ask(port: number): Promise<void> {
    while (!this.#done) {
      const text = await body(port).catch(() => undefined);
      const last = this.#answers.at(-1);
      const now = Date.now();
      if (text !== undefined && text === last?.text) last.lastAt = now;
      else if (text !== undefined) this.#answers.push({ text, firstAt: now, lastAt: now });
      await sleep(POLL_MS);
    }
  }
}

function body(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const url = `http://127.0.0.1:${port}/`;
    http
      .get(url, { agent: false, timeout: 2000 }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => (text += part));
        answer.on('end', () => resolve(text.trim())).on('error', reject);
      })
      .on('timeout', function (this: http.ClientRequest) {
        this.destroy(new Error('no answer'));
      })
      .on('error', reject);
  });
}
