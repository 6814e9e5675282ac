/**
 * Owns: how the containers of a pod use its volumes. Pure.
 */
import type { Pod } from '../api/pod.ts';

export interface VolumeUse {
  readonly mount: boolean;
  readonly device: boolean;
}

/** By volume name; volumes that no container uses are missing. */
export function volumeUses(pod: Pod): Map<string, VolumeUse> {
  const uses = new Map<string, VolumeUse>();
  const add = (name: string, use: Partial<VolumeUse>): void => {
    uses.set(name, { ...(uses.get(name) ?? { mount: false, device: false }), ...use });
  };
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) {
    for (const { name } of container.volumeMounts ?? []) add(name, { mount: true });
    for (const { name } of container.volumeDevices ?? []) add(name, { device: true });
  }
  return uses;
}
