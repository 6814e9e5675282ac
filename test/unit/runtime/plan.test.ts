import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import type { RuntimePodStatus } from '../../../src/runtime/model.ts';
import { containerOf, podOf, recordOf, runtimeOf, sandboxOf } from '../../support/pods.ts';
import { plan } from './planned.ts';

const app = containerOf('app');
const gone = sandboxOf(0, { state: 'notready', ips: [] });

describe('a pod without init containers', () => {
  const rows: [string, Pod, RuntimePodStatus, string[]][] = [
    [
      'is new: a sandbox, then every container in order',
      podOf({ containers: [app, containerOf('log')] }),
      runtimeOf([], []),
      ['create sandbox 0', 'start regular app', 'start regular log'],
    ],
    ['runs: nothing to do', podOf(), runtimeOf([sandboxOf()], [recordOf(app, 'running')]), []],
    [
      'lost its container record: started again',
      podOf(),
      runtimeOf([sandboxOf()], []),
      ['start regular app'],
    ],
    [
      'has a container that was created but never started: removed first, never a second beside it',
      podOf(),
      runtimeOf([sandboxOf()], [recordOf(app, 'created')]),
      ['remove app-1', 'start regular app'],
    ],
    [
      'has a half-made container beside one that runs: removed, whatever it was for',
      podOf(),
      runtimeOf(
        [sandboxOf()],
        [recordOf(app, 'running', { at: 2 }), recordOf(app, 'created', { at: 1 })],
      ),
      ['remove app-1'],
    ],
    [
      'has a container in an unknown state: killed first',
      podOf(),
      runtimeOf([sandboxOf()], [recordOf(app, 'unknown')]),
      ['kill app-1 (unknown-state)', 'start regular app'],
    ],
    [
      'Always: a container that exited 0 runs again',
      podOf(),
      runtimeOf([sandboxOf()], [recordOf(app, 'exited')]),
      ['start regular app'],
    ],
    [
      'OnFailure: exit 1 runs again',
      podOf({ restartPolicy: 'OnFailure' }),
      runtimeOf([sandboxOf()], [recordOf(app, 'exited', { exitCode: 1 })]),
      ['start regular app'],
    ],
    [
      'OnFailure: exit 0 was the end, the sandbox goes',
      podOf({ restartPolicy: 'OnFailure' }),
      runtimeOf([sandboxOf()], [recordOf(app, 'exited')]),
      ['kill pod'],
    ],
    [
      'Never: one of two goes on, the ended one stays as it is',
      podOf({ restartPolicy: 'Never', containers: [app, containerOf('log')] }),
      runtimeOf([sandboxOf()], [recordOf(app, 'exited'), recordOf(containerOf('log'), 'running')]),
      [],
    ],
    [
      'its manifest names another image: replaced whatever the restart policy',
      podOf({ restartPolicy: 'Never', containers: [containerOf('app', { image: 'other:1' })] }),
      runtimeOf([sandboxOf()], [recordOf(app, 'running')]),
      ['kill app-1 (hash-changed)', 'start regular app'],
    ],
    [
      'dead records beyond the newest of a name go',
      podOf(),
      runtimeOf(
        [sandboxOf()],
        [
          recordOf(app, 'running', { at: 4 }),
          recordOf(app, 'exited', { at: 3 }),
          recordOf(app, 'exited', { at: 2 }),
          recordOf(app, 'exited', { at: 1 }),
        ],
      ),
      ['remove app-2 with logs', 'remove app-1 with logs'],
    ],
  ];
  for (const [name, pod, status, want] of rows) {
    it(name, () => assert.deepEqual(plan(pod, status), want));
  }
});

describe('a sandbox that serves no more', () => {
  it('died: everything is stopped, a new one is made, containers run again', () => {
    const status = runtimeOf([gone], [recordOf(app, 'running')]);
    const want = ['kill pod', 'create sandbox 1 (changed)', 'start regular app'];
    assert.deepEqual(plan(podOf(), status), want);
  });

  it('has no address: made anew, but not on the host network', () => {
    const bare = sandboxOf(0, { ips: [] });
    assert.deepEqual(plan(podOf(), runtimeOf([bare], [])), [
      'kill pod',
      'create sandbox 1 (changed)',
      'start regular app',
    ]);
    const host = sandboxOf(0, { ips: [], networkMode: 'node' });
    const pod = podOf({ hostNetwork: true });
    assert.deepEqual(plan(pod, runtimeOf([host], [recordOf(app, 'running')])), []);
  });

  it('is one of two that are ready: both go', () => {
    const status = runtimeOf([sandboxOf(0), sandboxOf(1)], [recordOf(app, 'running')]);
    assert.equal(plan(podOf(), status)[1], 'create sandbox 2 (changed)');
  });

  it('Never: a pod that ran once does not get a second sandbox', () => {
    const pod = podOf({ restartPolicy: 'Never' });
    assert.deepEqual(plan(pod, runtimeOf([gone], [recordOf(app, 'exited', { exitCode: 1 })])), []);
    assert.deepEqual(plan(pod, runtimeOf([gone], [])), [
      'kill pod',
      'create sandbox 1 (changed)',
      'start regular app',
    ]);
  });

  it('OnFailure: only what has not ended well runs again', () => {
    const log = containerOf('log');
    const pod = podOf({ restartPolicy: 'OnFailure', containers: [app, log] });
    const status = runtimeOf(
      [gone],
      [recordOf(app, 'exited'), recordOf(log, 'exited', { exitCode: 2 })],
    );
    const want = ['kill pod', 'create sandbox 1 (changed)', 'start regular log'];
    assert.deepEqual(plan(pod, status), want);
  });

  it('never takes an attempt that was tried before: its name may still be reserved', () => {
    assert.equal(plan(podOf(), runtimeOf([], []), {}, 0)[0], 'create sandbox 1');
    assert.equal(plan(podOf(), runtimeOf([gone], []), {}, 4)[1], 'create sandbox 5 (changed)');
  });

  it('is removed once a newer one serves and no record needs it', () => {
    const status = runtimeOf(
      [gone, sandboxOf(1)],
      [recordOf(app, 'running', { sandboxId: 'sandbox-1' })],
    );
    assert.deepEqual(plan(podOf(), status), ['remove sandbox-0']);
  });
});

