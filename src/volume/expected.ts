/**
 * Owns: where the volumes of a pod will be once they are set up, told without touching anything. Pure.
 * Invariant: the same as what VolumeManager returns, but for links on the way.
 */
import type { Pod } from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';
import { CONTENT_PLUGIN, contentKind } from './content.ts';
import type { MountedVolume } from './model.ts';
import { claimPath, volumeDir } from './paths.ts';
import { isForeign } from './source.ts';
import { volumeUses } from './use.ts';

export interface VolumeRoots {
  readonly rootDir: string;
  readonly persistentVolumeDir: string;
}

/** By name; a volume that islet cannot set up is missing. */
export function expectedVolumes(pod: Pod, roots: VolumeRoots): Map<string, MountedVolume> {
  const uses = volumeUses(pod);
  const volumes = new Map<string, MountedVolume>();
  for (const volume of pod.spec.volumes ?? []) {
    const expected = expectedVolume(pod, volume, uses.get(volume.name)?.device === true, roots);
    if (expected) volumes.set(volume.name, expected);
  }
  return volumes;
}

function expectedVolume(
  pod: Pod,
  volume: Volume,
  asDevice: boolean,
  { rootDir, persistentVolumeDir }: VolumeRoots,
): MountedVolume | undefined {
  const { hostPath, image, persistentVolumeClaim: claim, name } = volume;
  if (hostPath) {
    return { kind: 'path', hostPath: hostPath.path, readOnly: false, selinuxRelabel: false };
  }
  if (image) return { kind: 'image', reference: image.reference ?? '' };
  if (claim) {
    const place = claimPath(persistentVolumeDir, pod.metadata.namespace, claim.claimName);
    const base = { hostPath: place, readOnly: claim.readOnly === true };
    return asDevice ? { kind: 'device', ...base } : { kind: 'path', ...base, selinuxRelabel: true };
  }
  if (isForeign(volume)) return undefined;
  const kind = contentKind(volume);
  const plugin = kind === undefined ? 'empty-dir' : CONTENT_PLUGIN[kind];
  return {
    kind: 'path',
    hostPath: volumeDir(rootDir, pod.metadata.uid, plugin, name),
    readOnly: kind !== undefined,
    selinuxRelabel: true,
  };
}
