/**
 * Owns: stopping containers and pods (spec/pod-lifecycle.md §9): preStop hook, grace arithmetic, the
 * order of sidecars, then the sandboxes.
 * Invariant: works from what the runtime knows (labels, annotations), so pods whose manifest is gone
 * are stopped as gently as others. Idempotent: what is gone already counts as stopped.
 */
import type { ConfigObjects } from '../api/config-object.ts';
import type { EventRecorder, EventTarget } from '../api/event.ts';
import { containerTarget } from '../api/event.ts';
import type { LifecycleHandler, Pod } from '../api/pod.ts';
import { namedContainer } from '../api/pod.ts';
import { EventReason } from '../api/reasons.ts';
import type { RuntimeService } from '../cri/model.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import { Limiter } from '../util/limiter.ts';
import type { Logger } from '../util/log.ts';
import { runHook } from './hooks.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from './model.ts';
import { emptyRuntimeStatus } from './model.ts';
import { redacted } from './redact.ts';
import { graceOf, portsOf, preStopOf } from './stop-facts.ts';
import type { Stoppable } from './stop-facts.ts';
import { TerminationOrder } from './termination-order.ts';

export interface KillerDeps {
  readonly runtime: Pick<RuntimeService, 'stopContainer' | 'stopPodSandbox' | 'execSync'>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly objects: ConfigObjects;
  /** Where the hooks of a pod on the host's network go; default: nowhere. */
  readonly nodeIp?: string | undefined;
}

export interface KillOptions {
  /** Replaces the pod's grace period; 0: no hook, the shortest stop. */
  readonly graceSeconds?: number;
  /** Replaces the pod's own period where no override is given: that of the probe that failed. */
  readonly probeGraceSeconds?: number;
  /** What a shorter period is made; so a pod that is removed has time for its hooks (spec §2.1). */
  readonly leastGraceSeconds?: number;
  /** Event text; default `Stopping container <name>`. */
  readonly message?: string;
}

/** What kill works on: the runtime's view and, where it is still known, the manifest. */
export interface KillSubject {
  readonly status: RuntimePodStatus;
  readonly pod: Pod | undefined;
}

const SHORTEST_GRACE_S = 2;
const STOPS_AT_ONCE = 10;
const STOP_PATIENCE_MS = 2_000;

export class PodKiller {
  readonly #deps: KillerDeps;

  constructor(deps: KillerDeps) {
    this.#deps = deps;
  }

