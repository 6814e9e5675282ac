/**
 * Owns: the volumes of pods: set up before their containers start, taken away after all have ended
 * (spec: volumes.md §2–8).
 * Invariants: only volumes that some container mounts are set up; every call may be repeated, cut off,
 * and comes right after a crash or a restart of the agent: the disk and the mount table are the state.
 * Leaves to others: when it is called and retried (pod/), the mounts inside containers (runtime/).
 */
import { mkdir, readdir } from 'node:fs/promises';
import type { ConfigObjects } from '../api/config-object.ts';
import { NO_CONFIG_OBJECTS } from '../api/config-object.ts';
import type { AllocatableFacts } from '../api/downward.ts';
import type { EventRecorder } from '../api/event.ts';
import type { Container, Pod } from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';
import type { Clock } from '../util/clock.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { setUpClaim } from './claim-volume.ts';
import { contentKind } from './content.ts';
import { ContentVolumes } from './content-volume.ts';
import { setUpHostPath } from './host-path.ts';
import type { MountedVolume } from './model.ts';
import { SystemMounter } from './mounter.ts';
import type { Mounter } from './mounter.ts';
import { pluginsDir, podDir, podsDir, subPathTarget } from './paths.ts';
import { PodVolumeDirs } from './pod-dir.ts';
import { ensureShared } from './share.ts';
import { refuseForeign } from './source.ts';
import { bindSubPath, createSubPath } from './sub-path.ts';
import { tearDownDir } from './tear-down.ts';
import { volumeUses } from './use.ts';
import type { VolumeUse } from './use.ts';
import { errnoOf, volumeError } from './volume-error.ts';

export interface VolumeManagerDeps {
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventRecorder;
  /** Where the directories of PersistentVolumeClaims are; see claim.ts. */
  readonly persistentVolumeDir: string;
  /** What the node can give to pods; `memory` bounds every tmpfs. */
  readonly allocatable: AllocatableFacts;
  /** ConfigMaps and Secrets; without it there are none. */
  readonly objects?: ConfigObjects;
  readonly mounter?: Mounter;
}

export class VolumeManager {
  readonly #deps: VolumeManagerDeps;
  readonly #mounter: Mounter;
  readonly #dirs: PodVolumeDirs;
  readonly #contents: ContentVolumes;

  constructor(deps: VolumeManagerDeps) {
    const { objects = NO_CONFIG_OBJECTS, mounter = new SystemMounter() } = deps;
    this.#deps = deps;
    this.#mounter = mounter;
    this.#dirs = new PodVolumeDirs({ ...deps, mounter });
    this.#contents = new ContentVolumes({ ...deps, objects, dirs: this.#dirs });
  }

  /** By volume name. Throws one IsletError that names every volume that could not be set up. */
  async setUp(pod: Pod, signal: AbortSignal): Promise<Map<string, MountedVolume>> {
    await this.#makePodDir(pod);
    const mounted = new Map<string, MountedVolume>();
    await eachUsed(pod, signal, async (volume, use) => {
      mounted.set(volume.name, await this.#setUpOne(pod, volume, use, signal));
    });
    return mounted;
  }

  /**
   * Brings the files of the pod's configMap, secret, downwardAPI and projected volumes up to date, those
   * that are set up; cheap when nothing has changed. Throws one IsletError that names every volume that
   * keeps its old content because something is missing.
   */
  async refresh(pod: Pod, signal: AbortSignal): Promise<void> {
    if (!pod.spec.volumes?.some((volume) => contentKind(volume) !== undefined)) return;
    await eachUsed(pod, signal, async (volume) => {
      const kind = contentKind(volume);
      if (kind !== undefined) await this.#contents.refresh(pod, volume, kind, signal);
    });
  }

  /** Unmounts and removes everything of a pod; to be called when all its containers have ended. */
  async tearDown(uid: string, signal: AbortSignal): Promise<void> {
    const { rootDir, clock, logger } = this.#deps;
    const deps = { mounter: this.#mounter, clock, logger };
    this.#contents.forget(uid);
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
    const request = { volumePath: volume.hostPath, subPath, target };
    const what = `volumeMount "${mount.name}" of container "${container.name}"`;
    await named(`failed to create subPath directory for ${what}`, createSubPath(request));
    await named(
      `failed to prepare subPath for ${what}`,
      bindSubPath(request, this.#mounter, signal),
    );
    return target;
  }

  async #makePodDir(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    try {
      await mkdir(pluginsDir(this.#deps.rootDir, uid), { recursive: true, mode: 0o750 });
    } catch (cause) {
      throw volumeError('making pod data directories', cause);
    }
  }

  async #setUpOne(
    pod: Pod,
    volume: Volume,
    use: VolumeUse,
    signal: AbortSignal,
  ): Promise<MountedVolume> {
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
    if (volume.persistentVolumeClaim !== undefined) {
      const claim = { name: volume.name, source: volume.persistentVolumeClaim, use };
      return setUpClaim(pod, claim, this.#deps, signal);
    }
    refuseForeign(volume);
    const hostPath = await this.#setUpDir(pod, volume, signal);
    if (use.propagates) await ensureShared(hostPath, this.#mounter, signal);
    const readOnly = contentKind(volume) !== undefined;
    return { kind: 'path', hostPath, readOnly, selinuxRelabel: true };
  }

  /** The directory below the pod's that the volume is. */
  async #setUpDir(pod: Pod, volume: Volume, signal: AbortSignal): Promise<string> {
    const kind = contentKind(volume);
    if (kind !== undefined) return this.#contents.setUp(pod, volume, kind, signal);
    const place = await this.#dirs.place(pod, volume.name, 'empty-dir');
    // A volume without any source is an emptyDir, as in the API.
    await this.#dirs.make(pod, place, volume.emptyDir ?? {}, false, signal);
    return place.dir;
  }
}

/** One after the other would make a pod wait; each is tried whatever becomes of the others. */
async function eachUsed(
  pod: Pod,
  signal: AbortSignal,
  action: (volume: Volume, use: VolumeUse) => Promise<void>,
): Promise<void> {
  const uses = volumeUses(pod);
  const failures: IsletError[] = [];
  const actions = (pod.spec.volumes ?? []).map(async (volume) => {
    const use = uses.get(volume.name);
    if (use === undefined) return;
    try {
      await action(volume, use);
    } catch (cause) {
      failures.push(setUpFailure(volume.name, cause));
    }
  });
  await Promise.all(actions);
  if (failures.length === 0) return;
  if (signal.aborted) throw new IsletError('aborted', 'setting up volumes: aborted');
  throw joined(failures);
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

async function named(text: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    throw rewrapped(`${text}: ${messageOf(cause)}`, cause);
  }
}

/** Another text, the code of the cause. */
function rewrapped(text: string, cause: unknown): IsletError {
  return new IsletError(volumeError('', cause).code, text, { cause });
}
