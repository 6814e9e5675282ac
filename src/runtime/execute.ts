/**
 * Owns: doing what a plan says, step by step (spec/pod-lifecycle.md §4). No policy here: which steps,
 * in which order and which failures end the plan is decided in plan.ts and step.ts.
 * Invariant: an outcome tells every failure; the executor itself never throws but for an abort.
 */
import type { EventRecorder, EventTarget } from '../api/event.ts';
import { podTarget } from '../api/event.ts';
import type { Container, Pod } from '../api/pod.ts';
import { namedContainer } from '../api/pod.ts';
import { Annotation, EventReason, WaitingReason } from '../api/reasons.ts';
import { runtimeText } from '../cri/errors.ts';
import type { RuntimeService, SandboxStatus } from '../cri/model.ts';
import type { Slot } from '../util/limiter.ts';
import type { Logger } from '../util/log.ts';
import type { VolumeImages } from './image-volumes.ts';
import type { KillOptions, PodKiller } from './kill.ts';
import type { CrashBackoff } from './crash-backoff.ts';
import type { RuntimePodStatus } from './model.ts';
import { newestContainer } from './model.ts';
import type { MountedVolume } from './mounts.ts';
import type { ObjectHashes } from './object-hash.ts';
import { decideSandbox } from './plan.ts';
import type { PodFiles } from './pod-files.ts';
import type { SandboxBuilder } from './sandbox-builder.ts';
import type { ContainerStarter, Sandbox, StartFailure } from './start.ts';
import type { KillReason, Step, StepTable } from './step.ts';
import { endsPlan } from './step.ts';

export interface ExecutorDeps {
  readonly runtime: Pick<
    RuntimeService,
    'runPodSandbox' | 'podSandboxStatus' | 'stopPodSandbox' | 'removePodSandbox' | 'removeContainer'
  >;
  readonly starter: ContainerStarter;
  readonly backoff: Pick<CrashBackoff, 'removed'>;
  readonly killer: PodKiller;
  readonly sandboxes: SandboxBuilder;
  readonly files: PodFiles;
  readonly events: EventRecorder;
  readonly logger: Logger;
}

export interface ExecuteInput {
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly steps: readonly Step[];
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** As the plan had it: what the containers that are created remember. */
  readonly objectHashes?: ObjectHashes | undefined;
  /** The right to put load on the runtime; taken when it is needed first. */
  readonly slot: () => Promise<Slot>;
}

export interface ExecuteOutcome {
  /** By container name: why it does not run. */
  readonly failures: ReadonlyMap<string, StartFailure>;
  /** Containers that were started. */
  readonly started: readonly string[];
  /** What ended the plan, when something did. */
  readonly error: unknown;
  /** Attempt of the sandbox that was tried, successfully or not. */
  readonly triedAttempt: number | undefined;
}

interface Context {
  readonly input: ExecuteInput;
  readonly signal: AbortSignal;
  readonly failures: Map<string, StartFailure>;
  readonly started: string[];
  /** By container name: why a half-made container of that name is still there. */
  readonly halfMade: Map<string, string>;
  readonly volumeImages: VolumeImages;
  sandbox: Sandbox | undefined;
  triedAttempt: number | undefined;
}

/** The sandbox is there, and what it is like could not be read; the event has been told. */
class NoSandboxStatus extends Error {}

/** A start that failed; the failure is in the context already. */
class StartFailed extends Error {}

export class PodExecutor {
  readonly #deps: ExecutorDeps;
  readonly #table: StepTable<Context>;

