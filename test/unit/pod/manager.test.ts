import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import type { EventRecorder } from '../../../src/api/event.ts';
import type { PodStatus } from '../../../src/api/status.ts';
import { AdmissionGate } from '../../../src/pod/admission-gate.ts';
import type { AdmissionNode } from '../../../src/pod/admission.ts';
import { PodManager } from '../../../src/pod/manager.ts';
import type { DesiredPod, PodRef } from '../../../src/pod/ports.ts';
import type { SyncResult } from '../../../src/pod/sync.ts';
import type { RuntimePodStatus } from '../../../src/runtime/model.ts';
import { emptyRuntimeStatus } from '../../../src/runtime/model.ts';
import { createLogger } from '../../../src/util/log.ts';
import { TaskGroup } from '../../../src/util/task-group.ts';
import { admissionNodeOf } from '../../support/admission.ts';
import { ManualClock, settle } from '../../support/clock.ts';
import { containerOf, podOf, recordOf, runtimeOf, sandboxOf } from '../../support/pods.ts';

const settled: SyncResult = { kind: 'settled', retryMs: undefined };

/** A world in which a pod runs once it was synced and stops when a test lets it. */
class World {
  readonly clock = new ManualClock();
  readonly running = new Set<string>();
  readonly log: string[] = [];
  readonly statuses = new Map<string, PodStatus>();
  readonly events: string[] = [];
  readonly rejections: string[] = [];
  readonly node: AdmissionNode;
  leftovers: PodRef[] = [];
  mayBeWanted = false;
  results = new Map<string, () => SyncResult>();
  /** What passes wait for. */
  busy: Promise<void> = Promise.resolve();
  /** What is known of the runtime. */
  known: RuntimePodStatus | undefined;
  /** Uids of pods that run before the agent starts. */
  readonly found = new Set<string>();
  /** Uids whose stop does not end before `letStop`. */
  readonly stubborn = new Map<string, () => void>();
  readonly failures = new Map<string, number>();
  readonly tasks = new TaskGroup({
    onError: (name, error) => assert.fail(`${name}: ${String(error)}`),
  });
  readonly manager: PodManager;

  constructor(node: Partial<AdmissionNode> = {}) {
    this.node = admissionNodeOf(node);
    const statuses = {
      get: (uid: string) => this.statuses.get(uid),
      restore: (uid: string) => this.statuses.get(uid),
      set: (pod: Pod, status: PodStatus) => Boolean(this.statuses.set(pod.metadata.uid, status)),
      remove: (uid: string) => void this.statuses.delete(uid),
    };
    const logger = createLogger({ sink: { write: () => true }, level: 'error', wall: () => 0 });
    const runtimeView = {
      getNewerThan: (uid: string) => Promise.resolve(emptyRuntimeStatus(uid)),
      current: () => this.known,
      relistNow: () => undefined,
    };
    const events: EventRecorder = {
      event: (target, _, reason) => void this.events.push(`${reason} ${target.name}`),
    };
    this.manager = new PodManager({
      worker: {
        sync: {
          sync: async (pod) => {
            await this.busy;
            return this.#sync(pod);
          },
          refresh: (pod, _memory, _runtime, terminal) => {
            if (!terminal) this.log.push(`refresh ${pod.metadata.uid}`);
            return Promise.resolve({});
          },
        },
        end: {
          stop: (ref) => this.#stop(ref.uid),
          release: (ref) => Promise.resolve(void this.log.push(`release ${ref.uid}`)),
          purge: (ref) => Promise.resolve(void this.log.push(`purge ${ref.uid}`)),
        },
        runtimeView,
        statuses,
        clock: this.clock,
        random: () => 0,
        logger,
        syncFrequencyMs: 60_000,
      },
      statuses,
      admission: new AdmissionGate({
        ...{ node: this.node, statuses, events, clock: this.clock },
        isRunning: (uid) => this.found.has(uid),
        rejections: { inc: (labels) => void this.rejections.push(labels?.['reason'] ?? '') },
      }),
      events,
      logger,
      tasks: this.tasks,
      leftovers: () => Promise.resolve(this.leftovers),
      mayBeWanted: () => this.mayBeWanted,
    });
  }