  /**
   * Stops everything of the pod: containers at once but for the order of sidecars, then sandboxes.
   * Unlike the kubelet: no more than ten begin at once. A hundred signals and exits in one moment make the
   * shim of containerd 1.6 hang, and with it the whole pod.
   */
  async killPod(subject: KillSubject, options: KillOptions, signal: AbortSignal): Promise<void> {
    const alive = subject.status.containers.filter(
      (c) => c.state === 'running' || c.state === 'unknown',
    );
    const order = new TerminationOrder(subject.pod, alive);
    await this.#stopAll(subject, alive, options, order, signal);
    throwFirst(
      await Promise.allSettled(
        subject.status.sandboxes.map((s) => this.#deps.runtime.stopPodSandbox(s.id, signal)),
      ),
    );
  }

  /** Stops several containers of a pod that goes on, at once and without grace. */
  async killContainers(
    subject: KillSubject,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const chosen = subject.status.containers.filter((c) => ids.includes(c.id));
    await this.#stopAll(subject, chosen, { graceSeconds: 0 }, undefined, signal);
  }

  async #stopAll(
    subject: KillSubject,
    containers: readonly RuntimeContainerStatus[],
    options: KillOptions,
    order: TerminationOrder | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#deps;
    // A stop that takes its grace period, or waits for its turn, does not hold up the rest.
    const starts = new Limiter({ slots: STOPS_AT_ONCE, patienceMs: STOP_PATIENCE_MS, clock });
    const results = await Promise.allSettled(
      containers.map((c) =>
        starts
          .run(0, signal, () => this.#stop(subject, c, options, order, signal))
          .finally(() => order?.ended(c.name)),
      ),
    );
    throwFirst(results);
  }

  /** Stops one container of a pod that goes on. */
  async killContainer(
    subject: KillSubject,
    id: string,
    options: KillOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const container = subject.status.containers.find((c) => c.id === id);
    if (container) await this.#stop(subject, container, options, undefined, signal);
  }

  /** Stops a container that was started just now and is in no status yet: its postStart hook failed. */
  async killStarted(
    { pod, ips }: { readonly pod: Pod; readonly ips: readonly string[] },
    container: { readonly id: string; readonly name: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { uid, name, namespace } = pod.metadata;
    const status = { ...emptyRuntimeStatus(uid, name, namespace), ips };
    const options = { message: 'FailedPostStartHook' };
    const started = { ...container, annotations: {} };
    await this.#stop({ status, pod }, started, options, undefined, signal);
  }

  async #stop(
    subject: KillSubject,
    container: Stoppable,
    options: KillOptions,
    order: TerminationOrder | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { events, clock, runtime } = this.#deps;
    const target = targetOf(subject, container.name);
    const text = options.message ?? `Stopping container ${container.name}`;
    events.event(target, 'Normal', EventReason.Killing, text);
    let grace =
      options.graceSeconds ??
      Math.max(
        graceOf(subject.pod, container, options.probeGraceSeconds),
        options.leastGraceSeconds ?? 0,
      );
    const preStop = preStopOf(subject.pod, container);
    if (preStop && grace > 0) {
      grace -= await this.#seconds(() =>
        this.#runPreStop(subject, container, target, preStop, grace, signal),
      );
    }
    if (order) {
      grace -= await this.#seconds(() => order.turnOf(container.name, grace, clock, signal));
    }
    await runtime.stopContainer(container.id, Math.max(grace, SHORTEST_GRACE_S), signal);
  }

  /** The hook gets the grace period at most; when it fails or takes too long, the stop goes on. */
  async #runPreStop(
    subject: KillSubject,
    container: Stoppable,
    target: EventTarget,
    handler: LifecycleHandler,
    graceSeconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, events, logger } = this.#deps;
    const timer = new AbortController();
    const where = {
      containerId: container.id,
      containerName: container.name,
      event: target,
      podIp: this.#addressOf(subject),
      ports: portsOf(subject.pod, container),
    };
    const hook = runHook(this.#deps, handler, where, signal).catch((err: unknown) => {
      events.event(target, 'Warning', EventReason.FailedPreStopHook, 'PreStopHook failed');
      const why = this.#redacted(messageOf(err), subject, container.name);
      logger.warn('a preStop hook failed', { pod: target.name, container: container.name, why });
    });
    // A hook that takes longer is not cancelled: it may still end while the container does.
    const timeout = clock.sleep(graceSeconds * 1000, timer.signal).catch(() => undefined);
    await Promise.race([hook, timeout]);
    timer.abort(new Error('the hook has ended'));
  }

  /** What a hook said may hold values of Secrets; without the manifest nobody knows which. */
  #redacted(text: string, { pod }: KillSubject, name: string): string | undefined {
    const container = pod && namedContainer(pod, name);
    return container && redacted(text, pod, container, this.#deps.objects);
  }

  #addressOf({ status, pod }: KillSubject): string | undefined {
    const onHost = pod ? pod.spec.hostNetwork : status.sandboxes[0]?.networkMode === 'node';
    return onHost ? this.#deps.nodeIp : status.ips[0];
  }

  /** Whole seconds that `action` took. */
  async #seconds(action: () => Promise<void>): Promise<number> {
    const start = this.#deps.clock.monotonic();
    await action();
    return Math.floor((this.#deps.clock.monotonic() - start) / 1000);
  }
}

function targetOf({ status, pod }: KillSubject, name: string): EventTarget {
  const container = pod && namedContainer(pod, name);
  if (container) return containerTarget(pod, container);
  const { uid, namespace, name: podName } = status;
  return { kind: 'Pod', namespace, name: podName, uid, fieldPath: `spec.containers{${name}}` };
}

function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  for (const result of results) {
    if (result.status === 'rejected') throw result.reason;
  }
}
