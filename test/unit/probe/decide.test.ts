import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod } from '../../../src/api/pod.ts';
import type { ContainerStatus, PodStatus } from '../../../src/api/status.ts';
import type { Look, ResultWrite, WorkerMemory } from '../../../src/probe/decide.ts';
import { FRESH, conclude, decide } from '../../../src/probe/decide.ts';
import type { ProbeKind } from '../../../src/probe/model.ts';
import { containerOf, podOf } from '../../support/pods.ts';
import { probe } from './support.ts';

const START = Date.UTC(2026, 0, 1);

function statusOf(more: Partial<ContainerStatus> = {}, pod: Partial<PodStatus> = {}): PodStatus {
  const container: ContainerStatus = {
    ...{ name: 'app', image: 'i', imageID: '', restartCount: 0, lastState: {} },
    ...{ ready: false, started: true, containerID: 'containerd://a' },
    state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
    ...more,
  };
  return { phase: 'Running', containerStatuses: [container], ...pod };
}

interface Setting {
  kind?: ProbeKind;
  status?: PodStatus;
  memory?: Partial<WorkerMemory>;
  pod?: Pod;
  container?: Partial<Container>;
  initialDelaySeconds?: number;
  /** Milliseconds after 2026 began, on both clocks. */
  at?: number;
  wall?: number;
}

function look(setting: Setting): ReturnType<typeof decide> {
  const { kind = 'readiness', at = 60_000, wall = at, initialDelaySeconds = 0 } = setting;
  const container = containerOf('app', setting.container);
  const input: Look = {
    kind,
    pod: setting.pod ?? podOf({ containers: [container] }),
    container,
    probe: probe({ initialDelaySeconds }),
    status: 'status' in setting ? setting.status : statusOf(),
    monotonicMs: at,
    wallMs: START + wall,
  };
  return decide(input, { ...FRESH, ...setting.memory });
}

const known = { containerId: 'a', runningSinceMs: 0 };
const terminated = (exitCode: number): ContainerStatus['state'] => ({ terminated: { exitCode } });
const never = podOf({ restartPolicy: 'Never' });
const deleted: Pod = podOf();
deleted.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';

describe('one iteration', () => {
  const rows: [string, Setting, 'skip' | 'probe' | 'exit', ResultWrite[]][] = [
    ['no status yet', { status: undefined }, 'skip', []],
    ['the pod has failed', { status: statusOf({}, { phase: 'Failed' }) }, 'exit', []],
    ['the pod has succeeded', { status: statusOf({}, { phase: 'Succeeded' }) }, 'exit', []],
    ['no status of the container', { status: { phase: 'Pending' } }, 'skip', []],
    ['no container id', { status: statusOf({ containerID: '' }) }, 'skip', []],
    ['a new id, readiness', {}, 'probe', [{ id: 'a', result: false }]],
    ['a new id, liveness', { kind: 'liveness' }, 'probe', [{ id: 'a', result: true }]],
    [
      'a new id, startup',
      { kind: 'startup', status: statusOf({ started: false }) },
      'probe',
      [{ id: 'a', result: undefined }],
    ],
    [
      'reported ready before the agent restarted',
      { status: statusOf({ ready: true }) },
      'probe',
      [{ id: 'a', result: true }],
    ],
    [
      'reported started before the agent restarted',
      { kind: 'startup' },
      'skip',
      [{ id: 'a', result: true }],
    ],
    [
      'another id forgets the old one and ends the hold',
      { memory: { containerId: 'old', onHold: true, runningSinceMs: 0 } },
      'probe',
      [
        { id: 'old', result: undefined },
        { id: 'a', result: false },
      ],
    ],
    ['on hold', { kind: 'liveness', memory: { ...known, onHold: true } }, 'skip', []],
    [
      'ended and to be restarted',
      { memory: known, status: statusOf({ state: terminated(1) }) },
      'skip',
      [{ id: 'a', result: false }],
    ],
    [
      'ended for good',
      { memory: known, pod: never, status: statusOf({ state: terminated(1) }) },
      'exit',
      [{ id: 'a', result: false }],
    ],
    [
      'ended well under OnFailure',
      {
        memory: known,
        pod: podOf({ restartPolicy: 'OnFailure' }),
        status: statusOf({ state: terminated(0) }),
      },
      'exit',
      [{ id: 'a', result: false }],
    ],
    [
      'ended for good, but for its own restart policy',
      {
        memory: known,
        pod: never,
        container: { restartPolicy: 'Always' },
        status: statusOf({ state: terminated(1) }),
      },
      'skip',
      [{ id: 'a', result: false }],
    ],
    [
      'created and not started: liveness does not count it as failed',
      { kind: 'liveness', memory: known, status: statusOf({ state: { waiting: {} } }) },
      'skip',
      [],
    ],
    [
      'being deleted, liveness',
      { kind: 'liveness', memory: known, pod: deleted },
      'exit',
      [{ id: 'a', result: true }],
    ],
    ['being deleted, readiness goes on', { memory: known, pod: deleted }, 'probe', []],
    ['within the initial delay', { memory: known, initialDelaySeconds: 61 }, 'skip', []],
    ['after the initial delay', { memory: known, initialDelaySeconds: 60 }, 'probe', []],
    ['whole seconds only', { memory: known, at: 60_999, initialDelaySeconds: 61 }, 'skip', []],
    ['startup once started', { kind: 'startup', memory: known }, 'skip', []],
    [
      'readiness before it has started',
      { memory: known, status: statusOf({ started: false }) },
      'skip',
      [],
    ],
    [
      'liveness before it has started',
      { kind: 'liveness', memory: known, status: statusOf({ started: false }) },
      'skip',
      [],
    ],
    [
      'startup before it has started',
      { kind: 'startup', memory: known, status: statusOf({ started: false }) },
      'probe',
      [],
    ],
  ];
  for (const [name, setting, next, writes] of rows) {
    it(name, () => {
      const decision = look(setting);
      assert.equal(decision.next, next);
      assert.deepEqual(decision.writes, writes);
    });
  }

  it('ends the hold with a new container', () => {
    const { memory } = look({ memory: { containerId: 'old', onHold: true, run: 2, last: true } });
    assert.deepEqual(
      [memory.containerId, memory.onHold, memory.run, memory.last],
      ['a', false, 2, true],
    );
  });

  it('finds a sidecar among the init containers', () => {
    const { containerStatuses, ...rest } = statusOf();
    const status = { ...rest, initContainerStatuses: containerStatuses ?? [] };
    assert.equal(look({ status }).next, 'probe');
  });
});

