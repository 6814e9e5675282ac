import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { podBirth, podSummary } from '../../../src/cli/pod-summary.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { container, ended, pod, status, up, type PodParts } from '../server/support.ts';

const waiting = (reason?: string) => ({ waiting: reason === undefined ? {} : { reason } });
const ready = [{ type: 'Ready', status: 'True' as const }];
const initialized = [{ type: 'Initialized', status: 'True' as const }];
const two = { containers: [container('a'), container('b')] };
const withInit = { initContainers: [container('i'), container('j')] };
const withSidecar = { initContainers: [container('s', { restartPolicy: 'Always' })] };

const cases: [what: string, parts: PodParts, expected: string][] = [
  ['a pod nothing is known of', { status: {} }, '0/1 Unknown 0'],
  ['a pending pod', { status: { phase: 'Pending' } }, '0/1 Pending 0'],
  [
    'a pod whose container is made',
    {
      status: {
        phase: 'Pending',
        containerStatuses: [status('app', { state: waiting('ContainerCreating') })],
      },
    },
    '0/1 ContainerCreating 0',
  ],
  [
    'a running pod',
    { status: { phase: 'Running', containerStatuses: [up('app')] } },
    '1/1 Running 0',
  ],
  [
    'a running pod that is not ready',
    { status: { phase: 'Running', containerStatuses: [up('app', { ready: false })] } },
    '0/1 Running 0',
  ],
  [
    'a crash loop',
    {
      status: {
        phase: 'Running',
        containerStatuses: [
          status('app', {
            state: waiting('CrashLoopBackOff'),
            lastState: ended('app', 4),
            restartCount: 4,
          }),
        ],
      },
    },
    '0/1 CrashLoopBackOff 4',
  ],
  [
    'an image that cannot be had',
    {
      status: {
        phase: 'Pending',
        containerStatuses: [status('app', { state: waiting('ImagePullBackOff') })],
      },
    },
    '0/1 ImagePullBackOff 0',
  ],
  [
    'a container made and not started',
    { status: { phase: 'Pending', containerStatuses: [status('app', { state: waiting() })] } },
    '0/1 Pending 0',
  ],
  [
    'a completed pod',
    {
      status: {
        phase: 'Succeeded',
        containerStatuses: [status('app', { state: ended('app', 0, 0, 'Completed') })],
      },
    },
    '0/1 Completed 0',
  ],
  [
    'a failed pod',
    { status: { phase: 'Failed', containerStatuses: [status('app', { state: ended('app', 0) })] } },
    '0/1 Error 0',
  ],
  [
    'an exit without a reason',
    {
      status: {
        phase: 'Failed',
        containerStatuses: [status('app', { state: { terminated: { exitCode: 3 } } })],
      },
    },
    '0/1 ExitCode:3 0',
  ],
  [
    'a signal without a reason',
    {
      status: {
        phase: 'Failed',
        containerStatuses: [status('app', { state: { terminated: { exitCode: 137, signal: 9 } } })],
      },
    },
    '0/1 Signal:9 0',
  ],
  [
    'the first container that waits, over those that run',
    {
      spec: two,
      status: {
        phase: 'Running',
        containerStatuses: [status('a', { state: waiting('ErrImagePull') }), up('b')],
      },
    },
    '1/2 ErrImagePull 0',
  ],
  [
    'one completed and one running container of a ready pod',
    {
      spec: two,
      status: {
        phase: 'Running',
        conditions: ready,
        containerStatuses: [status('a', { state: ended('a', 0, 0, 'Completed') }), up('b')],
      },
    },
    '1/2 Running 0',
  ],
  [
    'one completed and one running container of a pod that is not ready',
    {
      spec: two,
      status: {
        phase: 'Running',
        containerStatuses: [status('a', { state: ended('a', 0, 0, 'Completed') }), up('b')],
      },
    },
    '1/2 NotReady 0',
  ],
  [
    'the first of two init containers running',
    {
      spec: withInit,
      status: {
        phase: 'Pending',
        initContainerStatuses: [
          up('i', { ready: false }),
          status('j', { state: waiting('PodInitializing') }),
        ],
        containerStatuses: [status('app', { state: waiting('PodInitializing') })],
      },
    },
    '0/1 Init:0/2 0',
  ],
  [
    'the second of two init containers waiting',
    {
      spec: withInit,
      status: {
        phase: 'Pending',
        initContainerStatuses: [
          status('i', { state: ended('i', 0, 0, 'Completed') }),
          status('j', { state: waiting('PodInitializing') }),
        ],
      },
    },
    '0/1 Init:1/2 0',
  ],
  [
    'an init container in a crash loop',
    {
      spec: withInit,
      status: {
        phase: 'Pending',
        initContainerStatuses: [
          status('i', {
            state: waiting('CrashLoopBackOff'),
            lastState: ended('i', 2),
            restartCount: 2,
          }),
        ],
      },
    },
    '0/1 Init:CrashLoopBackOff 2',
  ],
  [
    'an init container that failed',
    {
      spec: withInit,
      status: { phase: 'Failed', initContainerStatuses: [status('i', { state: ended('i', 0) })] },
    },
    '0/1 Init:Error 0',
  ],
  [
    'a sidecar, which counts for readiness and restarts',
    {
      spec: withSidecar,
      status: {
        phase: 'Running',
        initContainerStatuses: [up('s', { restartCount: 1, lastState: ended('s', 0) })],
        containerStatuses: [up('app', { restartCount: 2, lastState: ended('app', 1) })],
      },
    },
    '2/2 Running 3',
  ],
  [
    'restarts of init containers, which do not count later',
    {
      spec: withInit,
      status: {
        phase: 'Running',
        conditions: initialized,
        initContainerStatuses: [
          status('i', {
            state: ended('i', 1, 0, 'Completed'),
            lastState: ended('i', 0),
            restartCount: 1,
          }),
          status('j', { state: ended('j', 0, 0, 'Completed') }),
        ],
        containerStatuses: [up('app')],
      },
    },
    '1/1 Running 0',
  ],
  [
    'a pod that is ending',
    {
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: { phase: 'Running', containerStatuses: [up('app')] },
    },
    '1/1 Terminating 0',
  ],
  [
    'an ending pod that has ended',
    {
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: {
        phase: 'Succeeded',
        containerStatuses: [status('app', { state: ended('app', 0, 0, 'Completed') })],
      },
    },
    '0/1 Completed 0',
  ],
  [
    'a reason of the whole pod',
    { status: { phase: 'Failed', reason: 'Evicted' } },
    '0/1 Evicted 0',
  ],
];

