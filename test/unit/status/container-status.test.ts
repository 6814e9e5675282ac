import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Annotation } from '../../../src/api/reasons.ts';
import { containerStatuses } from '../../../src/status/container-status.ts';
import { generatePodStatus } from '../../../src/status/generate.ts';
import { container, exited, input, pod, record, runtime } from './make.ts';

const probe = { timeoutSeconds: 1, periodSeconds: 1, successThreshold: 1, failureThreshold: 3 };
const ready = (started: boolean | undefined, isReady: boolean | undefined) => ({
  started: () => started,
  ready: () => isReady,
});

describe('containerStatuses', () => {
  it('sorts regular containers by name and leaves init containers as they are', () => {
    const made = pod({
      containers: [container('b'), container('a')],
      initContainers: [container('z'), container('y')],
    });
    const { regular, init } = containerStatuses(input({ pod: made }));
    assert.deepEqual(
      [regular.map((s) => s.name), init.map((s) => s.name)],
      [
        ['a', 'b'],
        ['z', 'y'],
      ],
    );
    assert.deepEqual(init[0]?.state.waiting, { reason: 'PodInitializing' });
  });

  it('takes the restart count from the record, else from what was stored', () => {
    const [app] = containerStatuses(input({ runtime: runtime([exited('app', 1, 4)]) })).regular;
    assert.equal(app?.restartCount, 4);
    const [gone] = containerStatuses(
      input({ runtime: runtime([]), restartCounts: new Map([['app', 6]]) }),
    ).regular;
    assert.equal(gone?.restartCount, 6);
  });

  it('says so when a container that ran is nowhere to be found, and counts it once', () => {
    const first = generatePodStatus(input({ runtime: runtime([record('app', 'running')]) }));
    const lost = generatePodStatus(input({ previous: first }));
    const expected = {
      terminated: {
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message:
          'The container could not be located when the pod was deleted.  The container used to be Running',
      },
    };
    assert.deepEqual(lost.containerStatuses?.[0]?.lastState, expected);
    assert.equal(lost.containerStatuses?.[0]?.restartCount, 1);
    assert.equal(lost.phase, 'Running');
    const again = generatePodStatus(input({ previous: lost }));
    assert.deepEqual(again.containerStatuses, lost.containerStatuses);
  });

  it('counts no restart for a lost container of a pod that is being deleted', () => {
    const going = pod();
    going.metadata.deletionTimestamp = '2025-03-01T11:59:00Z';
    const first = generatePodStatus(
      input({ pod: going, runtime: runtime([record('app', 'running')]) }),
    );
    const lost = generatePodStatus(input({ pod: going, previous: first }));
    assert.equal(lost.containerStatuses?.[0]?.restartCount, 0);
  });

  it('keeps how the last run ended when its record is collected', () => {
    const both = generatePodStatus(
      input({ runtime: runtime([record('app', 'running', { id: 'app-1' }), exited('app', 3)]) }),
    );
    const alone = generatePodStatus(
      input({ previous: both, runtime: runtime([record('app', 'running', { id: 'app-1' })]) }),
    );
    assert.equal(alone.containerStatuses?.[0]?.lastState.terminated?.exitCode, 3);
  });

  it('moves the end of a run to lastState when its successor runs and its record is gone', () => {
    const dead = generatePodStatus(input({ runtime: runtime([exited('app', 3)]) }));
    const next = generatePodStatus(
      input({ previous: dead, runtime: runtime([record('app', 'running', { id: 'app-1' })]) }),
    );
    assert.equal(
      next.containerStatuses?.[0]?.lastState.terminated?.containerID,
      'containerd://app-0',
    );
  });

  it('calls an unknown container killed only when it ran before', () => {
    const unknown = runtime([record('app', 'unknown')]);
    const [fresh] = containerStatuses(input({ runtime: unknown })).regular;
    assert.deepEqual(fresh?.state, { waiting: {} });
    const before = generatePodStatus(input({ runtime: runtime([record('app', 'running')]) }));
    const [lost] = containerStatuses(input({ runtime: unknown, previous: before })).regular;
    assert.deepEqual(lost?.state.terminated, {
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
    });
  });

  it('takes an init container without record for completed once regular ones were made', () => {
    const made = pod({ initContainers: [container('i')] });
    const { init } = containerStatuses(
      input({ pod: made, runtime: runtime([record('app', 'created')]) }),
    );
    assert.deepEqual(
      [init[0]?.ready, init[0]?.state.terminated?.exitCode, init[0]?.state.terminated?.reason],
      [true, 0, 'Completed'],
    );
  });

  it('shows an image that cannot be pulled', () => {
    const reasons = new Map([['app', { reason: 'ErrImagePull', message: 'no such host' }]]);
    const [app] = containerStatuses(input({ reasons })).regular;
    assert.deepEqual(app?.state, { waiting: { reason: 'ErrImagePull', message: 'no such host' } });
    assert.equal(app?.image, 'busybox');
  });

  it('shows no start failure for an init container that has passed', () => {
    const made = pod({ initContainers: [container('i')] });
    const reasons = new Map([['i', { reason: 'CrashLoopBackOff', message: '' }]]);
    const { init } = containerStatuses(
      input({ pod: made, runtime: runtime([exited('i', 0)]), reasons }),
    );
    assert.equal(init[0]?.state.terminated?.exitCode, 0);
  });

  it('joins the message of the runtime with the last words of the container', () => {
    const [app] = containerStatuses(
      input({
        runtime: runtime([exited('app', 1, 0, { message: 'runtime says' })]),
        terminationMessage: () => 'why\n',
      }),
    ).regular;
    assert.equal(app?.state.terminated?.message, 'runtime says: why\n');
  });

  it('shares 12288 bytes of messages among all containers, cutting no character', () => {
    const made = pod({
      containers: [container('app'), container('b')],
      initContainers: [container('i')],
    });
    const [app] = containerStatuses(
      input({
        pod: made,
        runtime: runtime([exited('app', 1)]),
        terminationMessage: () => `x${'ä'.repeat(4000)}`,
      }),
    ).regular;
    assert.equal(app?.state.terminated?.message, `x${'ä'.repeat(2047)}`);
  });

  it('is not started before the startup probe says so', () => {
    const made = pod({ containers: [container('app', { startupProbe: probe })] });
    const running = runtime([record('app', 'running')]);
    for (const [result, expected] of [
      [undefined, false],
      [false, false],
      [true, true],
    ] as const) {
      const [app] = containerStatuses(
        input({ pod: made, runtime: running, probes: ready(result, undefined) }),
      ).regular;
      assert.deepEqual([app?.started, app?.ready], [expected, expected], String(result));
    }
  });

  it('is not ready before the readiness probe says so, and keeps it while the agent restarts', () => {
    const made = pod({ containers: [container('app', { readinessProbe: probe })] });
    const running = runtime([record('app', 'running')]);
    const at = (result: boolean | undefined, previous = {}) =>
      generatePodStatus(
        input({ pod: made, runtime: running, previous, probes: ready(undefined, result) }),
      );
    assert.equal(at(undefined).containerStatuses?.[0]?.ready, false);
    const good = at(true);
    assert.equal(good.containerStatuses?.[0]?.ready, true);
    assert.equal(at(undefined, good).containerStatuses?.[0]?.ready, true);
    assert.equal(at(false, good).containerStatuses?.[0]?.ready, false);
    const successor = generatePodStatus(
      input({
        pod: made,
        previous: good,
        runtime: runtime([record('app', 'running', { id: 'app-1' })]),
      }),
    );
    assert.equal(successor.containerStatuses?.[0]?.ready, false);
  });

  it('shows the image as the runtime calls it, and what the runtime resolved it to', () => {
    const [app] = containerStatuses(
      input({ runtime: runtime([record('app', 'running')]) }),
    ).regular;
    assert.deepEqual(
      [app?.image, app?.imageID, app?.containerID],
      ['docker.io/library/busybox:latest', 'sha256:ref', 'containerd://app-0'],
    );
  });

  it('keeps a container that ended as it was when its record is gone', () => {
    const ended = generatePodStatus(input({ runtime: runtime([exited('app', 3, 2)]) }));
    const gone = generatePodStatus(input({ previous: ended }));
    assert.deepEqual(gone.containerStatuses, ended.containerStatuses);
  });

  it('says which mounts are read-only all the way down', () => {
    const mount = { name: 'r', mountPath: '/r', readOnly: true };
    const made = pod({ containers: [container('app', { volumeMounts: [mount] })] });
    const actual = { containerPath: '/r', hostPath: '/h', readonly: true, recursiveReadOnly: true };
    const running = runtime([record('app', 'running', { mounts: [actual] })]);
    const [app] = containerStatuses(input({ pod: made, runtime: running })).regular;
    assert.deepEqual(app?.volumeMounts, [{ ...mount, recursiveReadOnly: 'Enabled' }]);
  });

  it('shows resources, user and mounts', () => {
    const made = pod({
      containers: [
        container('app', {
          resources: { requests: { cpu: '100m' }, limits: { memory: '1Gi' } },
          volumeMounts: [
            { name: 'd', mountPath: '/d' },
            { name: 'r', mountPath: '/r', readOnly: true },
          ],
        }),
      ],
    });
    const [app] = containerStatuses(
      input({
        pod: made,
        runtime: runtime([
          record('app', 'running', { user: { uid: 1000, gid: 0, supplementalGroups: [0, 5] } }),
        ]),
      }),
    ).regular;
    assert.deepEqual(app?.resources, made.spec.containers[0]?.resources);
    assert.deepEqual(app?.allocatedResources, { cpu: '100m' });
    assert.deepEqual(app?.user?.linux, { uid: 1000, gid: 0, supplementalGroups: [0, 5] });
    assert.deepEqual(app?.volumeMounts, [
      { name: 'd', mountPath: '/d' },
      { name: 'r', mountPath: '/r', readOnly: true, recursiveReadOnly: 'Disabled' },
    ]);
  });

  it('takes the attempt for the restart count of a record without annotation', () => {
    const [app] = containerStatuses(
      input({
        runtime: runtime([
          record('app', 'running', { attempt: 2, annotations: { [Annotation.restartCount]: 'x' } }),
        ]),
      }),
    ).regular;
    assert.equal(app?.restartCount, 2);
  });
});
