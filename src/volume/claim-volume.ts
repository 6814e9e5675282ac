/**
 * Owns: setting up persistentVolumeClaim volumes: their directory belongs to the pod's fsGroup before a
 * container of the pod sees it, once in the life of the pod.
 * Leaves to others: what a claim stands for (claim.ts).
 */
import type { Pod } from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';
import { findClaim } from './claim.ts';
import { isMarked, mark } from './marker.ts';
import type { MountedVolume } from './model.ts';
import { giveToGroup } from './ownership.ts';
import type { OwnershipDeps } from './ownership.ts';
import { claimPath, volumeMetaDir } from './paths.ts';
import type { VolumeUse } from './use.ts';

export interface ClaimVolumeDeps extends OwnershipDeps {
  readonly rootDir: string;
  readonly persistentVolumeDir: string;
}

export async function setUpClaim(
  pod: Pod,
  volume: { name: string; source: NonNullable<Volume['persistentVolumeClaim']>; use: VolumeUse },
  deps: ClaimVolumeDeps,
  signal: AbortSignal,
): Promise<MountedVolume> {
  const { namespace, uid } = pod.metadata;
  const { claimName: claim, readOnly = false } = volume.source;
  const path = claimPath(deps.persistentVolumeDir, namespace, claim);
  const place = await findClaim({ volume: volume.name, claim, path, use: volume.use });
  if (place.kind === 'device') return { kind: 'device', hostPath: place.path, readOnly };
  const metaDir = volumeMetaDir(deps.rootDir, uid, 'local-volume', volume.name);
  if (!readOnly && !(await isMarked(metaDir))) {
    const owned = { dir: place.path, readOnly: false, persistent: true };
    await giveToGroup(pod, owned, deps, signal);
    await mark(metaDir);
  }
  return { kind: 'path', hostPath: place.path, readOnly, selinuxRelabel: true };
}
