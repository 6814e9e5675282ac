/**
 * Owns: the directories that stand for volumes below a pod's directory: made on the medium asked for,
 * given to the fsGroup while new, taken away again when the set-up fails half-way.
 * Invariant: paths are free of symbolic links, as the mount table knows them.
 */
import { realpath, rm } from 'node:fs/promises';
import type { AllocatableFacts } from '../api/downward.ts';
import type { Pod } from '../api/pod.ts';
import type { EmptyDirSource } from '../api/volume.ts';
import { mediumOf } from './empty-dir-medium.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import type { EmptyDirPlace } from './empty-dir.ts';
import type { Mounter } from './mounter.ts';
import { giveToGroup } from './ownership.ts';
import type { OwnershipDeps } from './ownership.ts';
import { volumeDir, volumeMetaDir } from './paths.ts';
import type { VolumePlugin } from './paths.ts';
import { tearDownDir } from './tear-down.ts';

export interface PodVolumeDirsDeps extends OwnershipDeps {
  readonly rootDir: string;
  readonly allocatable: AllocatableFacts;
  readonly mounter: Mounter;
}

export class PodVolumeDirs {
  readonly #deps: PodVolumeDirsDeps;

  constructor(deps: PodVolumeDirsDeps) {
    this.#deps = deps;
  }

  /** Where the volume is or will be. */
  async place(pod: Pod, volume: string, plugin: VolumePlugin): Promise<EmptyDirPlace> {
    const rootDir = await realpath(this.#deps.rootDir);
    const { uid } = pod.metadata;
    // As upstream, where every other kind of directory is an emptyDir within.
    const marker = plugin === 'empty-dir' ? volume : `wrapped_${volume}`;
    return {
      dir: volumeDir(rootDir, uid, plugin, volume),
      metaDir: volumeMetaDir(rootDir, uid, 'empty-dir', marker),
    };
  }

  async make(
    pod: Pod,
    place: EmptyDirPlace,
    source: EmptyDirSource,
    readOnly: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { allocatable, mounter } = this.#deps;
    const medium = mediumOf(source, pod, allocatable.memory);
    const onFresh = (): Promise<void> =>
      giveToGroup(pod, { dir: place.dir, readOnly }, this.#deps, signal);
    await setUpEmptyDir(place, medium, mounter, onFresh, signal);
  }

  /** Best effort: whoever sets the volume up next can go on with what is left. */
  async unmake(place: EmptyDirPlace, signal: AbortSignal): Promise<void> {
    try {
      await rm(place.metaDir, { recursive: true, force: true });
      await tearDownDir(place.dir, this.#deps, signal);
    } catch (err) {
      if (signal.aborted) return;
      this.#deps.logger.warn('a volume that could not be set up is left', { dir: place.dir, err });
    }
  }
}
