import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { containerOf, podOf } from '../../support/pods.ts';
import { close, listen, probe } from './support.ts';
import { probed, world } from './world.ts';

const ready = (m: { ready(name: string, id: string): boolean | undefined }): boolean | undefined =>
  m.ready('app', 'a');

describe('a probe worker', () => {
  it('keeps the timeline of the spec', () =>
    world(async (w) => {
      // All of the spec's times are 6 s later here: ticks at 10, 20 …; the container starts at 6.
      await w.ensure(probed({ readiness: { initialDelaySeconds: 15 } }));
      await w.pass(6);
      w.report();
      assert.deepEqual(await w.pass(16), [], '10 and 20 are too early');
      assert.equal(ready(w.manager), false);
      w.manager.observe('uid-1', w.statuses.get('uid-1') ?? {});
      assert.deepEqual(await w.pass(0), ['22: readiness a'], 'poked');
      assert.equal(ready(w.manager), true);
      assert.deepEqual(w.changes, ['uid-1 readiness']);
      w.report({ ready: true });
      assert.deepEqual(await w.pass(20), ['32: readiness a', '42: readiness a']);
      w.answers.set('readiness', 'bad');
      assert.deepEqual(await w.pass(20), ['52: readiness a', '62: readiness a']);
      assert.equal(ready(w.manager), true, 'two failures are not enough');
      assert.deepEqual(await w.pass(10), ['72: readiness a']);
      assert.equal(ready(w.manager), false);
      assert.deepEqual(w.changes, ['uid-1 readiness', 'uid-1 readiness']);
      const text = 'Warning Unhealthy spec.containers{app} Readiness probe failed: no good';
      assert.deepEqual(w.events, [text, text, text], 'every failure is an event');
    }));

  it('gives a failed liveness probe no second thought until there is a new container', () =>
    world(async (w) => {
      w.report();
      w.answers.set('liveness', 'bad');
      await w.ensure(probed({ liveness: { failureThreshold: 2 } }));
      assert.equal(w.manager.livenessFailed('a'), false);
      await w.pass(10);
      assert.equal(w.manager.livenessFailed('a'), true);
      assert.deepEqual(w.changes, ['uid-1 liveness']);
      assert.deepEqual(await w.pass(60), [], 'on hold');
      w.report({ containerID: 'containerd://b' });
      w.answers.set('liveness', 'ok');
      assert.deepEqual(await w.pass(10), ['80: liveness b']);
      assert.deepEqual(
        [w.manager.livenessFailed('a'), w.manager.livenessFailed('b')],
        [false, false],
      );
      assert.deepEqual(w.changes, ['uid-1 liveness'], 'a liveness success is nothing new');
    }));

  it('never counts attempts that could not run', () =>
    world(async (w) => {
      w.report();
      w.answers.set('liveness', 'error');
      await w.ensure(probed({ liveness: { failureThreshold: 1 } }));
      await w.pass(10);
      assert.equal(w.calls.length, 6, 'three tries each');
      assert.equal(w.manager.livenessFailed('a'), false);
      const text =
        'Warning Unhealthy spec.containers{app} Liveness probe errored and resulted in unknown state: no runtime';
      assert.deepEqual(w.events, [text, text]);
    }));

  it('tries again at once after an error', () =>
    world(async (w) => {
      w.report();
      let tries = 0;
      w.answers.set('readiness', () => Promise.resolve(++tries < 3 ? 'error' : 'ok'));
      await w.ensure(probed({ readiness: {} }));
      await w.pass(0);
      assert.deepEqual([tries, ready(w.manager), w.events.length], [3, true, 0]);
    }));

  it('waits for the startup probe with the others', () =>
    world(async (w) => {
      w.report({ started: false });
      w.answers.set('startup', 'bad');
      await w.ensure(probed({ startup: { failureThreshold: 9 }, liveness: {}, readiness: {} }));
      await w.pass(10);
      assert.deepEqual(w.calls, ['0: startup a', '10: startup a']);
      assert.equal(w.manager.startupSucceeded('a'), undefined);
      w.answers.set('startup', 'ok');
      assert.deepEqual(await w.pass(10), ['20: startup a']);
      assert.deepEqual(
        [
          w.manager.startupSucceeded('a'),
          w.manager.started('app', 'a'),
          w.manager.startupFailed('a'),
        ],
        [true, true, false],
      );
      assert.deepEqual(w.changes, ['uid-1 startup']);
      w.report({ started: true });
      assert.deepEqual(await w.pass(0), ['20: readiness a'], 'readiness is poked');
      assert.deepEqual(await w.pass(10), ['30: liveness a', '30: readiness a']);
    }));

  it('says when the startup probe has failed for good', () =>
    world(async (w) => {
      w.report({ started: false });
      w.answers.set('startup', 'bad');
      await w.ensure(probed({ startup: { failureThreshold: 1 } }));
      assert.deepEqual(
        [w.manager.startupFailed('a'), w.manager.startupSucceeded('a')],
        [true, false],
      );
      assert.deepEqual(w.changes, ['uid-1 startup']);
    }));

  it('makes no container ready by the result of another', () =>
    world(async (w) => {
      w.report();
      await w.ensure(probed({ readiness: { successThreshold: 1 } }));
      assert.equal(ready(w.manager), true);
      w.answers.set('readiness', 'bad');
      w.statuses.set('uid-1', {
        phase: 'Running',
        containerStatuses: [w.container({ containerID: 'containerd://b' })],
      });
      assert.equal(w.manager.ready('app', 'b'), undefined);
      await w.pass(10);
      assert.deepEqual([ready(w.manager), w.manager.ready('app', 'b')], [undefined, false]);
    }));

  it('does not make up for ticks that it missed', () =>
    world(async (w) => {
      w.report();
      let answer = (): void => undefined;
      w.answers.set('readiness', () => new Promise((resolve) => (answer = () => resolve('ok'))));
      await w.ensure(probed({ readiness: { timeoutSeconds: 100 } }));
      await w.pass(25);
      w.answers.set('readiness', 'ok');
      answer();
      assert.deepEqual(await w.pass(5), ['25: readiness a', '30: readiness a']);
    }));

  it('is told of its node address on the host network', () =>
    world(
      async (w) => {
        const server = createServer((socket) => socket.resume().end());
        const port = await listen(server);
        w.report({}, { podIP: '198.51.100.1' });
        const readinessProbe = probe({ tcpSocket: { port } });
        const containers = [containerOf('app', { readinessProbe })];
        const connected = once(server, 'connection');
        await w.ensure(podOf({ hostNetwork: true, containers }));
        await connected;
        await close(server);
        await w.tasks.stop();
      },
      { nodeIps: ['127.0.0.1'] },
    ));
});

