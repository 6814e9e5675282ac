/**
 * Owns: starting one container: back-off, image, config, create, start, log link, postStart hook, in
 * this order (spec/pod-lifecycle.md §4, §9.1).
 * Invariant: a start that does not succeed is an outcome with the waiting reason that the user sees.
 * Leaves to others: which container starts when (plan.ts).
 */
import type { ConfigObjects } from '../api/config-object.ts';
import type { EventRecorder, EventTarget } from '../api/event.ts';
import { containerTarget } from '../api/event.ts';
import type { Container, Pod } from '../api/pod.ts';
import { Annotation, EventReason, WaitingReason } from '../api/reasons.ts';
import { runtimeText } from '../cri/errors.ts';
import type { ContainerConfig, RuntimeService, SandboxConfig } from '../cri/model.ts';
import type { ImagePuller } from '../image/puller.ts';
import { goSeconds } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import type { Slot } from '../util/limiter.ts';
import { ConfigError } from './config-error.ts';
import type { ContainerImage, ContainerInput } from './container-config.ts';
import { containerConfig, containerSubPaths } from './container-config.ts';
import type { CrashBackoff } from './crash-backoff.ts';
import { readEnvFileBelow } from './env-file.ts';
import type { EnvInput } from './env.ts';
import { NO_FEATURES } from './features.ts';
import type { RuntimeFeatures } from './features.ts';
import { runHook } from './hooks.ts';
import { ensureVolumeImages, pullSecretNames } from './image-volumes.ts';
import type { VolumeImages } from './image-volumes.ts';
import type { PodKiller } from './kill.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from './model.ts';
import { newestContainer } from './model.ts';
import type { MountedVolume } from './mounts.ts';
import type { ObjectHashes } from './object-hash.ts';
import { changedObject } from './object-hash.ts';
import type { NodeFacts } from './node-facts.ts';
import type { PodFiles } from './pod-files.ts';
import { redacted } from './redact.ts';
import { requireSeccompProfile } from './seccomp-profile.ts';
import { namedPorts } from './stop-facts.ts';

export interface StartFailure {
  readonly reason: WaitingReason;
  readonly message: string;
  /** Before that a further try is pointless; undefined: the usual retry. */
  readonly retryAfterMs?: number | undefined;
}

/** Makes a sub path of a volume ready on the host; the volume manager does it. */
export interface SubPaths {
  prepareSubPath(
    pod: Pod,
    container: Container,
    mountIndex: number,
    volume: MountedVolume,
    subPath: string,
    signal: AbortSignal,
  ): Promise<string>;
}

export interface StarterDeps {
  readonly runtime: Pick<
    RuntimeService,
    'createContainer' | 'startContainer' | 'execSync' | 'version'
  >;
  readonly puller: Pick<ImagePuller, 'ensure'>;
  readonly backoff: CrashBackoff;
  readonly killer: PodKiller;
  readonly files: PodFiles;
  readonly subPaths: SubPaths;
  readonly features: Pick<RuntimeFeatures, 'handler'>;
  readonly facts: NodeFacts;
  readonly objects: ConfigObjects;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** The container runs and may fill its log, which the runtime's lists tell only later. */
  readonly onStarted: (id: string, log: string) => void;
}

/** The sandbox that the container joins. */
export interface Sandbox {
  readonly id: string;
  readonly config: SandboxConfig;
  readonly ips: readonly string[];
  /** '' is the runtime's default one. */
  readonly runtimeHandler: string;
}

export interface StartContext {
  readonly pod: Pod;
  /** What was known when the plan was made. */
  readonly status: RuntimePodStatus;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  readonly objectHashes?: ObjectHashes | undefined;
  readonly sandbox: Sandbox;
  /** The right to put load on the runtime; taken when it is needed first. */
  readonly slot: () => Promise<Slot>;
  /** What became of the images of image volumes in this sync; filled as containers need them. */
  readonly volumeImages: VolumeImages;
}

export class ContainerStarter {
  readonly #deps: StarterDeps;

  constructor(deps: StarterDeps) {
    this.#deps = deps;
  }

