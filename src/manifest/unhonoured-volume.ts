/**
 * Owns: volumes that need what a standalone node does not have (see unhonoured.ts).
 */
import type { PodSpec } from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';
import type { Say } from './unhonoured.ts';

/** Sources of other machines and other times; those that name an API object are refused, not warned about. */
const DRIVERS = [
  'nfs',
  'iscsi',
  'fc',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'gitRepo',
  'rbd',
  'flexVolume',
  'cinder',
  'cephfs',
  'flocker',
  'azureDisk',
  'vsphereVolume',
  'quobyte',
  'photonPersistentDisk',
  'portworxVolume',
  'scaleIO',
  'storageos',
] as const satisfies readonly (keyof Volume)[];

export function unhonouredVolumes(spec: PodSpec, say: Say): void {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const mounted = new Set(
    containers
      .flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices])
      .map(({ name }) => name),
  );
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    const path = `spec.volumes[${index}]`;
    if (!mounted.has(volume.name)) {
      // As on a kubelet; then nothing else about it can fail either.
      say(path, 'no container mounts this volume: it is not set up');
      continue;
    }
    const driver = DRIVERS.find((kind) => volume[kind] !== undefined);
    if (driver !== undefined) {
      const message = `volumes of type ${driver} are not supported: who mounts it does not start`;
      say(`${path}.${driver}`, message);
    }
  }
}
