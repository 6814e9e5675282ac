/**
 * Owns: where things of a pod are below the root directory (spec: volumes.md §1).
 * Invariant: a uid or a name that comes from a manifest is one path component; anything else is
 * refused, so no path leaves the root.
 */
import { join } from 'node:path';
import { IsletError } from '../util/errors.ts';

export type VolumePlugin =
  'empty-dir' | 'configmap' | 'secret' | 'downward-api' | 'projected' | 'local-volume';

const LONGEST_NAME_BYTES = 255;

export function podsDir(rootDir: string): string {
  return join(rootDir, 'pods');
}

export function podDir(rootDir: string, uid: string): string {
  return join(podsDir(rootDir), component(uid, 'pod uid'));
}

export function volumesDir(rootDir: string, uid: string): string {
  return join(podDir(rootDir, uid), 'volumes');
}

export function pluginsDir(rootDir: string, uid: string): string {
  return join(podDir(rootDir, uid), 'plugins');
}

export function volumeDir(
  rootDir: string,
  uid: string,
  plugin: VolumePlugin,
  volume: string,
): string {
  return join(volumesDir(rootDir, uid), pluginDirName(plugin), component(volume, 'volume name'));
}

/** Holds the marker that says that the volume is set up. */
export function volumeMetaDir(
  rootDir: string,
  uid: string,
  plugin: VolumePlugin,
  volume: string,
): string {
  return join(pluginsDir(rootDir, uid), pluginDirName(plugin), component(volume, 'volume name'));
}

/** What a claim stands for, below the directory of all of them. */
export function claimPath(persistentVolumeDir: string, namespace: string, claim: string): string {
  return join(
    persistentVolumeDir,
    component(namespace, 'namespace'),
    component(claim, 'claim name'),
  );
}

/** What the runtime is given for a mount with a sub path; `index` counts in `volumeMounts`. */
export function subPathTarget(
  rootDir: string,
  uid: string,
  volume: string,
  container: string,
  index: number,
): string {
  return join(
    podDir(rootDir, uid),
    'volume-subpaths',
    component(volume, 'volume name'),
    component(container, 'container name'),
    String(index),
  );
}

/** Termination logs, `<8 hex digits>` each. */
export function containerDir(rootDir: string, uid: string, container: string): string {
  return join(podDir(rootDir, uid), 'containers', component(container, 'container name'));
}

export function etcHostsPath(rootDir: string, uid: string): string {
  return join(podDir(rootDir, uid), 'etc-hosts');
}

/** The kubelet's escaped plugin names: `kubernetes.io~empty-dir`. */
function pluginDirName(plugin: VolumePlugin): string {
  return `kubernetes.io~${plugin}`;
}

/** Throws IsletError `invalid` for what is not exactly one path component. */
function component(value: string, what: string): string {
  const escapes = value === '' || value === '.' || value === '..' || /[/\0]/.test(value);
  if (escapes || Buffer.byteLength(value) > LONGEST_NAME_BYTES) {
    throw new IsletError('invalid', `${what} ${JSON.stringify(value)} is no name of a directory`);
  }
  return value;
}
