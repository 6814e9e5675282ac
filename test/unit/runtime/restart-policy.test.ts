import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { restartDecision, shouldRestart, wouldStart } from '../../../src/runtime/restart-policy.ts';
import { container, exited, pod, record, runtime } from '../status/make.ts';

describe('restart policy', () => {
  const app = container('app');

  it('follows the pod where the container says nothing', () => {
    const outcome = (policy: 'Always' | 'OnFailure' | 'Never') =>
      [0, 1].map((exitCode) => shouldRestart(pod({ restartPolicy: policy }), app, { exitCode }));
    assert.deepEqual(outcome('Always'), [true, true]);
    assert.deepEqual(outcome('OnFailure'), [false, true]);
    assert.deepEqual(outcome('Never'), [false, false]);
  });

  it('lets the first matching rule decide, then the policy of the container', () => {
    const made = container('app', {
      restartPolicy: 'OnFailure',
      restartPolicyRules: [
        { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [7] } },
        { action: 'Restart', exitCodes: { operator: 'NotIn', values: [0, 3] } },
      ],
    });
    const never = pod({ restartPolicy: 'Never' });
    assert.deepEqual(
      [7, 5, 3, 0].map((exitCode) => restartDecision(never, made, { exitCode })),
      ['restart-all-containers', 'restart', 'restart', 'stay'],
    );
  });

  it('never runs an init container again that has passed', () => {
    const init = container('i');
    const made = pod({ initContainers: [init] });
    assert.equal(shouldRestart(made, init, { exitCode: 0 }), false);
    assert.equal(shouldRestart(made, init, { exitCode: 2 }), true);
    assert.equal(shouldRestart(made, init, { exitCode: 0, reason: 'OOMKilled' }), true);
    const never = pod({ initContainers: [init], restartPolicy: 'Never' });
    assert.equal(shouldRestart(never, init, { exitCode: 0, reason: 'OOMKilled' }), false);
  });

  it('runs a sidecar again whatever it exited with', () => {
    const side = container('s', { restartPolicy: 'Always' });
    const never = pod({ initContainers: [side], restartPolicy: 'Never' });
    assert.equal(shouldRestart(never, side, { exitCode: 0 }), true);
  });

  it('starts what is missing or half made, and nothing in a pod that is being deleted', () => {
    const made = pod();
    assert.equal(wouldStart(made, app, runtime([])), true);
    assert.equal(wouldStart(made, app, runtime([record('app', 'created')])), true);
    assert.equal(wouldStart(made, app, runtime([record('app', 'unknown')])), true);
    assert.equal(wouldStart(made, app, runtime([record('app', 'running')])), false);
    assert.equal(wouldStart(made, app, runtime([exited('app', 1)])), true);
    made.metadata.deletionTimestamp = '2025-03-01T12:00:00Z';
    assert.equal(wouldStart(made, app, runtime([])), false);
  });
});
