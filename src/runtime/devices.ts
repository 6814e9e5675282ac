/**
 * Owns: the devices of a container: the block devices that its `volumeDevices` name (spec
 * cri-mapping.md §3). Pure.
 */
import type { Container } from '../api/pod.ts';
import type { ContainerConfig } from '../cri/model.ts';
import type { MountedVolume } from '../volume/model.ts';
import { ConfigError } from './config-error.ts';

/** @throws ConfigError for a volume that is missing or no block device. */
export function containerDevices(
  container: Container,
  volumes: ReadonlyMap<string, MountedVolume>,
): ContainerConfig['devices'] {
  return (container.volumeDevices ?? []).map(({ name, devicePath }) => {
    const volume = volumes.get(name);
    if (volume?.kind !== 'device') {
      throw new ConfigError(
        `cannot find volume "${name}" to pass into container "${container.name}"`,
      );
    }
    return {
      containerPath: devicePath,
      hostPath: volume.hostPath,
      permissions: volume.readOnly ? 'r' : 'mrw',
    };
  });
}
