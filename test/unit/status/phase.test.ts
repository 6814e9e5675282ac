import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import type { PodPhase, PodStatus } from '../../../src/api/status.ts';
import type { RuntimeContainerStatus } from '../../../src/runtime/model.ts';
import { generatePodStatus } from '../../../src/status/generate.ts';
import { container, exited, input, pod, record, runtime, sandbox } from './make.ts';

interface Row {
  what: string;
  pod: Pod;
  records: RuntimeContainerStatus[];
  previous?: PodStatus;
  terminal?: boolean;
  phase: PodPhase;
}

const two = { containers: [container('app'), container('b')] };
const withInit = { initContainers: [container('i')] };
const sidecar = container('side', { restartPolicy: 'Always' });
const slowSidecar = container('side', {
  restartPolicy: 'Always',
  startupProbe: { timeoutSeconds: 1, periodSeconds: 1, successThreshold: 1, failureThreshold: 3 },
});
const apiPod = (spec: Parameters<typeof pod>[0]): Pod => {
  const made = pod(spec);
  made.metadata.annotations = {};
  return made;
};

const ROWS: Row[] = [
  { what: 'nothing there', pod: pod(), records: [], phase: 'Pending' },
  { what: 'created only', pod: pod(), records: [record('app', 'created')], phase: 'Pending' },
  {
    what: 'one of two not started yet',
    pod: pod(two),
    records: [record('app', 'running')],
    phase: 'Pending',
  },
  {
    what: 'one runs, one has ended',
    pod: pod({ ...two, restartPolicy: 'Never' }),
    records: [record('app', 'running'), exited('b', 1)],
    phase: 'Running',
  },
  { what: 'ended, restarts', pod: pod(), records: [exited('app', 0)], phase: 'Running' },
  {
    what: 'failed, OnFailure',
    pod: pod({ restartPolicy: 'OnFailure' }),
    records: [exited('app', 1)],
    phase: 'Running',
  },
  {
    what: 'succeeded, OnFailure',
    pod: pod({ restartPolicy: 'OnFailure' }),
    records: [exited('app', 0)],
    phase: 'Succeeded',
  },
  {
    what: 'one succeeded, one failed, Never',
    pod: pod({ ...two, restartPolicy: 'Never' }),
    records: [exited('app', 0), exited('b', 1)],
    phase: 'Failed',
  },
  {
    what: 'the container restarts though the pod never does',
    pod: pod({
      restartPolicy: 'Never',
      containers: [container('app', { restartPolicy: 'Always' })],
    }),
    records: [exited('app', 1)],
    phase: 'Running',
  },
  {
    what: 'a rule restarts exit code 42 only',
    pod: pod({
      restartPolicy: 'Never',
      containers: [
        container('app', {
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
        }),
      ],
    }),
    records: [exited('app', 42)],
    phase: 'Running',
  },
  {
    what: 'init runs',
    pod: pod(withInit),
    records: [record('i', 'running')],
    phase: 'Pending',
  },
  {
    what: 'init failed, restarts',
    pod: pod(withInit),
    records: [exited('i', 1)],
    phase: 'Pending',
  },
  {
    what: 'init failed, Never',
    pod: pod({ ...withInit, restartPolicy: 'Never' }),
    records: [exited('i', 1)],
    phase: 'Failed',
  },
  {
    what: 'init killed for memory with exit 0, Never',
    pod: pod({ ...withInit, restartPolicy: 'Never' }),
    records: [exited('i', 0, 0, { reason: 'OOMKilled' })],
    phase: 'Failed',
  },
  {
    what: 'init passed, its record gone, container runs',
    pod: pod(withInit),
    records: [record('app', 'running')],
    phase: 'Running',
  },
  {
    what: 'sidecar holds back',
    pod: pod({ initContainers: [slowSidecar] }),
    records: [record('side', 'running')],
    phase: 'Pending',
  },
  {
    what: 'sidecar starts again beside a running container',
    pod: pod({ initContainers: [slowSidecar] }),
    records: [record('side', 'running'), record('app', 'running')],
    phase: 'Running',
  },
  {
    what: 'sidecar outlives the end of the others for a moment',
    pod: pod({ initContainers: [sidecar], restartPolicy: 'Never' }),
    records: [record('side', 'running'), exited('app', 0)],
    phase: 'Running',
  },
  {
    what: 'sidecar ended too, with an error that does not count',
    pod: pod({ initContainers: [sidecar], restartPolicy: 'Never' }),
    records: [exited('side', 143), exited('app', 0)],
    phase: 'Succeeded',
  },
  {
    what: 'static pod stopped from outside',
    pod: pod(),
    records: [exited('app', 0)],
    terminal: true,
    phase: 'Running',
  },
  {
    what: 'API pod stopped from outside, all well',
    pod: apiPod({}),
    records: [exited('app', 0)],
    terminal: true,
    phase: 'Succeeded',
  },
  {
    what: 'API pod stopped from outside by a kill',
    pod: apiPod({}),
    records: [exited('app', 137)],
    terminal: true,
    phase: 'Failed',
  },
  {
    what: 'failed before',
    pod: pod(),
    records: [record('app', 'running')],
    previous: { phase: 'Failed' },
    phase: 'Failed',
  },
];

describe('phase', () => {
  for (const row of ROWS) {
    it(`is ${row.phase}: ${row.what}`, () => {
      const status = generatePodStatus(
        input({
          pod: row.pod,
          runtime: runtime(row.records, [sandbox()]),
          previous: row.previous ?? {},
          terminal: row.terminal ?? false,
        }),
      );
      assert.equal(status.phase, row.phase);
    });
  }

  it('is Pending again while a new sandbox runs the init containers once more', () => {
    const made = pod(withInit);
    const before = generatePodStatus(
      input({ pod: made, runtime: runtime([record('app', 'running'), exited('i', 0)]) }),
    );
    const status = generatePodStatus(
      input({
        pod: made,
        previous: before,
        runtime: runtime(
          [record('i', 'running', { id: 'i-1', sandboxId: 's1' }), exited('app', 137)],
          [sandbox({ id: 's1' })],
        ),
      }),
    );
    assert.equal(status.phase, 'Pending');
    assert.equal(status.conditions?.find((c) => c.type === 'Initialized')?.status, 'True');
  });
});
