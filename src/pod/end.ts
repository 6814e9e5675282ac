/**
 * Owns: how a pod ends (spec/pod-lifecycle.md §10): stop everything, clean up what it held, and, once
 * its manifest is gone, remove every trace. Each function is safe to repeat after a crash.
 * Works without the manifest, so that orphans of an earlier agent end the same way.
 */
import type { EventRecorder } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { Annotation, EventReason } from '../api/reasons.ts';
import type { RuntimeService } from '../cri/model.ts';
import type { KillOptions, PodKiller } from '../runtime/kill.ts';
import type { RuntimePodStatus } from '../runtime/model.ts';
import { isRunningPod } from '../runtime/model.ts';
import type { PodFiles } from '../runtime/pod-files.ts';
import type { Clock } from '../util/clock.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import type { Cgroups, PodRef, Probes, RuntimeView, Statuses, Volumes } from './ports.ts';

export interface PodEndDeps {
  readonly runtimeView: RuntimeView;
  readonly runtime: Pick<RuntimeService, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly killer: PodKiller;
  readonly probes: Pick<Probes, 'stopLivenessAndStartup' | 'remove'>;
  readonly volumes: Volumes;
  readonly cgroups: Cgroups;
  readonly files: PodFiles;
  readonly statuses: Statuses;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** Drops what other parts remember of the pod. */
  readonly forget: (uid: string) => void;
}

export class PodEnd {
  readonly #deps: PodEndDeps;

  constructor(deps: PodEndDeps) {
    this.#deps = deps;
  }

  /** Stops containers and sandboxes. Resolves to the facts afterwards, with nothing running. */
  async stop(
    ref: PodRef,
    pod: Pod | undefined,
    options: KillOptions & { readonly newerThanMs: number },
    signal: AbortSignal,
  ): Promise<RuntimePodStatus> {
    this.#deps.probes.stopLivenessAndStartup(ref.uid);
    const after = await this.#stopAll(ref, pod, options, signal);
    this.#deps.probes.remove(ref.uid);
    return after;
  }

  async #stopAll(
    ref: PodRef,
    pod: Pod | undefined,
    options: KillOptions & { readonly newerThanMs: number },
    signal: AbortSignal,
  ): Promise<RuntimePodStatus> {
    const { runtimeView, killer, clock, events } = this.#deps;
    const status = await runtimeView.getNewerThan(ref.uid, options.newerThanMs, signal);
    if (!isRunningPod(status)) return status;
    try {
      await killer.killPod({ status: named(status, ref), pod }, options, signal);
    } catch (error) {
      signal.throwIfAborted();
      const text = `error killing pod: ${messageOf(error)}`;
      events.event({ kind: 'Pod', ...ref }, 'Warning', EventReason.FailedKillPod, text);
      throw error;
    }
    const killedAt = clock.monotonic();
    runtimeView.relistNow();
    const after = await runtimeView.getNewerThan(ref.uid, killedAt, signal);
    if (isRunningPod(after)) {
      throw new IsletError('failed', `containers of ${ref.name} still run after they were stopped`);
    }
    return after;
  }

  /** Gives back what a pod that has ended held: volumes and cgroup. */
  async release(ref: PodRef, signal: AbortSignal): Promise<void> {
    await this.#deps.volumes.tearDown(ref.uid, signal);
    await this.#deps.cgroups.destroy(ref.uid, signal);
  }

  /** Removes the records, logs and memory of a pod whose manifest is gone. */
  async purge(ref: PodRef, newerThanMs: number, signal: AbortSignal): Promise<void> {
    await this.clear(ref, newerThanMs, signal);
    this.#deps.statuses.remove(ref.uid);
    this.#deps.forget(ref.uid);
  }

  /** Removes what the runtime has of a pod in which nothing runs, and its logs. */
  async clear(
    ref: PodRef,
    newerThanMs: number,
    signal: AbortSignal,
    { keepLogs = false } = {},
  ): Promise<void> {
    const { runtimeView, runtime, files } = this.#deps;
    const status = await runtimeView.getNewerThan(ref.uid, newerThanMs, signal);
    for (const container of status.containers) {
      await runtime.removeContainer(container.id, signal);
      if (keepLogs) continue;
      const count = Number(container.annotations[Annotation.restartCount] ?? container.attempt);
      await files.removeLog(ref, container.name, container.id, count);
    }
    for (const sandbox of status.sandboxes) {
      await runtime.stopPodSandbox(sandbox.id, signal);
      await runtime.removePodSandbox(sandbox.id, signal);
    }
    if (!keepLogs) await files.removePodLogs(ref);
    runtimeView.relistNow();
  }
}

/** Events name the pod even where the runtime's labels were lost. */
function named(status: RuntimePodStatus, ref: PodRef): RuntimePodStatus {
  return status.name === '' ? { ...status, ...ref } : status;
}