  letStop(uid: string): void {
    this.stubborn.get(uid)?.();
    this.stubborn.delete(uid);
  }

  #sync(pod: Pod): SyncResult {
    const { uid } = pod.metadata;
    const failures = this.failures.get(uid) ?? 0;
    if (failures > 0) {
      this.failures.set(uid, failures - 1);
      this.log.push(`fail ${uid}`);
      return { kind: 'failed', error: new Error('no'), networkNotReady: false };
    }
    if (!this.running.has(uid)) this.log.push(`start ${uid}`);
    this.running.add(uid);
    return this.results.get(uid)?.() ?? settled;
  }

  async #stop(uid: string): Promise<ReturnType<typeof emptyRuntimeStatus>> {
    this.log.push(`stop ${uid}`);
    if (this.stubborn.has(uid))
      await new Promise<void>((resolve) => this.stubborn.set(uid, resolve));
    this.running.delete(uid);
    return emptyRuntimeStatus(uid);
  }
}

function desired(
  uid: string,
  more: Partial<DesiredPod> & { name?: string; hostPort?: number } = {},
): DesiredPod {
  const { name = 'web-edge1', hostPort, ...rest } = more;
  const ports =
    hostPort === undefined ? [] : [{ containerPort: 80, hostPort, protocol: 'TCP' as const }];
  const pod = podOf({ containers: [containerOf('app', { ports })] }, uid, name);
  return { pod, file: `/m/${name}.yaml`, order: 0, warnings: [], ...rest };
}

async function world(
  body: (w: World) => Promise<void>,
  node: Partial<AdmissionNode> = {},
): Promise<void> {
  const w = new World(node);
  try {
    await w.manager.begin([]);
    await body(w);
  } finally {
    for (const uid of w.stubborn.keys()) w.letStop(uid);
    await w.tasks.stop();
  }
}

