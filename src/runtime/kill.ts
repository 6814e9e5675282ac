/**
 * Owns: stopping containers and pods (spec/pod-lifecycle.md §9): preStop hook, grace arithmetic, the
 * order of sidecars, then the sandboxes.
 * Invariant: works from what the runtime knows (labels, annotations), so pods whose manifest is gone
 * are stopped as gently as others. Idempotent: what is gone already counts as stopped.
 */
import type { EventRecorder, EventTarget } from '../api/event.ts';
import { containerTarget } from '../api/event.ts';
import type { Container, LifecycleHandler, Pod } from '../api/pod.ts';
import { isSidecar, namedContainer } from '../api/pod.ts';
import { Annotation, EventReason } from '../api/reasons.ts';
import type { RuntimeService } from '../cri/model.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import { Limiter } from '../util/limiter.ts';
import { runHook } from './hooks.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from './model.ts';

export interface KillerDeps {
  readonly runtime: Pick<RuntimeService, 'stopContainer' | 'stopPodSandbox' | 'execSync'>;
  readonly events: EventRecorder;
  readonly clock: Clock;
}

export interface KillOptions {
  /** Replaces the pod's grace period; 0: no hook, the shortest stop. */
  readonly graceSeconds?: number;
  /** Replaces the pod's own period where no override is given: that of the probe that failed. */
  readonly probeGraceSeconds?: number;
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
    subject: { readonly pod: Pod },
    container: Container,
    id: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { pod } = subject;
    const target = containerTarget(pod, container);
    this.#deps.events.event(target, 'Normal', EventReason.Killing, 'FailedPostStartHook');
    const grace = Math.max(pod.spec.terminationGracePeriodSeconds, SHORTEST_GRACE_S);
    await this.#deps.runtime.stopContainer(id, grace, signal);
  }

  async #stop(
    subject: KillSubject,
    container: RuntimeContainerStatus,
    options: KillOptions,
    order: TerminationOrder | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const spec = subject.pod && namedContainer(subject.pod, container.name);
    const target = targetOf(subject, container.name, spec);
    this.#deps.events.event(
      target,
      'Normal',
      EventReason.Killing,
      options.message ?? `Stopping container ${container.name}`,
    );
    let grace = graceOf(subject.pod, container, options);
    const preStop = preStopOf(spec, container);
    if (preStop && grace > 0) {
      grace -= await this.#seconds(() =>
        this.#runPreStop(subject, container, target, preStop, grace, signal),
      );
    }
    if (order)
      grace -= await this.#seconds(() =>
        order.turnOf(container.name, grace, this.#deps.clock, signal),
      );
    await this.#deps.runtime.stopContainer(container.id, Math.max(grace, SHORTEST_GRACE_S), signal);
  }

  /** The hook gets the grace period at most; when it fails or takes too long, the stop goes on. */
  async #runPreStop(
    subject: KillSubject,
    container: RuntimeContainerStatus,
    target: EventTarget,
    handler: LifecycleHandler,
    graceSeconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, events } = this.#deps;
    const timer = new AbortController();
    const hook = runHook(
      this.#deps,
      handler,
      {
        containerId: container.id,
        podIp: subject.status.ips[0],
        ports: namedPorts(subject.pod && namedContainer(subject.pod, container.name)),
      },
      signal,
    ).catch((error: unknown) => {
      const text = `PreStopHook failed: ${messageOf(error)}`;
      events.event(target, 'Warning', EventReason.FailedPreStopHook, text);
    });
    const timeout = clock.sleep(graceSeconds * 1000, timer.signal).catch(() => undefined);
    await Promise.race([hook, timeout]);
    timer.abort(new Error('the hook has ended'));
  }

  /** Whole seconds that `action` took. */
  async #seconds(action: () => Promise<void>): Promise<number> {
    const start = this.#deps.clock.monotonic();
    await action();
    return Math.floor((this.#deps.clock.monotonic() - start) / 1000);
  }
}

/** Sidecars end in reverse order, after the regular containers (spec §9.3). */
class TerminationOrder {
  readonly #before = new Map<string, string[]>();
  readonly #ended = new Map<string, { promise: Promise<void>; resolve: () => void }>();

  constructor(pod: Pod | undefined, alive: readonly RuntimeContainerStatus[]) {
    for (const { name } of alive) {
      let resolve = (): void => undefined;
      const promise = new Promise<void>((done) => (resolve = done));
      this.#ended.set(name, { promise, resolve });
    }
    const sidecars = (pod?.spec.initContainers ?? []).filter(isSidecar).map((c) => c.name);
    const regular = pod?.spec.containers.map((c) => c.name) ?? [];
    sidecars.forEach((name, i) => {
      const later = sidecars[i + 1];
      this.#before.set(name, later === undefined ? regular : [...regular, later]);
    });
  }

  ended(name: string): void {
    this.#ended.get(name)?.resolve();
  }

  async turnOf(
    name: string,
    graceSeconds: number,
    clock: Clock,
    signal: AbortSignal,
  ): Promise<void> {
    const waitFor = (this.#before.get(name) ?? []).flatMap(
      (n) => this.#ended.get(n)?.promise ?? [],
    );
    if (waitFor.length === 0 || graceSeconds <= 0) return;
    const timer = new AbortController();
    const stop = (): void => timer.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    const timeout = clock.sleep(graceSeconds * 1000, timer.signal).catch(() => undefined);
    await Promise.race([Promise.all(waitFor), timeout]);
    signal.removeEventListener('abort', stop);
    timer.abort(new Error('it is its turn'));
  }
}

function graceOf(
  pod: Pod | undefined,
  container: RuntimeContainerStatus,
  options: KillOptions,
): number {
  if (options.graceSeconds !== undefined) return options.graceSeconds;
  if (options.probeGraceSeconds !== undefined) return options.probeGraceSeconds;
  if (pod) return Math.max(pod.spec.terminationGracePeriodSeconds, 1);
  const kept = Number(container.annotations[Annotation.podTerminationGracePeriod]);
  return Number.isInteger(kept) && kept >= 0 ? Math.max(kept, 1) : SHORTEST_GRACE_S;
}

function preStopOf(
  spec: Container | undefined,
  container: RuntimeContainerStatus,
): LifecycleHandler | undefined {
  if (spec) return spec.lifecycle?.preStop;
  const kept = container.annotations[Annotation.preStopHandler];
  if (!kept) return undefined;
  try {
    return JSON.parse(kept) as LifecycleHandler;
  } catch {
    return undefined; // written by somebody else: the stop must go on without it
  }
}

export function namedPorts(spec: Container | undefined): ReadonlyMap<string, number> {
  return new Map((spec?.ports ?? []).flatMap((p) => (p.name ? [[p.name, p.containerPort]] : [])));
}

function targetOf(subject: KillSubject, name: string, spec: Container | undefined): EventTarget {
  const { uid, namespace, name: podName } = subject.status;
  const isInit = spec !== undefined && subject.pod?.spec.initContainers?.includes(spec) === true;
  const fieldPath = `spec.${isInit ? 'initContainers' : 'containers'}{${name}}`;
  return { kind: 'Pod', namespace, name: podName, uid, fieldPath };
}

function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  for (const result of results) {
    if (result.status === 'rejected') throw result.reason;
  }
}