  /** Resolves to undefined when the container runs. */
  async start(
    context: StartContext,
    container: Container,
    signal: AbortSignal,
  ): Promise<StartFailure | undefined> {
    const { pod, status } = context;
    const target = containerTarget(pod, container);
    const previous = newestContainer(status, container.name);
    // A container that ran with other objects is not to blame for what its successor makes of them.
    const blameless = previous && changedObject(context.objectHashes, previous) !== undefined;
    const exited = blameless
      ? undefined
      : status.containers.find((c) => c.name === container.name && c.state === 'exited');
    // A half-made one had served its pause; only its start was cut off.
    if (previous?.state !== 'created') {
      const pause = this.#deps.backoff.check(pod, container, exited);
      if (pause.kind === 'wait') return this.#inBackoff(pod, container, target, pause);
    }
    const slot = await context.slot();
    const request = {
      away: <T>(pull: () => Promise<T>): Promise<T> => slot.away(pull),
      podUid: pod.metadata.uid,
      pullSecrets: pullSecretNames(pod),
      annotations: pod.metadata.annotations ?? {},
      sandbox: context.sandbox.config,
    };
    const volumes = await ensureVolumeImages(this.#deps, context, container, request, signal);
    if (volumes.kind === 'refused') return this.#failed(pod, container, volumes);
    if (volumes.kind === 'failed') return this.#imageFailed(target, volumes);
    const own = { target, image: container.image ?? '', policy: container.imagePullPolicy };
    const image = await this.#deps.puller.ensure({ ...request, ...own }, signal);
    if (image.kind === 'failed') return this.#imageFailed(target, image);
    const { id: ref, uid, username } = image.image;
    return this.#createAndStart(
      context,
      container,
      { ref, username, ...(uid === undefined ? {} : { uid }) },
      { previous, exited, target, imageRefs: volumes.refs },
      signal,
    );
  }

