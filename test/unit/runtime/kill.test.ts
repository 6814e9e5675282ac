import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { NO_CONFIG_OBJECTS } from '../../../src/api/config-object.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { Annotation } from '../../../src/api/reasons.ts';
import { PodKiller } from '../../../src/runtime/kill.ts';
import type { KillOptions } from '../../../src/runtime/kill.ts';
import type { RuntimePodStatus } from '../../../src/runtime/model.ts';
import { createLogger } from '../../../src/util/log.ts';
import { ManualClock, settle } from '../../support/clock.ts';
import { containerOf, podOf, recordOf, runtimeOf, sandboxOf } from '../../support/pods.ts';

const app = containerOf('app');
const { signal } = new AbortController();

/** A runtime whose hooks and stops take as long as a test says, in seconds. */
class Runtime {
  readonly clock = new ManualClock();
  readonly calls: string[] = [];
  readonly events: string[] = [];
  hookSeconds = 0;
  hookExit = 0;
  stopSeconds = 0;
  readonly logged: string[] = [];
  readonly killer = new PodKiller({
    clock: this.clock,
    objects: NO_CONFIG_OBJECTS,
    logger: createLogger({
      ...{ level: 'warn', format: 'text', wall: () => 0 },
      sink: { write: (line: string) => this.logged.push(line) },
    }),
    events: { event: (_, __, reason, message) => void this.events.push(`${reason}: ${message}`) },
    runtime: {
      execSync: async (id) => {
        this.calls.push(`hook ${id}`);
        await this.clock.sleep(this.hookSeconds * 1000, signal);
        return { stdout: new Uint8Array(), stderr: Buffer.from('oops'), exitCode: this.hookExit };
      },
      stopContainer: async (id, grace) => {
        this.calls.push(`stop ${id} ${grace}`);
        if (this.stopSeconds > 0) await this.clock.sleep(this.stopSeconds * 1000, signal);
      },
      stopPodSandbox: (id) => Promise.resolve(void this.calls.push(`stop ${id}`)),
    },
  });

  async kill(
    pod: Pod | undefined,
    status: RuntimePodStatus,
    options: KillOptions = {},
  ): Promise<string[]> {
    const done = this.killer.killPod({ pod, status }, options, signal);
    for (let ended = false; !ended;) {
      void done.finally(() => (ended = true));
      await settle();
      if (this.clock.untilNext !== undefined) await this.clock.advance(this.clock.untilNext);
    }
    await done;
    return this.calls;
  }
}

const preStop = { exec: { command: ['bye'] } };

describe('killPod', () => {
  it('stops what runs with the grace period of the pod, then the sandbox', async () => {
    const r = new Runtime();
    const ended = recordOf(containerOf('old'), 'exited');
    const status = runtimeOf([sandboxOf()], [recordOf(app, 'running'), ended]);
    assert.deepEqual(await r.kill(podOf(), status), ['stop app-1 30', 'stop sandbox-0']);
    assert.deepEqual(r.events, ['Killing: Stopping container app']);
  });

  it('never asks for less than two seconds, whatever the pod or the caller says', async () => {
    const status = runtimeOf([], [recordOf(app, 'running')]);
    const short = podOf({ terminationGracePeriodSeconds: 0 });
    assert.deepEqual(await new Runtime().kill(short, status), ['stop app-1 2']);
    assert.deepEqual(await new Runtime().kill(podOf(), status, { graceSeconds: 0 }), [
      'stop app-1 2',
    ]);
  });

  it('takes the time of the preStop hook from the grace period', async () => {
    const r = new Runtime();
    r.hookSeconds = 12;
    const pod = podOf({ containers: [containerOf('app', { lifecycle: { preStop } })] });
    const calls = await r.kill(pod, runtimeOf([], [recordOf(app, 'running')]));
    assert.deepEqual(calls, ['hook app-1', 'stop app-1 18']);
  });

  it('goes on when the hook fails or takes the whole grace period', async () => {
    const pod = podOf({ containers: [containerOf('app', { lifecycle: { preStop } })] });
    const status = runtimeOf([], [recordOf(app, 'running')]);
    const failing = new Runtime();
    failing.hookExit = 3;
    assert.deepEqual(await failing.kill(pod, status), ['hook app-1', 'stop app-1 30']);
    assert.deepEqual(failing.events.slice(1), ['FailedPreStopHook: PreStopHook failed']);
    assert.match(failing.logged[0] ?? '', /preStop.* exited with 3: oops/);
    const slow = new Runtime();
    slow.hookSeconds = 600;
    assert.deepEqual(await slow.kill(pod, status), ['hook app-1', 'stop app-1 2']);
  });

  it('runs no hook when there is no time for it', async () => {
    const pod = podOf({ containers: [containerOf('app', { lifecycle: { preStop } })] });
    const calls = await new Runtime().kill(pod, runtimeOf([], [recordOf(app, 'running')]), {
      graceSeconds: 0,
    });
    assert.deepEqual(calls, ['stop app-1 2']);
  });

  it('ends sidecars last, in reverse order', async () => {
    const r = new Runtime();
    r.stopSeconds = 5;
    const one = containerOf('one', { restartPolicy: 'Always' });
    const two = containerOf('two', { restartPolicy: 'Always' });
    const pod = podOf({ initContainers: [one, two] });
    const status = runtimeOf(
      [],
      [recordOf(one, 'running'), recordOf(two, 'running'), recordOf(app, 'running')],
    );
    assert.deepEqual(await r.kill(pod, status), [
      'stop app-1 30',
      'stop two-1 25',
      'stop one-1 20',
    ]);
  });

  it('begins ten stops at once, and more when those take their time', async () => {
    const r = new Runtime();
    r.stopSeconds = 30;
    const many = Array.from({ length: 25 }, (_, i) => containerOf(`c${i}`));
    const status = runtimeOf(
      [sandboxOf()],
      many.map((c) => recordOf(c, 'running')),
    );
    const done = r.killer.killPod({ pod: podOf({ containers: many }), status }, {}, signal);
    const begun: number[] = [];
    for (const seconds of [0, 1, 1, 2]) {
      await r.clock.advance(seconds * 1000);
      begun.push(r.calls.length);
    }
    assert.deepEqual(begun, [10, 10, 20, 25]);
    assert.ok(
      r.calls.every((call) => call.endsWith(' 30')),
      'waiting costs nobody its grace',
    );
    await r.clock.advance(40_000);
    await done;
    assert.equal(r.calls.at(-1), 'stop sandbox-0');
  });

  it('gives a pod without a manifest what its containers remember: grace period and hook', async () => {
    const annotations = {
      [Annotation.podTerminationGracePeriod]: '7',
      [Annotation.preStopHandler]: JSON.stringify(preStop),
    };
    const r = new Runtime();
    const calls = await r.kill(
      undefined,
      runtimeOf([], [recordOf(app, 'running', { annotations })]),
    );
    assert.deepEqual(calls, ['hook app-1', 'stop app-1 7']);
    const foreign = recordOf(app, 'running', { annotations: { [Annotation.preStopHandler]: '{' } });
    assert.deepEqual(await new Runtime().kill(undefined, runtimeOf([], [foreign])), [
      'stop app-1 2',
    ]);
  });
});

