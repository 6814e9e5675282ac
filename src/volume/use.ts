/**
 * Owns: how the containers of a pod use its volumes. Pure.
 */
import type { Pod } from '../api/pod.ts';

export interface VolumeUse {
  readonly mount: boolean;
  readonly device: boolean;
  /** Some mount of it passes on what is mounted below, into the container or out of it. */
  readonly propagates: boolean;
}

const NO_USE: VolumeUse = { mount: false, device: false, propagates: false };

/** By volume name; volumes that no container uses are missing. */
export function volumeUses(pod: Pod): Map<string, VolumeUse> {
  const uses = new Map<string, VolumeUse>();
  const add = (name: string, use: Partial<VolumeUse>): void => {
    uses.set(name, { ...(uses.get(name) ?? NO_USE), ...use });
  };
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) {
    for (const { name, mountPropagation = 'None' } of container.volumeMounts ?? []) {
      add(name, { mount: true, ...(mountPropagation !== 'None' && { propagates: true }) });
    }
    for (const { name } of container.volumeDevices ?? []) add(name, { device: true });
  }
  return uses;
}
