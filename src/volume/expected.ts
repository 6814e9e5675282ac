/**
 * Owns: where the volumes of a pod will be once they are set up, told without touching anything. Pure.
 * Invariant: the same as what VolumeManager returns, but for links on the way.
 */
import type { Pod } from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';
import { CONTENT_PLUGIN, contentKind } from './content.ts';
import type { MountedVolume } from './model.ts';
import { volumeDir } from './paths.ts';
import { isForeign } from './source.ts';

/** By name; a volume that islet cannot set up is missing. */
export function expectedVolumes(pod: Pod, rootDir: string): Map<string, MountedVolume> {
  const volumes = new Map<string, MountedVolume>();
  for (const volume of pod.spec.volumes ?? []) {
    const expected = expectedVolume(pod, volume, rootDir);
    if (expected) volumes.set(volume.name, expected);
  }
  return volumes;
}

function expectedVolume(pod: Pod, volume: Volume, rootDir: string): MountedVolume | undefined {
  const { hostPath, image, name } = volume;
  if (hostPath) {
    return { kind: 'path', hostPath: hostPath.path, readOnly: false, selinuxRelabel: false };
  }
  if (image) return { kind: 'image', reference: image.reference ?? '' };
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
