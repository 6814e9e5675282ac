/**
 * Owns: configMap, secret, downwardAPI and projected volumes: setting up, and bringing their files up to
 * date while containers use them (spec: volumes.md §5).
 * Invariants: a volume that has content keeps it until newer content is whole, whatever fails; a first
 * set-up that fails leaves nothing behind; when nothing changed, nothing is read or written.
 * Leaves to others: which files (content.ts), writing them (atomic-writer.ts), directories (pod-dir.ts).
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfigMap, ConfigObjects, Secret } from '../api/config-object.ts';
import type { AllocatableFacts } from '../api/downward.ts';
import type { Pod } from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';
import { messageOf } from '../util/errors.ts';
import { isWritten, writeAtomically } from './atomic-writer.ts';
import type { VolumeFile } from './atomic-writer.ts';
import { CONTENT_MEDIUM, CONTENT_PLUGIN, contentFiles, contentObjects } from './content.ts';
import type { ContentKind } from './content.ts';
import type { EmptyDirPlace } from './empty-dir.ts';
import { nestedMountPoints } from './nested.ts';
import { giveToGroup } from './ownership.ts';
import type { OwnershipDeps } from './ownership.ts';
import type { PodVolumeDirs } from './pod-dir.ts';

export interface ContentVolumesDeps extends OwnershipDeps {
  readonly objects: ConfigObjects;
  readonly allocatable: AllocatableFacts;
  readonly dirs: PodVolumeDirs;
}

/** What content is made of. */
interface Origin {
  readonly pod: Pod;
  readonly objects: readonly (ConfigMap | Secret | undefined)[];
}

interface Content {
  readonly files: ReadonlyMap<string, VolumeFile>;
  readonly origin: Origin;
}

export class ContentVolumes {
  readonly #deps: ContentVolumesDeps;
  /** Of what is on disk, by pod uid and volume name. */
  readonly #origins = new Map<string, Map<string, Origin>>();

  constructor(deps: ContentVolumesDeps) {
    this.#deps = deps;
  }

  /** Returns the directory. Old content is good enough when newer cannot be had. */
  async setUp(pod: Pod, volume: Volume, kind: ContentKind, signal: AbortSignal): Promise<string> {
    const { dirs, logger } = this.#deps;
    const place = await dirs.place(pod, volume.name, CONTENT_PLUGIN[kind]);
    if (await isWritten(place.dir)) {
      try {
        await this.#update(pod, volume, place, signal);
      } catch (error) {
        signal.throwIfAborted();
        // A pod that has run with the content can be started with it again.
        const about = { pod: pod.metadata.name, volume: volume.name, error: messageOf(error) };
        logger.warn('a volume keeps its old content', about);
      }
    } else {
      await this.#setUpFirst(pod, volume, kind, place, signal);
    }
    return place.dir;
  }

  /** Throws and leaves the content as it was when there is something missing. */
  async refresh(pod: Pod, volume: Volume, kind: ContentKind, signal: AbortSignal): Promise<void> {
    if (this.#isCurrent(pod, volume)) return;
    const place = await this.#deps.dirs.place(pod, volume.name, CONTENT_PLUGIN[kind]);
    // Without its mount a volume in memory is an empty directory on the disk: not to be written to.
    if (await isWritten(place.dir)) await this.#update(pod, volume, place, signal);
  }

  forget(uid: string): void {
    this.#origins.delete(uid);
  }

  async #setUpFirst(
    pod: Pod,
    volume: Volume,
    kind: ContentKind,
    place: EmptyDirPlace,
    signal: AbortSignal,
  ): Promise<void> {
    const { dirs } = this.#deps;
    // Before anything is made: what is missing may stay missing.
    const content = this.#content(pod, volume);
    try {
      await dirs.make(pod, place, { medium: CONTENT_MEDIUM[kind] }, true, signal);
      for (const path of nestedMountPoints(pod, volume.name)) {
        await mkdir(join(place.dir, path), { recursive: true, mode: 0o755 });
      }
      await this.#write(volume, place, content, signal);
    } catch (error) {
      await dirs.unmake(place, signal);
      throw error;
    }
  }

  async #update(
    pod: Pod,
    volume: Volume,
    place: EmptyDirPlace,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#isCurrent(pod, volume)) return;
    await this.#write(volume, place, this.#content(pod, volume), signal);
  }

  #content(pod: Pod, volume: Volume): Content {
    const { objects, allocatable } = this.#deps;
    return {
      files: contentFiles({ pod, volume, objects, allocatable }),
      origin: { pod, objects: contentObjects(pod, volume, objects) },
    };
  }

  async #write(
    volume: Volume,
    { dir }: EmptyDirPlace,
    { files, origin }: Content,
    signal: AbortSignal,
  ): Promise<void> {
    const { pod } = origin;
    const own = (version: string): Promise<void> =>
      giveToGroup(pod, { dir: version, readOnly: true }, this.#deps, signal);
    await writeAtomically({ dir, files, nowMs: this.#deps.clock.wall(), own });
    const ofPod = this.#origins.get(pod.metadata.uid) ?? new Map<string, Origin>();
    this.#origins.set(pod.metadata.uid, ofPod.set(volume.name, origin));
  }

  /** Whether what is on disk was made of what there is now. */
  #isCurrent(pod: Pod, volume: Volume): boolean {
    const origin = this.#origins.get(pod.metadata.uid)?.get(volume.name);
    if (origin?.pod !== pod) return false;
    const objects = contentObjects(pod, volume, this.#deps.objects);
    return origin.objects.every((old, i) => old === objects[i]);
  }
}
