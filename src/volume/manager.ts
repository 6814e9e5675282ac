/**
 * Owns: the volumes of pods: set up before their containers start, taken away after all have ended
 * (spec: volumes.md §2–8).
 * Invariants: only volumes that some container mounts are set up; every call may be repeated, cut off,
 * and comes right after a crash or a restart of the agent: the disk and the mount table are the state.
 * Leaves to others: when it is called and retried (pod/), the mounts inside containers (runtime/).
 */
import { mkdir, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { AllocatableFacts } from '../api/downward.ts';
import type { Container, Pod } from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';
import type { Clock } from '../util/clock.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { writeAtomically } from './atomic-writer.ts';
import { downwardFiles, nestedMountPoints } from './downward-volume.ts';
import { mediumOf } from './empty-dir-medium.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { applyFsGroup } from './fs-group.ts';
import { setUpHostPath } from './host-path.ts';
import type { MountedVolume } from './model.ts';
import { SystemMounter } from './mounter.ts';
import type { Mounter } from './mounter.ts';
import { pluginsDir, podDir, podsDir, subPathTarget, volumeDir, volumeMetaDir } from './paths.ts';
import type { VolumePlugin } from './paths.ts';
import { refuseForeign } from './source.ts';
import { bindSubPath } from './sub-path.ts';
import { tearDownDir } from './tear-down.ts';
import { errnoOf, volumeError } from './volume-error.ts';

export interface VolumeManagerDeps {
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What the node can give to pods; `memory` bounds every tmpfs. */
  readonly allocatable: AllocatableFacts;
  readonly mounter?: Mounter;
}

export class VolumeManager {
  readonly #deps: VolumeManagerDeps;
  readonly #mounter: Mounter;

  constructor(deps: VolumeManagerDeps) {
    this.#deps = deps;
    this.#mounter = deps.mounter ?? new SystemMounter();
  }

  /** By volume name. Throws one IsletError that names every volume that could not be set up. */
  async setUp(pod: Pod, signal: AbortSignal): Promise<Map<string, MountedVolume>> {
    const names = mountedNames(pod);
    const wanted = (pod.spec.volumes ?? []).filter(({ name }) => names.has(name));
    await this.#makePodDir(pod);
    const mounted = new Map<string, MountedVolume>();
    const failures: IsletError[] = [];
    const setUps = wanted.map(async (volume) => {
      try {
        mounted.set(volume.name, await this.#setUpOne(pod, volume, signal));
      } catch (cause) {
        failures.push(setUpFailure(volume.name, cause));
      }
    });
    await Promise.all(setUps);
    if (failures.length === 0) return mounted;
    if (signal.aborted) throw new IsletError('aborted', 'setting up volumes: aborted');
    throw joined(failures);
  }

  /** Unmounts and removes everything of a pod; to be called when all its containers have ended. */
  async tearDown(uid: string, signal: AbortSignal): Promise<void> {
    const { rootDir, clock, logger } = this.#deps;
    const deps = { mounter: this.#mounter, clock, logger };
    await tearDownDir(podDir(rootDir, uid), deps, signal);
  }

  /** Uids of all pods that have a directory. */
  async podsOnDisk(): Promise<string[]> {
    try {
      const entries = await readdir(podsDir(this.#deps.rootDir), { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    } catch (cause) {
      if (errnoOf(cause) === 'ENOENT') return [];
      throw volumeError('listing pod directories', cause);
    }
  }

  /**
   * What the runtime is to mount for a sub path of a volume; missing directories are made. To be asked
   * before every start of the container: a file may have been replaced since.
   */
  async prepareSubPath(
    pod: Pod,
    container: Container,
    mountIndex: number,
    volume: MountedVolume,
    subPath: string,
    signal: AbortSignal,
  ): Promise<string> {
    const mount = container.volumeMounts?.[mountIndex];
    if (mount === undefined || volume.kind !== 'path') {
      throw new IsletError(
        'invalid',
        `container ${container.name} has no mount ${mountIndex} of a path`,
      );
    }
    const { uid } = pod.metadata;
    const target = subPathTarget(this.#deps.rootDir, uid, mount.name, container.name, mountIndex);
    try {
      const request = { volumePath: volume.hostPath, subPath, target };
      await bindSubPath(request, this.#mounter, signal);
      return target;
    } catch (cause) {
      const what = `volumeMount "${mount.name}" of container "${container.name}"`;
      throw rewrapped(`failed to prepare subPath for ${what}: ${messageOf(cause)}`, cause);
    }
  }

  async #makePodDir(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    try {
      await mkdir(pluginsDir(this.#deps.rootDir, uid), { recursive: true, mode: 0o750 });
    } catch (cause) {
      throw volumeError('making pod data directories', cause);
    }
  }

  async #setUpOne(pod: Pod, volume: Volume, signal: AbortSignal): Promise<MountedVolume> {
    if (volume.hostPath !== undefined) {
      await setUpHostPath(volume.hostPath);
      return {
        kind: 'path',
        hostPath: volume.hostPath.path,
        readOnly: false,
        selinuxRelabel: false,
      };
    }
    if (volume.image !== undefined) {
      return { kind: 'image', reference: volume.image.reference ?? '' };
    }
    if (volume.downwardAPI !== undefined) return this.#setUpDownward(pod, volume, signal);
    refuseForeign(volume);
    // A volume without any source is an emptyDir, as in the API.
    const source = volume.emptyDir ?? {};
    const hostPath = await this.#makeDir(pod, volume.name, 'empty-dir', source, false, signal);
    return { kind: 'path', hostPath, readOnly: false, selinuxRelabel: true };
  }

  async #setUpDownward(pod: Pod, volume: Volume, signal: AbortSignal): Promise<MountedVolume> {
    const { allocatable, clock } = this.#deps;
    const files = downwardFiles(pod, volume.downwardAPI ?? {}, allocatable);
    const source = { medium: 'Memory' };
    const dir = await this.#makeDir(pod, volume.name, 'downward-api', source, true, signal);
    for (const path of nestedMountPoints(pod, volume.name)) {
      await mkdir(join(dir, path), { recursive: true, mode: 0o755 });
    }
    const own = (version: string): Promise<void> => this.#giveToGroup(pod, version, true, signal);
    await writeAtomically({ dir, files, nowMs: clock.wall(), own });
    return { kind: 'path', hostPath: dir, readOnly: true, selinuxRelabel: true };
  }

  /** The directory of a volume on the medium asked for, given to the fsGroup when it is new. */
  async #makeDir(
    pod: Pod,
    volume: string,
    plugin: VolumePlugin,
    source: { medium?: string; sizeLimit?: string },
    readOnly: boolean,
    signal: AbortSignal,
  ): Promise<string> {
    const { allocatable } = this.#deps;
    const { uid } = pod.metadata;
    const rootDir = await realpath(this.#deps.rootDir);
    const dir = volumeDir(rootDir, uid, plugin, volume);
    const place = { dir, metaDir: volumeMetaDir(rootDir, uid, plugin, volume) };
    const medium = mediumOf(source, pod, allocatable.memory);
    const onFresh = (): Promise<void> => this.#giveToGroup(pod, dir, readOnly, signal);
    await setUpEmptyDir(place, medium, this.#mounter, onFresh, signal);
    return dir;
  }

  async #giveToGroup(pod: Pod, dir: string, readOnly: boolean, signal: AbortSignal): Promise<void> {
    const gid = pod.spec.securityContext.fsGroup;
    if (gid === undefined) return;
    const onError = (path: string, err: unknown): void =>
      this.#deps.logger.warn('giving a file of a volume to the fsGroup failed', { path, err });
    await applyFsGroup(dir, { gid, readOnly, signal, onError });
  }
}

/** Volumes that some container uses; the others are never set up. */
function mountedNames(pod: Pod): Set<string> {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return new Set(
    [...initContainers, ...containers, ...ephemeralContainers].flatMap((c) => [
      ...(c.volumeMounts ?? []).map((m) => m.name),
      ...(c.volumeDevices ?? []).map((d) => d.name),
    ]),
  );
}

function setUpFailure(volume: string, cause: unknown): IsletError {
  // Upstream's words, its space before the colon included.
  const text = `MountVolume.SetUp failed for volume "${volume}" : ${messageOf(cause)}`;
  return rewrapped(text, cause);
}

function joined(failures: readonly IsletError[]): IsletError {
  const [first] = failures;
  if (first !== undefined && failures.length === 1) return first;
  const text = failures.map(messageOf).sort().join(', ');
  return new IsletError(first?.code ?? 'failed', text, { cause: first });
}

/** Another text, the code of the cause. */
function rewrapped(text: string, cause: unknown): IsletError {
  return new IsletError(volumeError('', cause).code, text, { cause });
}