describe('init containers', () => {
  const one = containerOf('one');
  const two = containerOf('two');
  const pod = podOf({ initContainers: [one, two] });
  const ended = (c: typeof one, exitCode = 0, at = 1) =>
    recordOf(c, 'exited', { exitCode, at, reason: exitCode === 0 ? 'Completed' : 'Error' });

  it('start one after the other, then the regular ones', () => {
    assert.deepEqual(plan(pod, runtimeOf([], [])), ['create sandbox 0', 'start init one']);
    assert.deepEqual(plan(pod, runtimeOf([sandboxOf()], [recordOf(one, 'running')])), []);
    assert.deepEqual(plan(pod, runtimeOf([sandboxOf()], [ended(one)])), ['start init two']);
    assert.deepEqual(plan(pod, runtimeOf([sandboxOf()], [ended(one), ended(two)])), [
      'start regular app',
    ]);
  });

  it('a failed one alone is run again, or ends the pod with Never', () => {
    const status = runtimeOf([sandboxOf()], [ended(one), ended(two, 1, 2)]);
    assert.deepEqual(plan(pod, status), ['start init two']);
    const never = podOf({ initContainers: [one, two], restartPolicy: 'Never' });
    assert.deepEqual(plan(never, status), ['kill pod']);
  });

  it('one killed for memory has failed, whatever its exit code', () => {
    const oom = recordOf(one, 'exited', { reason: 'OOMKilled' });
    assert.deepEqual(plan(pod, runtimeOf([sandboxOf()], [oom])), ['start init one']);
  });

  it('are not run again when their records vanish while the pod runs', () => {
    assert.deepEqual(plan(pod, runtimeOf([sandboxOf()], [recordOf(app, 'running')])), []);
  });

  it('run again from the first in a new sandbox, their old records removed', () => {
    const status = runtimeOf([gone], [ended(one), ended(two), recordOf(app, 'exited', { at: 2 })]);
    assert.deepEqual(plan(pod, status), [
      'kill pod',
      'remove one-1',
      'remove two-1',
      'create sandbox 1 (changed)',
      'start init one',
    ]);
  });
});

describe('sidecars', () => {
  const side = containerOf('side', { restartPolicy: 'Always' });
  const probed = containerOf('side', {
    restartPolicy: 'Always',
    startupProbe: {
      exec: { command: ['true'] },
      timeoutSeconds: 1,
      periodSeconds: 1,
      successThreshold: 1,
      failureThreshold: 3,
    },
  });

  it('gate what follows until they run', () => {
    const pod = podOf({ initContainers: [side] });
    assert.deepEqual(plan(pod, runtimeOf([], [])), ['create sandbox 0', 'start sidecar side']);
    assert.deepEqual(plan(pod, runtimeOf([sandboxOf()], [recordOf(side, 'running')])), [
      'start regular app',
    ]);
  });

  it('gate what follows until their startup probe succeeds', () => {
    const pod = podOf({ initContainers: [probed] });
    const status = runtimeOf([sandboxOf()], [recordOf(probed, 'running')]);
    assert.deepEqual(plan(pod, status), []);
    assert.deepEqual(plan(pod, status, { startupSucceeded: () => true }), ['start regular app']);
  });

  it('are started again beside the running pod', () => {
    const pod = podOf({ initContainers: [side] });
    const status = runtimeOf([sandboxOf()], [recordOf(side, 'exited'), recordOf(app, 'running')]);
    assert.deepEqual(plan(pod, status), ['start sidecar side']);
  });

  it('end with the last regular container', () => {
    const pod = podOf({ initContainers: [side], restartPolicy: 'Never' });
    const status = runtimeOf([sandboxOf()], [recordOf(side, 'running'), recordOf(app, 'exited')]);
    assert.deepEqual(plan(pod, status), ['kill pod']);
  });
});

describe('probes', () => {
  const status = runtimeOf([sandboxOf()], [recordOf(app, 'running')]);

  it('a failed liveness probe restarts the container, with Never it only ends it', () => {
    const failed = { livenessFailed: (id: string) => id === 'app-1' };
    assert.deepEqual(plan(podOf(), status, failed), ['kill app-1 (liveness)', 'start regular app']);
    const never = podOf({ restartPolicy: 'Never', containers: [app, containerOf('log')] });
    const both = runtimeOf(
      [sandboxOf()],
      [recordOf(app, 'running'), recordOf(containerOf('log'), 'running')],
    );
    assert.deepEqual(plan(never, both, failed), ['kill app-1 (liveness)']);
  });
});