describe('the initial delay and the wall clock', () => {
  it('is not skipped because the clock jumped from 1970', () => {
    // Looked at 1 s ago, when the container was not there: it cannot be 50 years old.
    const first = look({
      initialDelaySeconds: 10,
      status: statusOf({ state: { running: { startedAt: '1970-01-01T00:00:10Z' } } }),
      memory: { lookedAtMs: 59_000 },
    });
    assert.equal(first.next, 'skip');
    assert.equal(look({ initialDelaySeconds: 10, memory: first.memory, at: 69_000 }).next, 'probe');
  });

  it('does not grow because the clock was set back', () => {
    const first = look({ initialDelaySeconds: 10, at: 60_000, wall: -3_600_000 });
    assert.equal(first.next, 'skip');
    const later = { memory: first.memory, initialDelaySeconds: 10, wall: -3_600_000 };
    assert.equal(look({ ...later, at: 69_900 }).next, 'skip');
    assert.equal(look({ ...later, at: 70_000 }).next, 'probe');
  });

  it('counts from the first look where the runtime tells no start', () => {
    const status = statusOf({ state: { running: {} } });
    const first = look({ initialDelaySeconds: 5, status });
    assert.equal(first.next, 'skip');
    const later = { initialDelaySeconds: 5, status, memory: first.memory };
    assert.equal(look({ ...later, at: 65_000 }).next, 'probe');
  });
});

describe('thresholds', () => {
  /** Results in turn; the numbers of those that were stored, and whether the worker is on hold then. */
  function run(
    kind: ProbeKind,
    thresholds: { failure?: number; success?: number },
    results: string,
  ): { stored: number[]; onHold: boolean; run: number } {
    const { failure = 3, success = 1 } = thresholds;
    const spec = probe({ failureThreshold: failure, successThreshold: success });
    let memory: WorkerMemory = FRESH;
    const stored: number[] = [];
    [...results].forEach((result, i) => {
      const conclusion = conclude(kind, spec, memory, result === '+');
      memory = conclusion.memory;
      if (conclusion.store) stored.push(i + 1);
    });
    return { stored, onHold: memory.onHold, run: memory.run };
  }

  const rows: [string, ProbeKind, { failure?: number; success?: number }, string, object][] = [
    ['fewer failures', 'readiness', {}, '--', { stored: [], onHold: false, run: 2 }],
    ['enough failures', 'readiness', {}, '---', { stored: [3], onHold: false, run: 3 }],
    ['a success between', 'readiness', {}, '--+--', { stored: [3], onHold: false, run: 2 }],
    [
      'two successes needed',
      'readiness',
      { success: 2 },
      '+-++',
      { stored: [4], onHold: false, run: 2 },
    ],
    ['liveness success', 'liveness', {}, '+', { stored: [1], onHold: false, run: 1 }],
    [
      'liveness failure holds',
      'liveness',
      { failure: 2 },
      '--',
      { stored: [2], onHold: true, run: 0 },
    ],
    ['startup success holds', 'startup', {}, '--+', { stored: [3], onHold: true, run: 0 }],
    [
      'startup failure holds',
      'startup',
      { failure: 1 },
      '-',
      { stored: [1], onHold: true, run: 0 },
    ],
  ];
  for (const [name, kind, thresholds, results, expected] of rows) {
    it(name, () => assert.deepEqual(run(kind, thresholds, results), expected));
  }
});
