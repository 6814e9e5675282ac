/**
 * Owns: which volumes of a pod have a size of their own, where they are, and how it is found out (spec:
 * volumes.md §10): directories on the node's disk by walking them, mounted media by asking the file
 * system. hostPath and image volumes have none.
 * Unlike the kubelet: a claim is a directory of the node, which may hold far more than anybody wants to
 * walk; it shows how full its file system is.
 */
import type { Pod } from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';
import { CONTENT_MEDIUM, CONTENT_PLUGIN, contentKind } from './content.ts';
import { claimPath, volumeDir } from './paths.ts';

export interface MeasuredVolume {
  readonly name: string;
  readonly dir: string;
  readonly how: 'walk' | 'statfs';
  /** Whether it counts as what the pod uses of the node's disk. */
  readonly local: boolean;
  readonly claim?: string;
}

export function measuredVolumes(
  pod: Pod,
  dirs: { readonly rootDir: string; readonly persistentVolumeDir: string },
): MeasuredVolume[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => measured(pod, volume, dirs) ?? []);
}

function measured(
  pod: Pod,
  volume: Volume,
  dirs: { readonly rootDir: string; readonly persistentVolumeDir: string },
): MeasuredVolume | undefined {
  const { name } = volume;
  const { uid, namespace } = pod.metadata;
  if (volume.emptyDir !== undefined) {
    const dir = volumeDir(dirs.rootDir, uid, 'empty-dir', name);
    const onDisk = (volume.emptyDir?.medium ?? '') === '';
    return { name, dir, how: onDisk ? 'walk' : 'statfs', local: onDisk };
  }
  if (volume.persistentVolumeClaim !== undefined) {
    const { claimName: claim } = volume.persistentVolumeClaim;
    const dir = claimPath(dirs.persistentVolumeDir, namespace, claim);
    return { name, dir, how: 'statfs', local: false, claim };
  }
  const kind = contentKind(volume);
  if (kind === undefined) return undefined;
  const onDisk = CONTENT_MEDIUM[kind] === '';
  const dir = volumeDir(dirs.rootDir, uid, CONTENT_PLUGIN[kind], name);
  return { name, dir, how: onDisk ? 'walk' : 'statfs', local: onDisk };
}