describe('a pod summed up as kubectl does', () => {
  for (const [what, parts, expected] of cases) {
    it(`shows ${what}`, () => {
      const { ready, total, status, restarts } = podSummary(pod('web', parts));
      assert.equal(`${ready}/${total} ${status} ${restarts}`, expected);
    });
  }

  it('knows when it was restarted last', () => {
    const web = (finishedAt: string): Pod =>
      pod('web', {
        spec: two,
        status: {
          containerStatuses: [
            up('a', { restartCount: 1, lastState: { terminated: { exitCode: 0, finishedAt } } }),
            up('b', { restartCount: 1, lastState: ended('b', 0) }),
          ],
        },
      });
    const b = Date.parse('2026-01-01T00:00:10Z');
    assert.equal(podSummary(web('2026-01-01T00:00:05Z')).lastRestartMs, b);
    assert.equal(podSummary(web('2026-01-01T00:00:15Z')).lastRestartMs, b + 5000);
    assert.equal(podSummary(pod('web')).lastRestartMs, undefined);
  });

  it('takes its age from what there is', () => {
    const annotations = { 'kubernetes.io/config.seen': '2026-01-01T00:00:01Z' };
    assert.equal(podBirth(pod('web', { metadata: { annotations } })), '2026-01-01T00:00:01Z');
    const status = { startTime: '2026-01-01T00:00:02Z' };
    assert.equal(podBirth(pod('web', { status, metadata: { annotations } })), status.startTime);
    assert.equal(podBirth(pod('web')), undefined);
  });

  it('never shows more ready containers than there are, whatever the status says', () => {
    const state = fc.constantFrom(
      {},
      waiting('CrashLoopBackOff'),
      waiting(),
      ended('x', 0),
      ended('x', 0, 0, 'Completed'),
      { running: {} },
    );
    const one = (name: string) =>
      fc
        .tuple(state, fc.boolean(), fc.nat({ max: 9 }))
        .map(([state, ready, restartCount]) =>
          status(name, { state, ready, started: ready, restartCount }),
        );
    fc.assert(
      fc.property(one('a'), one('b'), one('i'), one('s'), fc.boolean(), (a, b, i, s, done) => {
        const web = pod('web', {
          spec: {
            ...two,
            initContainers: [container('i'), container('s', { restartPolicy: 'Always' })],
          },
          status: {
            phase: 'Running',
            containerStatuses: [a, b],
            initContainerStatuses: [i, s],
            conditions: done ? initialized : [],
          },
        });
        const { ready, total, status, restarts } = podSummary(web);
        assert.ok(ready <= total && total === 3);
        assert.ok(restarts <= a.restartCount + b.restartCount + i.restartCount + s.restartCount);
        assert.notEqual(status, '');
      }),
    );
  });
});
