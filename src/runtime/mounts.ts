/**
 * Owns: the mounts of a container, in the kubelet's order: volumes, /etc/hosts, termination log.
 * Leaves to others: preparing volumes, sub paths and files on the host (volume/); this file only
 * says what is mounted where. Rules: spec cri-mapping.md §3.3 and §3.4.
 */
import path from 'node:path';
import type { Container, VolumeMount } from '../api/pod.ts';
import type { IdMapping, Mount, MountPropagation } from '../cri/model.ts';
import type { MountedVolume } from '../volume/model.ts';
import { ConfigError } from './config-error.ts';
import type { EnvVars } from './expand.ts';
import { expandStrictly } from './expand.ts';

export type { MountedVolume };

/** A sub path that must be prepared on the host before the container is created. */
export interface SubPathRequest {
  /** Index in the container's `volumeMounts`. */
  readonly index: number;
  readonly volumeName: string;
  /** Host path of the volume. */
  readonly hostPath: string;
  /** Relative, without `..`. */
  readonly subPath: string;
}

export interface MountsInput {
  readonly container: Container;
  readonly env: EnvVars;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** Host path of each volume mount that has a sub path, by its index in `volumeMounts`. */
  readonly subPaths: ReadonlyMap<number, string>;
  /** What the runtime calls the image of each image volume, by volume name; else its reference. */
  readonly imageRefs?: ReadonlyMap<string, string> | undefined;
  /** Told to the runtime with each image. */
  readonly podAnnotations?: Record<string, string> | undefined;
  /**
   * Host file for /etc/hosts; undefined: the pod has neither addresses nor the host's network. A
   * container that mounts something there itself keeps its own.
   */
  readonly hostsPath: string | undefined;
  readonly terminationLogPath: string;
  readonly selinuxEnabled: boolean;
  /** Whether the runtime can make what is mounted below a read-only mount read-only too. */
  readonly recursiveReadOnlyMounts?: boolean | undefined;
  /** Id mappings of a pod with its own user namespace, for every mount. */
  readonly userns: readonly IdMapping[] | undefined;
}

/** A block device is passed to containers, not mounted. */
type MountableVolume = Exclude<MountedVolume, { kind: 'device' }>;

const HOSTS_PATH = '/etc/hosts';

const PROPAGATION = new Map<string, MountPropagation>([
  ['HostToContainer', 'host-to-container'],
  ['Bidirectional', 'bidirectional'],
]);

/** @throws ConfigError for a missing volume, a bad sub path or an unsupported wish. */
export function containerMounts(input: MountsInput): Mount[] {
  const relabel = input.selinuxEnabled;
  const mappings = input.userns
    ? { uidMappings: [...input.userns], gidMappings: [...input.userns] }
    : {};
  const mounts: Mount[] = (input.container.volumeMounts ?? []).map((mount, index) => ({
    ...volumeMount(input, mount, index),
    ...mappings,
  }));
  const ownHosts = mounts.some((mount) => mount.containerPath === HOSTS_PATH);
  if (input.hostsPath !== undefined && !ownHosts) {
    mounts.push(fileMount(HOSTS_PATH, input.hostsPath, relabel, mappings));
  }
  const { terminationMessagePath } = input.container;
  if (terminationMessagePath !== '' && input.terminationLogPath !== '') {
    mounts.push(fileMount(terminationMessagePath, input.terminationLogPath, relabel, mappings));
  }
  return mounts;
}

function fileMount(
  containerPath: string,
  hostPath: string,
  selinuxRelabel: boolean,
  mappings: Partial<Mount>,
): Mount {
  return { containerPath, hostPath, readonly: false, selinuxRelabel, ...mappings };
}

function volumeMount(input: MountsInput, mount: VolumeMount, index: number): Mount {
  const volume = volumeOf(input, mount);
  const recursiveReadOnly = isRecursiveReadOnly(mount, input.recursiveReadOnlyMounts === true);
  const subPath = mountSubPath(mount, input.env);
  const base = {
    containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
    propagation: PROPAGATION.get(mount.mountPropagation ?? '') ?? ('private' as const),
    ...(recursiveReadOnly && { recursiveReadOnly }),
  };
  if (volume.kind === 'image') {
    return {
      ...base,
      hostPath: '',
      // The layers of an image belong to everyone who uses it.
      readonly: true,
      image: {
        image: input.imageRefs?.get(mount.name) ?? volume.reference,
        userSpecifiedImage: volume.reference,
        ...(input.podAnnotations && { annotations: input.podAnnotations }),
      },
      ...(subPath === '' ? {} : { imageSubPath: subPath }),
    };
  }
  return {
    ...base,
    hostPath: subPath === '' ? volume.hostPath : preparedSubPath(input, mount, index),
    readonly: mount.readOnly === true || volume.readOnly,
    selinuxRelabel: volume.selinuxRelabel && input.selinuxEnabled,
  };
}

function volumeOf(
  input: Pick<MountsInput, 'volumes' | 'container'>,
  mount: VolumeMount,
): MountableVolume {
  const volume = input.volumes.get(mount.name);
  if (volume && volume.kind !== 'device') return volume;
  throw new ConfigError(
    `cannot find volume "${mount.name}" to mount into container "${input.container.name}"`,
  );
}

/**
 * Unlike the kubelet: which without an API server supports this nowhere, islet does as the runtime can.
 * Validation has made sure that such a mount is read-only and does not propagate.
 */
function isRecursiveReadOnly(mount: VolumeMount, supported: boolean): boolean {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled' || supported) return mode !== 'Disabled';
  if (mode === 'IfPossible') return false;
  throw new ConfigError(
    `failed to resolve recursive read-only mode: volume "${mount.name}" requested recursive ` +
      'read-only mode, but it is not supported by the runtime',
  );
}

function preparedSubPath(input: MountsInput, mount: VolumeMount, index: number): string {
  const prepared = input.subPaths.get(index);
  if (prepared !== undefined) return prepared;
  throw new ConfigError(
    `failed to prepare subPath for volumeMount "${mount.name}" of container "${input.container.name}"`,
  );
}

/** The sub paths that the volume manager prepares; image volumes do that in the runtime. */
export function subPathRequests(
  container: Container,
  env: EnvVars,
  volumes: ReadonlyMap<string, MountedVolume>,
): SubPathRequest[] {
  return (container.volumeMounts ?? []).flatMap((mount, index) => {
    const volume = volumeOf({ container, volumes }, mount);
    const subPath = mountSubPath(mount, env);
    if (subPath === '' || volume.kind === 'image') return [];
    return [{ index, volumeName: mount.name, hostPath: volume.hostPath, subPath }];
  });
}

/**
 * The sub path of a mount after expansion; '' when it has none.
 * @throws ConfigError when it would leave the volume or names a variable without a value.
 */
export function mountSubPath(mount: VolumeMount, env: EnvVars): string {
  const subPath = mount.subPathExpr
    ? expandStrictly(mount.subPathExpr, env)
    : (mount.subPath ?? '');
  if (path.isAbsolute(subPath)) {
    throw new ConfigError(`error SubPath \`${subPath}\` must not be an absolute path`);
  }
  if (subPath.split('/').includes('..')) {
    throw new ConfigError(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  }
  return subPath;
}
