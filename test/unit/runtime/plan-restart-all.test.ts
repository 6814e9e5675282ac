import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { containerOf, podOf, recordOf, runtimeOf, sandboxOf } from '../../support/pods.ts';
import { plan } from './planned.ts';

const app = containerOf('app');
const gone = sandboxOf(0, { state: 'notready', ips: [] });

describe('a container that has all restart', () => {
  const restartPolicyRules = [
    {
      action: 'RestartAllContainers' as const,
      exitCodes: { operator: 'In' as const, values: [42] },
    },
  ];
  const rule = { restartPolicy: 'Never' as const, restartPolicyRules };
  const trigger = containerOf('trigger', rule);
  const log = containerOf('log');
  const one = containerOf('one');
  const side = containerOf('side', { restartPolicy: 'Always' });
  const pod = podOf({
    restartPolicy: 'Never',
    initContainers: [one, side],
    containers: [trigger, app, log],
  });
  const ended = (c: typeof one, exitCode: number, at = 1) =>
    recordOf(c, 'exited', { exitCode, at, reason: exitCode === 0 ? 'Completed' : 'Error' });
  const beside = [ended(one, 0), recordOf(side, 'running'), recordOf(app, 'running')];

  it('ended so: the others are stopped and go first, then the trigger', () => {
    const status = runtimeOf(
      [sandboxOf()],
      [...beside, recordOf(log, 'created'), ended(trigger, 42)],
    );
    assert.deepEqual(plan(pod, status), [
      'stop app-1 side-1',
      'reset app-1',
      'reset log-1',
      'reset one-1',
      'reset side-1',
      'reset trigger-1 (ended)',
    ]);
  });

  it('ended otherwise: nothing of the kind', () => {
    const status = runtimeOf(
      [sandboxOf()],
      [...beside, recordOf(log, 'running'), ended(trigger, 1)],
    );
    assert.deepEqual(plan(pod, status), []);
  });

  it('every point at which the agent may die leads on', () => {
    const left = [ended(app, 137), ended(log, 137), ended(one, 0), ended(side, 137)];
    for (let gone = 0; gone <= left.length; gone++) {
      const status = runtimeOf([sandboxOf()], [...left.slice(gone), ended(trigger, 42)]);
      const steps = plan(pod, status);
      assert.equal(steps.length, left.length - gone + 1);
      assert.equal(steps.at(-1), 'reset trigger-1 (ended)');
    }
    assert.deepEqual(plan(pod, runtimeOf([sandboxOf()], [])), ['start init one']);
  });

  it('older runs of a name go before the newest', () => {
    const old = ended(trigger, 1, 1);
    const only = podOf({ containers: [trigger] });
    const status = runtimeOf([sandboxOf()], [old, ended(trigger, 42, 2)]);
    assert.deepEqual(plan(only, status), ['reset trigger-1', 'reset trigger-2 (ended)']);
  });

  it('what crashed by itself beside it keeps its pause', () => {
    const crashing = containerOf('log', { restartPolicy: 'Always' });
    const mixed = podOf({ restartPolicy: 'Never', containers: [trigger, crashing] });
    const status = runtimeOf([sandboxOf()], [ended(crashing, 1), ended(trigger, 42)]);
    assert.deepEqual(plan(mixed, status), ['reset log-1 (ended)', 'reset trigger-1 (ended)']);
  });

  it('may be an init container or a sidecar, which then goes last of all', () => {
    const bad = containerOf('one', rule);
    const failing = podOf({ initContainers: [bad, side], restartPolicy: 'Never' });
    const status = runtimeOf([sandboxOf()], [ended(bad, 42)]);
    assert.deepEqual(plan(failing, status), ['reset one-1 (ended)']);
    const watcher = containerOf('side', { ...rule, restartPolicy: 'Always' });
    const watched = podOf({ initContainers: [one, watcher], restartPolicy: 'Never' });
    const running = runtimeOf(
      [sandboxOf()],
      [ended(one, 0), ended(watcher, 42), recordOf(app, 'running')],
    );
    assert.deepEqual(plan(watched, running), [
      'stop app-1',
      'reset app-1',
      'reset one-1',
      'reset side-1 (ended)',
    ]);
  });

  it('an init container that has done its work asks for nothing, whatever the rule says', () => {
    const values = [1];
    const notOne = {
      restartPolicy: 'Never' as const,
      restartPolicyRules: [
        {
          action: 'RestartAllContainers' as const,
          exitCodes: { operator: 'NotIn' as const, values },
        },
      ],
    };
    const init = containerOf('one', notOne);
    const status = runtimeOf([sandboxOf()], [ended(init, 0)]);
    assert.deepEqual(plan(podOf({ initContainers: [init] }), status), ['start regular app']);
  });

  it('comes before a sandbox that died with it', () => {
    const status = runtimeOf([gone], [ended(app, 137), ended(trigger, 42)]);
    assert.deepEqual(plan(pod, status), ['reset app-1', 'reset trigger-1 (ended)']);
  });
});