  constructor(deps: ExecutorDeps) {
    this.#deps = deps;
    this.#table = {
      killPod: (_, context) => this.#killPod(context),
      killContainer: (argument, context) => this.#killContainer(argument, context),
      stopContainers: (argument, { input, signal }) =>
        this.#deps.killer.killContainers(input, argument.ids, signal),
      resetContainer: (argument, context) => this.#resetContainer(argument, context),
      removeContainer: (argument, context) => this.#removeContainer(argument, context),
      removeSandbox: (argument) => this.#removeSandbox(argument.id),
      createSandbox: (argument, context) => this.#createSandbox(argument, context),
      startContainer: (argument, context) => this.#startContainer(argument.name, context),
    };
  }

  async execute(input: ExecuteInput, signal: AbortSignal): Promise<ExecuteOutcome> {
    const context: Context = {
      input,
      signal,
      failures: new Map(),
      started: [],
      halfMade: new Map(),
      volumeImages: new Map(),
      sandbox: undefined,
      triedAttempt: undefined,
    };
    const error = await this.#runAll(input, context, signal);
    const { failures, started, triedAttempt } = context;
    return { failures, started, error, triedAttempt };
  }

  /** Resolves to what ended the plan, if anything did. */
  async #runAll(input: ExecuteInput, context: Context, signal: AbortSignal): Promise<unknown> {
    for (const step of input.steps) {
      if (signal.aborted) break;
      try {
        await this.#run(step, context);
      } catch (caught) {
        if (signal.aborted) break;
        if (endsPlan(step)) return caught instanceof StartFailed ? undefined : caught;
        if (!(caught instanceof StartFailed)) this.#note(step, caught, input);
      }
    }
    return undefined;
  }

  #run(step: Step, context: Context): Promise<void> {
    // The table has one entry per kind with that kind's argument, which the compiler cannot see here.
    const act = this.#table[step.kind] as (argument: Step, context: Context) => Promise<void>;
    return act(step, context);
  }

  /** A step that holds nothing up is tried again with the next sync. */
  #note(step: Step, error: unknown, input: ExecuteInput): void {
    const pod = input.pod.metadata;
    this.#deps.logger.debug('a step failed', { step: step.kind, pod: pod.name, err: error });
  }

  async #killPod({ input, signal }: Context): Promise<void> {
    await this.#deps.killer.killPod(input, {}, signal);
  }

  async #killContainer(
    argument: { id: string; name: string; reason: KillReason; message: string },
    { input, signal }: Context,
  ): Promise<void> {
    const options: KillOptions = {
      message: argument.message,
      ...probeGrace(namedContainer(input.pod, argument.name), argument.reason),
    };
    await this.#deps.killer.killContainer(input, argument.id, options, signal);
  }

  async #removeContainer(
    argument: { id: string; withLogs: boolean },
    { input, halfMade }: Context,
  ): Promise<void> {
    const { runtime, files } = this.#deps;
    const record = input.status.containers.find((c) => c.id === argument.id);
    try {
      await runtime.removeContainer(argument.id);
    } catch (error) {
      if (record?.state === 'created') halfMade.set(record.name, runtimeText(error));
      throw error;
    }
    if (!record) return;
    const { uid } = input.pod.metadata;
    const messagePath = record.annotations[Annotation.terminationMessagePath];
    const mounted = record.mounts.find((m) => m.containerPath === messagePath);
    await files.removeTerminationLog(uid, mounted?.hostPath);
    const number = Number(record.annotations[Annotation.restartCount] ?? record.attempt);
    await files.removeLog(
      input.pod.metadata,
      record.name,
      record.id,
      argument.withLogs ? number : undefined,
    );
  }

  /** The log of the newest run stays; those before it go, as they would with their records. */
  async #resetContainer(argument: { id: string; ended: boolean }, context: Context): Promise<void> {
    const { pod, status } = context.input;
    const record = status.containers.find((c) => c.id === argument.id);
    if (!record) return;
    if (argument.ended) this.#deps.backoff.removed(pod, record);
    const isNewest = newestContainer(status, record.name) === record;
    await this.#removeContainer({ id: record.id, withLogs: !isNewest }, context);
    if (isNewest) {
      const number = Number(record.annotations[Annotation.restartCount] ?? record.attempt);
      await this.#deps.files.removeLogsBefore(pod.metadata, record.name, number);
    }
  }

  async #removeSandbox(id: string): Promise<void> {
    await this.#deps.runtime.stopPodSandbox(id);
    await this.#deps.runtime.removePodSandbox(id);
  }

  async #createSandbox(
    argument: { attempt: number; changed: boolean },
    context: Context,
  ): Promise<void> {
    const { runtime, events, sandboxes } = this.#deps;
    const { pod } = context.input;
    const target = podTarget(pod);
    if (argument.changed) {
      const text = 'Pod sandbox changed, it will be killed and re-created.';
      events.event(target, 'Normal', EventReason.SandboxChanged, text);
    }
    try {
      const runtimeHandler = sandboxes.runtimeHandler(pod);
      const config = await sandboxes.build(pod, argument.attempt, runtimeHandler);
      context.triedAttempt = argument.attempt;
      await context.input.slot();
      const id = await runtime.runPodSandbox(config, runtimeHandler);
      const created = await this.#statusOf(id, target, context.signal);
      context.sandbox = { id: created.id, config, ips: created.ips, runtimeHandler };
    } catch (error) {
      context.signal.throwIfAborted();
      if (error instanceof NoSandboxStatus) throw error;
      const text = `Failed to create pod sandbox: ${runtimeText(error)}`;
      events.event(target, 'Warning', EventReason.FailedCreatePodSandBox, text);
      throw error;
    }
  }

  async #statusOf(id: string, target: EventTarget, signal: AbortSignal): Promise<SandboxStatus> {
    try {
      return await this.#deps.runtime.podSandboxStatus(id);
    } catch (cause) {
      signal.throwIfAborted();
      const text = `Unable to get pod sandbox status: ${runtimeText(cause)}`;
      this.#deps.events.event(target, 'Warning', EventReason.FailedPodSandBoxStatus, text);
      throw new NoSandboxStatus(text, { cause });
    }
  }

  async #startContainer(name: string, context: Context): Promise<void> {
    const { input, signal } = context;
    const container = namedContainer(input.pod, name);
    if (!container) return;
    const leftOver = context.halfMade.get(name);
    if (leftOver !== undefined) {
      // Never a second one beside it.
      const message = `its half-made predecessor cannot be removed: ${leftOver}`;
      context.failures.set(name, { reason: WaitingReason.CreateContainerError, message });
      throw new StartFailed();
    }
    context.sandbox ??= await this.#existingSandbox(input);
    const { pod, status, volumes, objectHashes, slot } = input;
    const { sandbox, volumeImages } = context;
    const start = { pod, status, volumes, objectHashes, slot, sandbox, volumeImages };
    const failure = await this.#deps.starter.start(start, container, signal);
    if (failure) {
      context.failures.set(name, failure);
      throw new StartFailed();
    }
    context.started.push(name);
  }

  async #existingSandbox(input: ExecuteInput): Promise<Sandbox> {
    const decision = decideSandbox(input.pod, input.status);
    if (decision.kind !== 'keep')
      throw new Error('a container start was planned without a sandbox');
    const { sandbox } = decision;
    const { id, ips, runtimeHandler, metadata } = sandbox;
    const config = await this.#deps.sandboxes.build(input.pod, metadata.attempt, runtimeHandler);
    return { id, config, ips, runtimeHandler };
  }
}

/** A failed liveness or startup probe may bring its own grace period (spec §9). */
function probeGrace(container: Container | undefined, reason: KillReason): KillOptions {
  const probe =
    reason === 'liveness'
      ? container?.livenessProbe
      : reason === 'startup'
        ? container?.startupProbe
        : undefined;
  const probeGraceSeconds = probe?.terminationGracePeriodSeconds;
  return probeGraceSeconds === undefined ? {} : { probeGraceSeconds };
}
