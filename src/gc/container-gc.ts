/**
 * Owns: removing what pods have left: dead containers beyond their limits, sandboxes that serve nothing,
 * logs and links of pods that are gone (spec: gc-logs-images.md §2). Every minute; the pods themselves
 * clear their dead at each pass already, so there is rarely anything to do.
 * Invariants: only what is islet's is touched; each pass is safe to repeat and to cut off; a failure in
 * one place keeps nothing else from being cleared, and is an event.
 */
import { rm } from 'node:fs/promises';
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget } from '../api/event.ts';
import { Annotation, EventReason } from '../api/reasons.ts';
import type { DeadContainerSettings } from '../config/model.ts';
import { runtimeText } from '../cri/errors.ts';
import type { RuntimeService } from '../cri/model.ts';
import type { PodRef } from '../pod/ports.ts';
import type { PodFiles } from '../runtime/pod-files.ts';
import type { Clock } from '../util/clock.ts';
import type { DeadContainer, GcPod } from './dead-plan.ts';
import { deadToReclaim, deadToRemove, sandboxesToRemove } from './dead-plan.ts';
import { deadLinks, podsWithLogs, staleLogs } from './log-leftovers.ts';

export interface ContainerGcDeps {
  /** What the runtime has of islet's pods. */
  readonly pods: () => readonly GcPod[];
  /** Somebody works on the pod, or the runtime has anything of it. */
  readonly isAlive: (uid: string) => boolean;
  /** `<name>_<namespace>` of the wanted pods; undefined while it is not certain which are. */
  readonly wantedNames: () => ReadonlySet<string> | undefined;
  /** Ends pods that nobody wants. */
  readonly adoptLeftovers: () => Promise<void>;
  readonly runtime: Pick<RuntimeService, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly files: PodFiles;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  readonly settings: DeadContainerSettings;
  /** The runtime has other objects than before. */
  readonly onRemoved: () => void;
  readonly nodeName: string;
  readonly events: EventRecorder;
  readonly clock: Clock;
}

const PERIOD_MS = 60_000;

export class ContainerGc {
  readonly #deps: ContainerGcDeps;

  constructor(deps: ContainerGcDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.collect(signal);
      await this.#deps.clock.sleep(PERIOD_MS, signal);
    }
  }

  /** A periodic pass; failures are one event. */
  async collect(signal: AbortSignal): Promise<void> {
    const { pods, settings, clock, adoptLeftovers } = this.#deps;
    const failures: string[] = [];
    const all = pods();
    const dead = deadToRemove(all, settings, clock.wall());
    await this.#removeAll(all, dead, failures, signal);
    await this.#try(failures, signal, () => this.#clearLogs(signal));
    await this.#try(failures, signal, adoptLeftovers);
    if (failures.length === 0) return;
    const { events, nodeName } = this.#deps;
    const text = failures.length === 1 ? (failures[0] ?? '') : `[${failures.join(', ')}]`;
    events.event(nodeTarget(nodeName), 'Warning', EventReason.ContainerGCFailed, text);
  }

  /**
   * Under disk pressure: removes every dead container that no pod needs, those of finished pods
   * included. Rejects with the first failure, after all were tried.
   */
  async deadContainers(signal: AbortSignal): Promise<void> {
    const failures: string[] = [];
    const all = this.#deps.pods();
    await this.#removeAll(all, deadToReclaim(all), failures, signal);
    if (failures.length > 0) throw new Error(failures.join(', '));
  }

  async #removeAll(
    pods: readonly GcPod[],
    dead: readonly DeadContainer[],
    failures: string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { runtime, onRemoved } = this.#deps;
    const gone = new Set<string>();
    for (const one of dead) {
      await this.#try(failures, signal, async () => {
        await this.#removeContainer(one, signal);
        gone.add(one.record.id);
      });
    }
    let removed = gone.size;
    for (const id of pods.flatMap((pod) => sandboxesToRemove(pod, gone))) {
      await this.#try(failures, signal, async () => {
        await runtime.stopPodSandbox(id, signal);
        await runtime.removePodSandbox(id, signal);
        removed += 1;
      });
    }
    if (removed > 0) onRemoved();
  }

  async #removeContainer(dead: DeadContainer, signal: AbortSignal): Promise<void> {
    const { runtime, files } = this.#deps;
    const { pod, record } = dead;
    await runtime.removeContainer(record.id, signal);
    const messagePath = record.annotations[Annotation.terminationMessagePath];
    const mounted = record.mounts.find((m) => m.containerPath === messagePath);
    await files.removeTerminationLog(pod.uid, mounted?.hostPath);
    const count = Number(record.annotations[Annotation.restartCount] ?? record.attempt);
    await files.removeLog(pod, record.name, record.id, count);
  }

  async #clearLogs(signal: AbortSignal): Promise<void> {
    const { wantedNames, isAlive, files, podLogsDir, containerLogsDir } = this.#deps;
    const wanted = wantedNames();
    const stale: PodRef[] = wanted
      ? staleLogs(await podsWithLogs(podLogsDir), wanted, isAlive)
      : [];
    for (const ref of stale) {
      signal.throwIfAborted();
      await files.removePodLogs(ref);
    }
    for (const link of await deadLinks(containerLogsDir, podLogsDir, isAlive))
      await rm(link, { force: true });
  }

  async #try(failures: string[], signal: AbortSignal, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      signal.throwIfAborted();
      failures.push(runtimeText(error));
    }
  }
}
