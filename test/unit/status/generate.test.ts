import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generatePodStatus, isPastActiveDeadline } from '../../../src/status/generate.ts';
import {
  NOW,
  NOW_TEXT,
  STARTED_TEXT,
  condition,
  container,
  exited,
  input,
  pod,
  record,
  runtime,
  sandbox,
} from './make.ts';

const crash = new Map([
  ['app', { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container=app' }],
]);

describe('generatePodStatus', () => {
  it('shows a running pod as the API has it', () => {
    const status = generatePodStatus(input({ runtime: runtime([record('app', 'running')]) }));
    assert.equal(status.phase, 'Running');
    assert.equal(status.qosClass, 'BestEffort');
    assert.equal(status.startTime, NOW_TEXT);
    assert.deepEqual([status.podIP, status.podIPs], ['10.88.0.5', [{ ip: '10.88.0.5' }]]);
    assert.deepEqual([status.hostIP, status.hostIPs], ['192.0.2.10', [{ ip: '192.0.2.10' }]]);
    assert.deepEqual(
      status.conditions?.map((c) => [c.type, c.status]),
      ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(
        (type) => [type, 'True'],
      ),
    );
    assert.deepEqual(status.containerStatuses, [
      {
        name: 'app',
        state: { running: { startedAt: STARTED_TEXT } },
        lastState: {},
        ready: true,
        restartCount: 0,
        image: 'docker.io/library/busybox:latest',
        imageID: 'sha256:ref',
        containerID: 'containerd://app-0',
        started: true,
        resources: {},
      },
    ]);
  });

  it('shows a pod before its sandbox as waiting', () => {
    const status = generatePodStatus(input({ runtime: runtime([], []) }));
    assert.equal(status.phase, 'Pending');
    assert.deepEqual(status.containerStatuses?.[0]?.state, {
      waiting: { reason: 'ContainerCreating' },
    });
    assert.equal(condition(status, 'PodReadyToStartContainers').status, 'False');
    const ready = condition(status, 'Ready');
    assert.deepEqual(
      [ready.status, ready.reason, ready.message],
      ['False', 'ContainersNotReady', 'containers with unready status: [app]'],
    );
    assert.equal('podIP' in status, false);
  });

  it('keeps start time and transition times until something flips', () => {
    const first = generatePodStatus(input({ runtime: runtime([record('app', 'running')]) }));
    const later = generatePodStatus(
      input({ runtime: runtime([exited('app', 1)]), previous: first, nowMs: NOW + 60_000 }),
    );
    assert.equal(later.startTime, first.startTime);
    assert.equal(condition(later, 'Ready').lastTransitionTime, '2025-03-01T12:01:00Z');
    assert.equal(condition(later, 'PodScheduled').lastTransitionTime, NOW_TEXT);
  });

  it('shows a pending back-off with the run that crashed', () => {
    const status = generatePodStatus(
      input({ runtime: runtime([exited('app', 3, 1), exited('app', 3, 0)]), reasons: crash }),
    );
    const [app] = status.containerStatuses ?? [];
    assert.equal(status.phase, 'Running');
    assert.equal(app?.restartCount, 1);
    assert.equal(app?.state.waiting?.reason, 'CrashLoopBackOff');
    assert.equal(app?.lastState.terminated?.containerID, 'containerd://app-1');
    assert.equal(app?.state.terminated, undefined);
  });

  it('shows how a container ended while no back-off is known', () => {
    const before = generatePodStatus(
      input({ runtime: runtime([exited('app', 3, 1)]), reasons: crash }),
    );
    const status = generatePodStatus(
      input({ runtime: runtime([exited('app', 3, 1)]), previous: before }),
    );
    const [app] = status.containerStatuses ?? [];
    assert.deepEqual(app?.state.terminated, {
      exitCode: 3,
      reason: 'Error',
      startedAt: STARTED_TEXT,
      finishedAt: '2025-03-01T11:54:20Z',
      containerID: 'containerd://app-1',
    });
    // The same run is not shown twice.
    assert.deepEqual(app?.lastState, {});
  });

  it('shows no start failure for a container that will not be started', () => {
    const status = generatePodStatus(
      input({
        pod: pod({ restartPolicy: 'Never' }),
        runtime: runtime([exited('app', 7)]),
        reasons: crash,
      }),
    );
    assert.equal(status.containerStatuses?.[0]?.state.terminated?.exitCode, 7);
    assert.equal(status.phase, 'Failed');
    assert.equal(condition(status, 'Ready').reason, 'PodFailed');
  });

  it('says Completed for a pod that did its work, and stays so', () => {
    const never = pod({ restartPolicy: 'Never' });
    const done = generatePodStatus(input({ pod: never, runtime: runtime([exited('app', 0)]) }));
    assert.equal(done.phase, 'Succeeded');
    assert.equal(condition(done, 'Ready').reason, 'PodCompleted');
    assert.deepEqual(
      [condition(done, 'Initialized').status, condition(done, 'Initialized').reason],
      ['True', 'PodCompleted'],
    );
    const gone = generatePodStatus(input({ pod: never, runtime: runtime([], []), previous: done }));
    assert.equal(gone.phase, 'Succeeded');
    assert.equal(gone.containerStatuses?.[0]?.state.terminated?.exitCode, 0);
    assert.equal(gone.podIP, '10.88.0.5');
  });

  it('fails a pod past its deadline, with its reason, for good', () => {
    const limited = pod({ activeDeadlineSeconds: 5 });
    const running = runtime([record('app', 'running')]);
    const first = generatePodStatus(input({ pod: limited, runtime: running }));
    assert.equal(first.phase, 'Running');
    const over = generatePodStatus(
      input({ pod: limited, runtime: running, previous: first, nowMs: NOW + 6000 }),
    );
    assert.deepEqual(
      [over.phase, over.reason, over.message],
      [
        'Failed',
        'DeadlineExceeded',
        'Pod was active on the node longer than the specified deadline',
      ],
    );
    const after = generatePodStatus(
      input({ pod: limited, runtime: runtime([exited('app', 0)]), previous: over, nowMs: NOW }),
    );
    assert.deepEqual([after.phase, after.reason], ['Failed', 'DeadlineExceeded']);
  });

  it('lets a monotonic count of the active time overrule the wall clock', () => {
    const limited = pod({ activeDeadlineSeconds: 5 });
    const status = generatePodStatus(
      input({
        pod: limited,
        runtime: runtime([record('app', 'running')]),
        previous: { startTime: '1970-01-01T00:00:03Z' },
        activeMs: 4999,
      }),
    );
    assert.equal(status.phase, 'Running');
    assert.equal(isPastActiveDeadline(limited, 5000), true);
    assert.equal(isPastActiveDeadline(pod(), 1e12), false);
  });

  it('gives a pod on the host network the addresses of the host, primary family first', () => {
    const status = generatePodStatus(
      input({
        pod: pod({ hostNetwork: true }),
        runtime: runtime([record('app', 'running')], [sandbox({ ips: [], networkMode: 'node' })]),
        nodeIps: ['2001:db8::1', '192.0.2.10'],
      }),
    );
    assert.equal(status.podIP, '2001:db8::1');
    assert.deepEqual(status.podIPs, [{ ip: '2001:db8::1' }, { ip: '192.0.2.10' }]);
    assert.equal(condition(status, 'PodReadyToStartContainers').status, 'True');
  });

  it('shows one pod address per family', () => {
    const ips = ['10.88.0.5', 'fd00::5', '10.88.0.6'];
    const status = generatePodStatus(
      input({ runtime: runtime([record('app', 'running')], [sandbox({ ips })]) }),
    );
    assert.deepEqual(status.podIPs, [{ ip: '10.88.0.5' }, { ip: 'fd00::5' }]);
  });

  it('calls a container without an end killed once its pod is terminated', () => {
    const status = generatePodStatus(
      input({
        runtime: runtime([record('app', 'unknown'), exited('b', 0)]),
        pod: pod({ containers: [container('app'), container('b')] }),
        terminal: true,
      }),
    );
    assert.deepEqual(
      status.containerStatuses?.map((s) => [
        s.state.terminated?.exitCode,
        s.state.terminated?.reason,
      ]),
      [
        [137, 'ContainerStatusUnknown'],
        [0, 'Completed'],
      ],
    );
  });

  it('leaves containers waiting that never had their turn when their pod ended', () => {
    const status = generatePodStatus(
      input({
        pod: pod({ restartPolicy: 'Never', initContainers: [container('i'), container('j')] }),
        runtime: runtime([exited('i', 9)]),
        terminal: true,
      }),
    );
    assert.equal(status.phase, 'Failed');
    assert.equal(status.initContainerStatuses?.[0]?.state.terminated?.exitCode, 9);
    assert.equal(status.initContainerStatuses?.[1]?.state.waiting?.reason, 'PodInitializing');
    assert.equal(status.containerStatuses?.[0]?.state.waiting?.reason, 'PodInitializing');
  });

  it('forces a pod of an API server that was ended before its time to Failed', () => {
    const api = pod();
    api.metadata.annotations = {};
    const status = generatePodStatus(input({ pod: api, runtime: runtime([], []), terminal: true }));
    assert.equal(status.phase, 'Failed');
  });
});