describe('right after the start of the agent', () => {
  it('first probes are spread over their period', () =>
    world(
      async (w) => {
        w.report({ ready: true });
        w.random = 0.75;
        await w.ensure(probed({ readiness: {} }));
        assert.deepEqual(await w.pass(20), ['7.5: readiness a', '17.5: readiness a']);
      },
      { uptimeMs: 9_999 },
    ));

  it('what is not ready does not wait for its turn', () =>
    world(
      async (w) => {
        await w.ensure(probed({ readiness: {} }));
        await w.pass(1);
        w.report();
        assert.deepEqual(await w.pass(10), ['1: readiness a', '11: readiness a']);
      },
      { uptimeMs: 0 },
    ));

  it('a ready container stays ready until its probe has failed often enough', () =>
    world(
      async (w) => {
        w.report({ ready: true, state: { running: { startedAt: '2025-12-31T00:00:00Z' } } });
        w.answers.set('readiness', 'bad');
        await w.ensure(probed({ readiness: {} }));
        assert.equal(ready(w.manager), true, 'before the first probe');
        await w.pass(20);
        assert.equal(ready(w.manager), true, 'after two failures');
        await w.pass(10);
        assert.equal(ready(w.manager), false);
        assert.deepEqual(w.changes, ['uid-1 readiness']);
      },
      { uptimeMs: 0 },
    ));

  it('a started sidecar holds nothing up', () =>
    world(
      async (w) => {
        w.report(
          {},
          { initContainerStatuses: [w.container({ name: 'side', containerID: 'containerd://s' })] },
        );
        const startupProbe = probe({ exec: { command: ['startup'] } });
        const side = containerOf('side', { restartPolicy: 'Always', startupProbe });
        w.manager.ensure(podOf({ initContainers: [side] }));
        assert.equal(w.manager.startupSucceeded('s'), true, 'before anything is planned');
        assert.deepEqual(await w.pass(60), []);
      },
      { uptimeMs: 0 },
    ));
});
