/**
 * A world for the pod manager: real workers and a real admission, passes and the runtime are played.
 */
import assert from 'node:assert/strict';
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
import { ManualClock } from '../../support/clock.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const settled: SyncResult = { kind: 'settled', retryMs: undefined };

/** A world in which a pod runs once it was synced and stops when a test lets it. */
export class World {
  readonly clock = new ManualClock();
  readonly running = new Set<string>();
  readonly log: string[] = [];
  readonly statuses = new Map<string, PodStatus>();
  readonly events: string[] = [];
  readonly rejections: string[] = [];
  readonly preempted: string[] = [];
  readonly node: AdmissionNode;
  /** Uids of evicted pods that may come back. */
  readonly mayReturn = new Set<string>();
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
          clear: (ref) => Promise.resolve(void this.log.push(`clear ${ref.uid}`)),
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
        mayReturn: (uid) => this.mayReturn.delete(uid),
        rejections: { inc: (labels) => void this.rejections.push(labels?.['reason'] ?? '') },
      }),
      preemptions: {
        inc: (labels) => void this.preempted.push(labels?.['preemption_signal'] ?? ''),
      },
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

export function desired(
  uid: string,
  more: Partial<DesiredPod> & { name?: string; hostPort?: number } = {},
): DesiredPod {
  const { name = 'web-edge1', hostPort, ...rest } = more;
  const ports =
    hostPort === undefined ? [] : [{ containerPort: 80, hostPort, protocol: 'TCP' as const }];
  const pod = podOf({ containers: [containerOf('app', { ports })] }, uid, name);
  return { pod, file: `/m/${name}.yaml`, order: 0, warnings: [], ...rest };
}

export async function world(
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