  #inBackoff(
    pod: Pod,
    container: Container,
    target: EventTarget,
    pause: { delayMs: number; leftMs: number },
  ): StartFailure {
    const { name, namespace, uid } = pod.metadata;
    const described = `${name}_${namespace}(${uid})`;
    const text = `Back-off restarting failed container ${container.name} in pod ${described}`;
    this.#deps.events.event(target, 'Warning', EventReason.BackOff, text);
    return {
      reason: WaitingReason.CrashLoopBackOff,
      message: `back-off ${goSeconds(pause.delayMs)} restarting failed container=${container.name} pod=${described}`,
      retryAfterMs: pause.leftMs,
    };
  }

  async #createAndStart(
    context: StartContext,
    container: Container,
    image: ContainerImage,
    run: {
      previous: RuntimeContainerStatus | undefined;
      exited: RuntimeContainerStatus | undefined;
      target: EventTarget;
      imageRefs: ReadonlyMap<string, string>;
    },
    signal: AbortSignal,
  ): Promise<StartFailure | undefined> {
    const { runtime, events, backoff } = this.#deps;
    const { pod, sandbox } = context;
    const restartCount = await this.#restartCount(pod, container, run.previous);
    const { imageRefs } = run;
    const config = await this.#config(
      context,
      container,
      { image, imageRefs, restartCount },
      signal,
    ).catch(asFailure);
    if ('reason' in config) return this.#failed(pod, container, config);
    let id: string;
    try {
      id = await runtime.createContainer(sandbox.id, config, sandbox.config);
    } catch (error) {
      const message = runtimeText(error);
      return this.#failed(pod, container, { reason: WaitingReason.CreateContainerError, message });
    }
    // Only now: a run that was never created counts neither as a restart nor against the pod.
    backoff.restarted(pod, container, run.exited, restartCount);
    events.event(run.target, 'Normal', EventReason.Created, 'Container created');
    try {
      await runtime.startContainer(id);
    } catch (error) {
      const message = runtimeText(error);
      return this.#failed(pod, container, { reason: WaitingReason.RunContainerError, message }, id);
    }
    events.event(run.target, 'Normal', EventReason.Started, 'Container started');
    this.#deps.onStarted(id, this.#deps.files.logFile(pod.metadata, container.name, restartCount));
    await this.#deps.files.linkLog(pod, container.name, id, restartCount).catch(() => undefined);
    return this.#postStart(context, container, id, run.target, signal);
  }

  /** One more than record, store and, where there is no record, log files know of: counts only grow. */
  async #restartCount(
    pod: Pod,
    container: Container,
    previous: RuntimeContainerStatus | undefined,
  ): Promise<number> {
    const stored = this.#deps.backoff.storedCount(pod.metadata.uid, container.name) ?? -1;
    const kept = Number(previous?.annotations[Annotation.restartCount]);
    if (Number.isInteger(kept)) return Math.max(kept, stored) + 1;
    const logged = await this.#deps.files.lastLogNumber(pod, container.name);
    return Math.max(logged ?? -1, stored) + 1;
  }

  async #config(
    context: StartContext,
    container: Container,
    run: Pick<ContainerInput, 'image' | 'imageRefs' | 'restartCount'>,
    signal: AbortSignal,
  ): Promise<ContainerConfig> {
    const { files, facts, objects } = this.#deps;
    const { pod, sandbox, volumes, objectHashes } = context;
    await files.ensureContainerLogDir(pod, container.name);
    const podIps = sandbox.ips;
    const readEnvFile = readEnvFileBelow;
    const base = { pod, container, podIps, volumes, facts, objects, readEnvFile };
    const { recursiveReadOnlyMounts } = container.volumeMounts?.some((m) => m.recursiveReadOnly)
      ? await this.#deps.features.handler(sandbox.runtimeHandler, signal)
      : NO_FEATURES;
    const config = containerConfig({
      ...base,
      recursiveReadOnlyMounts,
      userns: sandbox.config.security.namespaceOptions.userns?.uids,
      ...run,
      objectHashes,
      subPaths: await this.#subPaths(base, signal),
      terminationLogPath: await files.createTerminationLog(pod, container.name),
      hostsPath: await files.writeHosts(pod, sandbox.ips),
    });
    await requireSeccompProfile(config.security.seccomp);
    return config;
  }

  async #subPaths(input: EnvInput, signal: AbortSignal): Promise<Map<number, string>> {
    const prepared = new Map<number, string>();
    for (const { index, volumeName, subPath } of containerSubPaths(input)) {
      const volume = input.volumes.get(volumeName);
      if (!volume) continue;
      const { pod, container } = input;
      prepared.set(
        index,
        await this.#deps.subPaths.prepareSubPath(pod, container, index, volume, subPath, signal),
      );
    }
    return prepared;
  }

  async #postStart(
    context: StartContext,
    container: Container,
    id: string,
    target: EventTarget,
    signal: AbortSignal,
  ): Promise<StartFailure | undefined> {
    const handler = container.lifecycle?.postStart;
    if (!handler) return undefined;
    const { ips } = context.sandbox;
    const onHost = context.pod.spec.hostNetwork === true;
    const where = {
      containerId: id,
      containerName: container.name,
      event: target,
      podIp: onHost ? this.#deps.facts.nodeIps[0] : ips[0],
      ports: namedPorts(container.ports),
    };
    try {
      const slot = await context.slot();
      await slot.away(() => runHook(this.#deps, handler, where, signal));
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      const { events, killer, objects } = this.#deps;
      const message = redacted(runtimeText(error), context.pod, container, objects);
      events.event(target, 'Warning', EventReason.FailedPostStartHook, 'PostStartHook failed');
      await killer.killStarted({ pod: context.pod, ips }, { id, name: container.name }, signal);
      return { reason: WaitingReason.PostStartHookError, message };
    }
  }

  /** In the event the name stands for the container's id, so that one start after the other says the same. */
  #failed(pod: Pod, container: Container, failure: StartFailure, id = ''): StartFailure {
    const { events, objects } = this.#deps;
    const message = redacted(failure.message, pod, container, objects);
    const target = containerTarget(pod, container);
    const text = id === '' ? message : message.replaceAll(id, container.name);
    events.event(target, 'Warning', EventReason.Failed, `Error: ${text}`);
    return { ...failure, message };
  }

  /** The events before it have told why; this one says what it means for the container. */
  #imageFailed(target: EventTarget, failure: StartFailure): StartFailure {
    this.#deps.events.event(target, 'Warning', EventReason.Failed, `Error: ${failure.reason}`);
    return failure;
  }
}

function asFailure(error: unknown): StartFailure {
  const reason =
    error instanceof ConfigError ? error.reason : WaitingReason.CreateContainerConfigError;
  return { reason, message: runtimeText(error) };
}