describe('the grace period', () => {
  const status = runtimeOf([], [recordOf(app, 'running')]);
  const hooked = { containers: [containerOf('app', { lifecycle: { preStop } })] };

  it('is that of the deletion where the pod brings one, before that of a probe', async () => {
    const pod = podOf();
    pod.metadata.deletionGracePeriodSeconds = 9;
    const options = { probeGraceSeconds: 5 };
    assert.deepEqual(await new Runtime().kill(pod, status, options), ['stop app-1 9']);
  });

  it('of none leaves no time for a hook, but a pod that is removed has a second', async () => {
    const pod = podOf({ ...hooked, terminationGracePeriodSeconds: 0 });
    assert.deepEqual(await new Runtime().kill(pod, status), ['stop app-1 2']);
    const removed = await new Runtime().kill(pod, status, { leastGraceSeconds: 1 });
    assert.deepEqual(removed, ['hook app-1', 'stop app-1 2']);
  });
});

describe('a hook', () => {
  it('of an orphan finds the port that its container remembers', async (t) => {
    const server = http.createServer((_, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const asked = once(server, 'request') as Promise<[http.IncomingMessage]>;
    const ports = [{ name: 'web', containerPort: (server.address() as AddressInfo).port }];
    const annotations = {
      [Annotation.preStopHandler]: JSON.stringify({ httpGet: { path: '/bye', port: 'web' } }),
      [Annotation.containerPorts]: JSON.stringify(ports),
      [Annotation.podTerminationGracePeriod]: '30',
    };
    const r = new Runtime();
    const local = {
      ...runtimeOf([], [recordOf(app, 'running', { annotations })]),
      ips: ['127.0.0.1'],
    };
    await r.killer.killPod({ pod: undefined, status: local }, {}, signal);
    assert.equal((await asked)[0].url, '/bye');
    assert.deepEqual([r.calls, r.events.length], [['stop app-1 30'], 1]);
  });

  it('after a start that failed runs like before any other stop', async () => {
    const r = new Runtime();
    const pod = podOf({ containers: [containerOf('app', { lifecycle: { preStop } })] });
    const done = r.killer.killStarted({ pod, ips: [] }, { id: 'new-1', name: 'app' }, signal);
    await r.clock.advance(0);
    await done;
    assert.deepEqual(r.calls, ['hook new-1', 'stop new-1 30']);
    assert.deepEqual(r.events, ['Killing: FailedPostStartHook']);
  });
});

describe('killContainer', () => {
  it('uses the grace period of the probe that failed, and its words', async () => {
    const r = new Runtime();
    const status = runtimeOf([], [recordOf(app, 'running')]);
    const options = { probeGraceSeconds: 5, message: 'Container app failed liveness probe' };
    await r.killer.killContainer({ pod: podOf(), status }, 'app-1', options, signal);
    assert.deepEqual(r.calls, ['stop app-1 5']);
    assert.deepEqual(r.events, ['Killing: Container app failed liveness probe']);
  });
});
