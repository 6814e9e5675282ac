/**
 * Owns: a ProbeManager in a world of its own: a clock that stands still, a runtime whose commands answer
 * as the test says, statuses that the test sets.
 */
import assert from 'node:assert/strict';
import type { Pod } from '../../../src/api/pod.ts';
import type { ContainerStatus, PodStatus } from '../../../src/api/status.ts';
import { Registry } from '../../../src/metrics/registry.ts';
import { ProbeManager } from '../../../src/probe/manager.ts';
import { ProberMetrics } from '../../../src/probe/metrics.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { createLogger } from '../../../src/util/log.ts';
import { TaskGroup } from '../../../src/util/task-group.ts';
import { ManualClock, settle } from '../../support/clock.ts';
import { containerOf, podOf } from '../../support/pods.ts';
import { probe } from './support.ts';

/** `error`: the handler could not run. */
export type Answer = 'ok' | 'bad' | 'error';

export class World {
  readonly clock = new ManualClock();
  readonly statuses = new Map<string, PodStatus>();
  readonly registry = new Registry();
  /** `command container-id`, with the seconds since the world began. */
  readonly calls: string[] = [];
  readonly events: string[] = [];
  readonly changes: string[] = [];
  /** By command; default `ok`. */
  readonly answers = new Map<string, Answer | (() => Promise<Answer>)>();
  readonly tasks = new TaskGroup({
    onError: (name, error) => assert.fail(`${name}: ${String(error)}`),
  });
  readonly manager: ProbeManager;
  readonly #beganMs = this.clock.monotonic();
  random = 0.5;

  /** `uptimeMs`: how long the agent has been running; an hour, so that nothing is spread. */
  constructor({ uptimeMs = 3_600_000, nodeIps = ['192.0.2.1'] } = {}) {
    const version = { version: '', runtimeName: '', runtimeVersion: '', runtimeApiVersion: 'v1' };
    this.manager = new ProbeManager({
      runtime: {
        execSync: (id, command) => this.#exec(id, command.join(' ')),
        version: () => Promise.resolve(version),
      },
      clock: this.clock,
      random: () => this.random,
      events: {
        event: (target, type, reason, message) =>
          void this.events.push(`${type} ${reason} ${target.fieldPath} ${message}`),
      },
      logger: createLogger({ sink: { write: () => true }, level: 'error', wall: () => 0 }),
      nodeIps,
      agentStartedMs: this.clock.monotonic() - uptimeMs,
      onResult: (uid, kind) => void this.changes.push(`${uid} ${kind}`),
      statusOf: (uid) => this.statuses.get(uid),
      tasks: this.tasks,
      metrics: new ProberMetrics(this.registry),
    });
  }

  /** Seconds since the world began. */
  get seconds(): number {
    return (this.clock.monotonic() - this.#beganMs) / 1000;
  }

  /** Sets the status of the container and has the manager see it, as a pass over the pod does. */
  report(more: Partial<ContainerStatus> = {}, pod: Partial<PodStatus> = {}, uid = 'uid-1'): void {
    const status: PodStatus = {
      phase: 'Running',
      podIP: '127.0.0.1',
      containerStatuses: [this.container(more)],
      ...pod,
    };
    this.statuses.set(uid, status);
    this.manager.observe(uid, status);
  }

  container(more: Partial<ContainerStatus> = {}): ContainerStatus {
    const startedAt = new Date(this.clock.wall()).toISOString();
    return {
      ...{ name: 'app', image: 'i', imageID: '', restartCount: 0, lastState: {} },
      ...{ ready: false, started: true, containerID: 'containerd://a' },
      state: { running: { startedAt } },
      ...more,
    };
  }

  async ensure(pod: Pod): Promise<void> {
    this.manager.ensure(pod);
    await settle();
  }

  /** Lets `seconds` pass; returns the calls made meanwhile. */
  async pass(seconds: number): Promise<string[]> {
    const before = this.calls.length;
    await this.clock.advance(seconds * 1000);
    return this.calls.slice(before);
  }

  async #exec(
    id: string,
    command: string,
  ): Promise<{ stdout: Uint8Array; stderr: Uint8Array; exitCode: number }> {
    this.calls.push(`${this.seconds}: ${command} ${id}`);
    const given = this.answers.get(command) ?? 'ok';
    const answer = typeof given === 'string' ? given : await given();
    if (answer === 'error') throw new IsletError('unavailable', 'no runtime');
    const stdout = new TextEncoder().encode(answer === 'bad' ? 'no good' : '');
    return { stdout, stderr: new Uint8Array(), exitCode: answer === 'bad' ? 1 : 0 };
  }
}

export async function world(
  body: (w: World) => Promise<void>,
  options: ConstructorParameters<typeof World>[0] = {},
): Promise<void> {
  const w = new World(options);
  try {
    await body(w);
  } finally {
    await w.tasks.stop();
  }
  assert.equal(w.manager.size, 0, 'workers live on');
  assert.equal(w.clock.sleeping, 0, 'somebody still sleeps');
}

type Timing = Partial<ReturnType<typeof probe>>;

/** A pod whose one container has the given probes; each runs a command of its own name. */
export function probed(kinds: { startup?: Timing; liveness?: Timing; readiness?: Timing }): Pod {
  const of = (command: string, timing: Timing): ReturnType<typeof probe> =>
    probe({ exec: { command: [command] }, ...timing });
  return podOf({
    containers: [
      containerOf('app', {
        ...(kinds.startup && { startupProbe: of('startup', kinds.startup) }),
        ...(kinds.liveness && { livenessProbe: of('liveness', kinds.liveness) }),
        ...(kinds.readiness && { readinessProbe: of('readiness', kinds.readiness) }),
      }),
    ],
  });
}