describe('PodManager', () => {
  it('runs what is wanted and removes what is not, every trace of it', () =>
    world(async (w) => {
      w.manager.update([desired('a'), desired('b', { name: 'other' })]);
      await settle();
      assert.deepEqual([...w.running], ['a', 'b']);
      w.manager.update([desired('b', { name: 'other' })]);
      await settle(4);
      assert.deepEqual(w.log.slice(2), ['stop a', 'release a', 'purge a']);
      assert.deepEqual([...w.running], ['b']);
    }));

  it('starts a successor of the same name only when its predecessor has ended', () =>
    world(async (w) => {
      w.manager.update([desired('v1')]);
      await settle();
      w.stubborn.set('v1', () => undefined);
      w.manager.update([desired('v2')]);
      await settle(4);
      assert.deepEqual([...w.running], ['v1']);
      const shown = w.manager
        .pods()
        .map((p) => [p.metadata.uid, Boolean(p.metadata.deletionTimestamp)]);
      assert.deepEqual(shown, [
        ['v2', false],
        ['v1', true],
      ]);
      w.letStop('v1');
      await settle(6);
      assert.deepEqual(w.log.slice(0, 3), ['start v1', 'stop v1', 'release v1']);
      assert.deepEqual(w.log.slice(3).sort(), ['purge v1', 'start v2']);
    }));

  it('makes a pod wait for the host port of one that is ending under another name', () =>
    world(async (w) => {
      w.manager.update([desired('old', { hostPort: 4444 })]);
      await settle();
      w.stubborn.set('old', () => undefined);
      w.manager.update([desired('new', { name: 'renamed', file: '/m/x.yaml', hostPort: 4444 })]);
      await settle(4);
      assert.deepEqual([...w.running], ['old']);
      w.letStop('old');
      await settle(6);
      assert.deepEqual([...w.running], ['new']);
    }));

  it('runs a pod again whose manifest came back while it was ending', () =>
    world(async (w) => {
      w.manager.update([desired('a')]);
      await settle();
      w.stubborn.set('a', () => undefined);
      w.manager.update([]);
      await settle();
      w.manager.update([desired('a')]);
      w.letStop('a');
      await settle(8);
      assert.deepEqual(w.log, ['start a', 'stop a', 'release a', 'purge a', 'start a']);
    }));

  it('keeps the records of a pod that ended by itself until its manifest goes', () =>
    world(async (w) => {
      w.results.set('a', () => ({ kind: 'terminal' }));
      w.manager.update([desired('a')]);
      await settle(6);
      assert.deepEqual(w.log, ['start a', 'stop a', 'release a']);
      assert.deepEqual([...w.manager.counts()], [['completed', 1]]);
      w.manager.update([]);
      await settle(4);
      assert.deepEqual(w.log.at(-1), 'purge a');
      assert.deepEqual(w.manager.pods(), []);
    }));

  it('wakes the pods that refer to an object that changed, and no others', () =>
    world(async (w) => {
      const envFrom = [{ configMapRef: { name: 'cm' } }];
      const refers = podOf({ containers: [containerOf('app', { envFrom })] }, 'a');
      w.failures.set('a', 1);
      w.failures.set('b', 1);
      w.manager.update([{ ...desired('a'), pod: refers }, desired('b', { name: 'other' })]);
      await settle();
      assert.deepEqual(w.log, ['fail a', 'fail b']);
      w.manager.objectsChanged([{ kind: 'ConfigMap', namespace: 'other', name: 'cm' }]);
      w.manager.objectsChanged([{ kind: 'Secret', namespace: 'default', name: 'cm' }]);
      await settle();
      assert.deepEqual(w.log, ['fail a', 'fail b']);
      w.manager.objectsChanged([{ kind: 'ConfigMap', namespace: 'default', name: 'cm' }]);
      await settle();
      assert.deepEqual([...w.running], ['a']);
    }));

  it('does not start again what ended in an earlier life of the agent', () =>
    world(async (w) => {
      w.statuses.set('a', { phase: 'Succeeded' });
      w.manager.update([desired('a')]);
      await settle(6);
      assert.deepEqual(w.log, ['release a']);
      assert.equal(w.manager.pods()[0]?.status.phase, 'Succeeded');
    }));

  it('retries a failing pod with growing pauses and lets the others run', () =>
    world(async (w) => {
      w.failures.set('a', 4);
      w.manager.update([desired('a'), desired('b', { name: 'other' })]);
      await settle();
      assert.deepEqual([...w.running], ['b']);
      const at: number[] = [];
      for (let ms = 0; ms < 30_000 && !w.running.has('a'); ms += 500) {
        const before = w.log.length;
        await w.clock.advance(500);
        if (w.log.length > before) at.push((ms + 500) / 1000);
      }
      assert.deepEqual(at, [1, 3, 7, 15]);
    }));

  it('ends leftovers that no manifest asks for, but not while one of them may be wanted', () =>
    world(async (w) => {
      w.leftovers = [
        { uid: 'a', name: 'web-edge1', namespace: 'default' },
        { uid: 'old', name: 'gone-edge1', namespace: 'default' },
      ];
      w.manager.update([desired('a')]);
      w.mayBeWanted = true;
      await w.manager.adoptLeftovers();
      await settle(4);
      assert.deepEqual(w.log, ['start a']);
      w.mayBeWanted = false;
      await w.manager.adoptLeftovers();
      await settle(6);
      assert.deepEqual(w.log.slice(1), ['stop old', 'release old', 'purge old']);
    }));

  it('ends the leftover of a changed manifest before its successor starts', async () => {
    const w = new World();
    w.leftovers = [{ uid: 'v1', name: 'web-edge1', namespace: 'default' }];
    w.stubborn.set('v1', () => undefined);
    await w.manager.begin([desired('v2')]);
    await settle(4);
    assert.deepEqual(w.log, ['stop v1']);
    w.letStop('v1');
    await settle(6);
    assert.deepEqual(w.log.slice(0, 2), ['stop v1', 'release v1']);
    assert.ok(w.running.has('v2'));
    await w.tasks.stop();
  });

  it('brings the status up to date while a pass is busy, but not in the middle of a start', () =>
    world(async (w) => {
      let done = (): void => undefined;
      w.busy = new Promise((resolve) => (done = resolve));
      w.manager.update([desired('a')]);
      await settle();
      const app = containerOf('app');
      w.known = runtimeOf([sandboxOf()], [recordOf(app, 'created')]);
      w.manager.poke('a');
      await settle();
      assert.deepEqual(w.log, []);
      w.known = runtimeOf([sandboxOf()], [recordOf(app, 'running')]);
      w.manager.poke('a');
      await settle();
      assert.deepEqual(w.log, ['refresh a']);
      done();
    }));

  it('tells the warnings of a manifest once, as events of the pod', () =>
    world(async (w) => {
      const odd = desired('a', { warnings: ['spec.foo: unknown field'] });
      w.manager.update([odd]);
      w.manager.update([odd]);
      await settle();
      assert.deepEqual(w.events, ['ManifestWarning web-edge1']);
      assert.deepEqual(w.manager.warnings('a'), ['spec.foo: unknown field']);
    }));

  it('refuses a pod whose host port another one has, and starts it when the port is free', () =>
    world(async (w) => {
      const first = desired('a', { hostPort: 80 });
      const second = desired('b', { name: 'other', file: '/m/b.yaml', hostPort: 80 });
      w.manager.update([first, second]);
      await settle();
      assert.deepEqual(w.log, ['start a']);
      const { startTime, ...status } = w.statuses.get('b') ?? {};
      assert.ok(startTime);
      assert.deepEqual(status, {
        phase: 'Failed',
        reason: 'NodePorts',
        message:
          "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        qosClass: 'BestEffort',
      });
      assert.deepEqual([w.events, w.rejections], [['NodePorts other'], ['NodePorts']]);
      assert.equal(w.manager.counts().get('rejected'), 1);
      w.manager.update([second]);
      await settle(8);
      assert.deepEqual([...w.running], ['b']);
      assert.equal(w.statuses.get('b')?.reason, undefined);
      assert.deepEqual(w.events, ['NodePorts other']);
    }));

  it('refuses one pod too many and takes it when another has gone; the more important one comes first', () =>
    world(
      async (w) => {
        const important = desired('z', { name: 'z', file: '/m/z.yaml', order: 9 });
        important.pod.spec.priority = 1000;
        w.manager.update([desired('a'), important]);
        await settle();
        assert.deepEqual([...w.running], ['z']);
        assert.equal(w.statuses.get('a')?.reason, 'OutOfpods');
        w.manager.update([desired('a')]);
        await settle(8);
        assert.deepEqual([...w.running], ['a']);
      },
      { maxPods: 1 },
    ));

  it('never refuses what runs, and gives the place to those that had it before', async () => {
    const w = new World({ maxPods: 1, labels: {} });
    w.found.add('a');
    const odd = desired('a');
    odd.pod.spec.nodeSelector = { disk: 'ssd' };
    await w.manager.begin([odd]);
    await settle();
    assert.deepEqual([[...w.running], w.events], [['a'], []]);
    await w.tasks.stop();

    const later = new World({ maxPods: 1 });
    later.statuses.set('b', { phase: 'Running', containerStatuses: [] });
    later.statuses.set('a', { phase: 'Failed', reason: 'OutOfpods' });
    await later.manager.begin([
      desired('a'),
      desired('b', { name: 'b', file: '/m/b.yaml', order: 1 }),
    ]);
    await settle();
    assert.deepEqual([...later.running], ['b']);
    assert.deepEqual(later.events, ['OutOfpods web-edge1']);
    await later.tasks.stop();
  });

  it('looks at a refused pod again after a while, and forgets it with its manifest', () => {
    let enabled = false;
    return world(
      async (w) => {
        const confined = desired('a');
        confined.pod.spec.securityContext = { appArmorProfile: { type: 'RuntimeDefault' } };
        w.manager.update([confined]);
        await settle();
        assert.equal(w.statuses.get('a')?.reason, 'AppArmor');
        w.manager.update([]);
        await settle(6);
        assert.deepEqual(w.log, ['stop a', 'release a', 'purge a']);
        assert.deepEqual(w.manager.pods(), []);
        w.manager.update([confined]);
        await settle();
        enabled = true;
        await w.clock.advance(60_000);
        assert.deepEqual([...w.running], ['a']);
      },
      { appArmor: { isEnabled: () => enabled, loaded: () => undefined } },
    );
  });
});
