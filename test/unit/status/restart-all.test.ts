/** What a pod says of itself while all its containers restart (spec: pod-lifecycle.md §6.1). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContainerStatus, PodStatus } from '../../../src/api/status.ts';
import type { RuntimeContainerStatus } from '../../../src/runtime/model.ts';
import { generatePodStatus } from '../../../src/status/generate.ts';
import type { StatusInput } from '../../../src/status/input.ts';
import { condition, container, exited, input, pod, record, runtime } from './make.ts';

const trigger = container('trigger', {
  restartPolicy: 'Never',
  restartPolicyRules: [
    { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } },
  ],
});
const made = pod({
  restartPolicy: 'Never',
  initContainers: [container('i')],
  containers: [trigger, container('app')],
});
const REASON = 'RestartingAllContainers';
const WHY = {
  reason: REASON,
  message: 'The container is removed because RestartAllContainers in place',
};

function next(
  previous: PodStatus,
  records: RuntimeContainerStatus[],
  more: Partial<StatusInput> = {},
): PodStatus {
  return generatePodStatus(input({ pod: made, runtime: runtime(records), previous, ...more }));
}

function named(status: PodStatus, name: string): ContainerStatus {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return all.find((s) => s.name === name) ?? assert.fail(name);
}

const restarting = (status: PodStatus) => condition(status, 'AllContainersRestarting').status;

describe('the status of a pod whose containers all restart', () => {
  const running = next({}, [
    exited('i', 0),
    record('trigger', 'running'),
    record('app', 'running'),
  ]);
  const stopping = next(running, [exited('i', 0), exited('trigger', 42), record('app', 'running')]);
  const stopped = next(stopping, [exited('i', 0), exited('trigger', 42), exited('app', 137)]);
  const partly = next(stopped, [exited('trigger', 42)]);
  const cleared = next(partly, []);
  const again = next(cleared, [record('i', 'running', { id: 'i-1' })]);

  it('says so from the exit to the last record', () => {
    const seen = [running, stopping, stopped, partly, cleared, again].map(restarting);
    assert.deepEqual(seen, ['False', 'True', 'True', 'True', 'False', 'False']);
    const { reason, message } = condition(stopping, 'AllContainersRestarting');
    assert.deepEqual(
      [reason, message],
      ['RestartAllContainersStarted', 'container exited with restart policy rule'],
    );
  });

  it('has not ended, although the policies would say so of its containers', () => {
    const seen = [running, stopping, stopped, partly, cleared, again].map((s) => s.phase);
    assert.deepEqual(seen.slice(0, 5), Array(5).fill('Running'));
    assert.equal(again.phase, 'Pending');
    assert.equal(condition(again, 'Initialized').status, 'True');
  });

  it('shows every container whose record is gone as waiting, killed and counted once', () => {
    for (const status of [partly, cleared]) {
      for (const name of ['i', 'app']) {
        const { state, lastState, restartCount, ready, containerID } = named(status, name);
        assert.deepEqual(state, { waiting: WHY });
        const { exitCode, reason, message } = lastState.terminated ?? {};
        assert.deepEqual([exitCode, reason, message], [137, REASON, WHY.message]);
        assert.deepEqual([restartCount, ready, containerID], [1, false, undefined]);
      }
    }
    assert.equal(named(partly, 'trigger').state.terminated?.exitCode, 42);
    assert.equal(named(cleared, 'trigger').lastState.terminated?.reason, REASON);
  });

  it('keeps that as the last run of the next life', () => {
    assert.deepEqual(named(again, 'app').state, { waiting: { reason: 'PodInitializing' } });
    assert.equal(named(again, 'app').restartCount, 1);
    const restartCount = { 'io.kubernetes.container.restartCount': '1' };
    const up = next(again, [
      exited('i', 0, 1),
      record('app', 'running', { id: 'app-1', annotations: restartCount }),
    ]);
    const { state, lastState, restartCount: count } = named(up, 'app');
    assert.ok(state.running);
    assert.deepEqual([lastState.terminated?.reason, count], [REASON, 1]);
  });

  it('is over when the pod is', () => {
    const failed = next({ ...stopped, phase: 'Failed' }, [exited('trigger', 42)]);
    assert.deepEqual(
      [restarting(failed), condition(failed, 'AllContainersRestarting').reason],
      ['False', 'PodFailed'],
    );
    const ended = next(partly, [exited('trigger', 42)], { terminal: true });
    assert.notEqual(named(ended, 'app').state.terminated, undefined);
  });
});
