/** Order and addresses of a pod's status, spec pleg.md §3.3 and §3.4. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SandboxPhase, SandboxStatus } from '../../../src/cri/model.ts';
import { podStatus } from '../../../src/pleg/inspect.ts';
import { emptyRuntimeStatus, type RuntimeContainerStatus } from '../../../src/runtime/model.ts';

const pod = { uid: 'u', name: 'web', namespace: 'default' };
const cached = { ...emptyRuntimeStatus('u'), ips: ['10.0.0.9'] };

function sandbox(id: string, state: SandboxPhase, attempt: number, ips: string[]): SandboxStatus {
  return {
    id,
    metadata: { ...pod, attempt },
    state,
    createdAt: BigInt(attempt),
    ips,
    networkMode: 'pod',
    labels: {},
    annotations: {},
    runtimeHandler: '',
  };
}

const addresses: [string, SandboxStatus[], string[]][] = [
  ['of the ready sandbox', [sandbox('a', 'ready', 0, ['10.0.0.1'])], ['10.0.0.1']],
  ['the last known when the sandbox is gone', [], ['10.0.0.9']],
  [
    'the last known when the sandbox is not ready, whatever it says',
    [sandbox('a', 'notready', 0, ['10.0.0.1'])],
    ['10.0.0.9'],
  ],
  ['none when a ready sandbox has none', [sandbox('a', 'ready', 0, [])], []],
  [
    'of the newest sandbox only',
    [sandbox('a', 'ready', 0, ['10.0.0.1']), sandbox('b', 'ready', 1, ['10.0.0.2', 'fd00::2'])],
    ['10.0.0.2', 'fd00::2'],
  ],
  [
    'none when an older sandbox is ready and the newest is not',
    [sandbox('a', 'ready', 0, ['10.0.0.1']), sandbox('b', 'notready', 1, [])],
    [],
  ],
];
for (const [what, sandboxes, expected] of addresses) {
  test(`addresses: ${what}`, () => {
    assert.deepEqual(podStatus(pod, sandboxes, [], cached).ips, expected);
  });
}

test('sandboxes by attempt then creation, containers by creation, newest first', () => {
  const sandboxes = [
    { ...sandbox('old', 'notready', 0, []), createdAt: 99n },
    { ...sandbox('twin-1', 'notready', 1, []), createdAt: 1n },
    { ...sandbox('twin-2', 'notready', 1, []), createdAt: 2n },
  ];
  const containers = [3n, 10n, 7n].map(
    (createdAt) => ({ id: String(createdAt), createdAt }) as RuntimeContainerStatus,
  );
  const status = podStatus(pod, sandboxes, containers, cached);
  assert.deepEqual(
    status.sandboxes.map((s) => s.id),
    ['twin-2', 'twin-1', 'old'],
  );
  assert.deepEqual(
    status.containers.map((c) => c.id),
    ['10', '7', '3'],
  );
});
