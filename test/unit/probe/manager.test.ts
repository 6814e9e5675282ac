import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { containerOf, podOf } from '../../support/pods.ts';
import { probe } from './support.ts';
import { probed, world } from './world.ts';

const exec = (command: string): ReturnType<typeof probe> => probe({ exec: { command: [command] } });

describe('the set of probe workers', () => {
  it('is empty for pods without probes', () =>
    world(async (w) => {
      const init = containerOf('init', { readinessProbe: exec('init') });
      await w.ensure(podOf({ initContainers: [init] }));
      assert.equal(w.manager.size, 0);
    }));

  it('is the same after any number of passes', () =>
    world(async (w) => {
      const pod = probed({ startup: {}, liveness: {}, readiness: {} });
      for (let i = 0; i < 3; i++) await w.ensure(pod);
      assert.equal(w.manager.size, 3);
    }));

  it('gets a missing worker back while earlier ones live', () =>
    world(async (w) => {
      const containers = ['one', 'two'].map((name) =>
        containerOf(name, { restartPolicy: 'Never', livenessProbe: exec(name) }),
      );
      const pod = podOf({ containers });
      const [one, two] = containers.map(({ name }) =>
        w.container({ name, containerID: `containerd://${name}` }),
      );
      assert.ok(one && two);
      const ended = { ...two, state: { terminated: { exitCode: 1 } } };
      w.report({}, { containerStatuses: [one, two] });
      await w.ensure(pod);
      w.report({}, { containerStatuses: [one, ended] });
      await w.pass(10);
      assert.equal(w.manager.size, 1, 'the worker of what ended for good has ended');
      await w.ensure(pod);
      assert.equal(w.manager.size, 1, 'and is not started again');
      const again = { ...two, containerID: 'containerd://two-b' };
      w.report({}, { containerStatuses: [one, again] });
      await w.ensure(pod);
      assert.equal(w.calls.at(-1), '10: two two-b');
    }));

  it('follows the manifest', () =>
    world(async (w) => {
      w.report({ ready: true });
      await w.ensure(probed({ readiness: {}, liveness: {} }));
      const faster = probed({ readiness: { periodSeconds: 2, exec: { command: ['other'] } } });
      await w.ensure(faster);
      assert.equal(w.manager.size, 1, 'liveness is not wanted any more');
      assert.deepEqual(await w.pass(4), ['2: other a', '4: other a']);
      await w.ensure(podOf());
      assert.equal(w.manager.size, 0);
      assert.equal(w.manager.ready('app', 'a'), undefined);
    }));

  it('ends with the pod', () =>
    world(async (w) => {
      w.report();
      const pod = probed({ readiness: {} });
      await w.ensure(pod);
      w.report({}, { phase: 'Succeeded' });
      await w.pass(10);
      assert.equal(w.manager.size, 0);
      await w.ensure(pod);
      assert.equal(w.manager.size, 0);
    }));

  it('keeps what a terminating pod needs', () =>
    world(async (w) => {
      const side = containerOf('side', { restartPolicy: 'Always', livenessProbe: exec('side') });
      const base = probed({ startup: {}, liveness: {}, readiness: {} });
      const pod = podOf({ ...base.spec, initContainers: [side] });
      w.report({}, { initContainerStatuses: [w.container({ name: 'side' })] });
      await w.ensure(pod);
      w.manager.stopLivenessAndStartup('uid-1');
      await w.ensure(pod);
      assert.deepEqual((await w.pass(10)).sort(), ['10: readiness a', '10: side a']);
      w.manager.remove('uid-1');
      assert.equal(w.manager.size, 0);
      assert.deepEqual(await w.pass(20), []);
      await w.ensure(pod);
      assert.equal(w.manager.size, 4, 'the same manifest came back');
    }));

  it('stores nothing of an attempt that was under way when the pod went', () =>
    world(async (w) => {
      w.report();
      let answer = (): void => undefined;
      w.answers.set('readiness', () => new Promise((resolve) => (answer = () => resolve('bad'))));
      await w.ensure(probed({ readiness: { failureThreshold: 1 } }));
      w.manager.remove('uid-1');
      answer();
      await w.pass(0);
      assert.equal(w.manager.ready('app', 'a'), undefined);
      assert.deepEqual([w.changes, w.events], [[], []]);
    }));

  it('is measured, for as long as it lives', () =>
    world(async (w) => {
      w.report();
      w.answers.set('readiness', 'bad');
      w.answers.set('startup', 'error');
      await w.ensure(probed({ readiness: {}, liveness: {} }));
      await w.pass(10);
      const of = (type: string): string =>
        `probe_type="${type}",result="RESULT",container="app",pod="web-edge1",namespace="default",pod_uid="uid-1"`;
      const text = w.registry.expose();
      const lines = text.split('\n').filter((l) => l.startsWith('prober_probe_total'));
      assert.deepEqual(lines, [
        `prober_probe_total{${of('Liveness').replace('RESULT', 'successful')}} 2`,
        `prober_probe_total{${of('Readiness').replace('RESULT', 'failed')}} 2`,
      ]);
      assert.match(text, /prober_probe_duration_seconds_count\{probe_type="Liveness",.*\} 2/);
      assert.doesNotMatch(text, /prober_probe_duration_seconds_count\{probe_type="Readiness"/);
      w.manager.remove('uid-1');
      assert.equal(w.registry.expose(), '');
    }));
});
