/**
 * Owns: the names of cgroups (spec cri-mapping.md §6). A logical name is a list of parts below the root
 * of the hierarchy, e.g. `kubepods`, `burstable`, `pod<uid>`; each driver spells it in its own way.
 * Invariant: a part is one path component, whatever a manifest's uid holds.
 */
import type { Pod } from '../api/pod.ts';
import { qosClass } from '../api/qos.ts';
import type { QosClass } from '../api/status.ts';
import type { KubeletSettings } from '../config/model.ts';
import { IsletError } from '../util/errors.ts';

export type CgroupDriver = 'cgroupfs' | 'systemd';

/** Parts from the root of the hierarchy; empty: the root itself. */
export type CgroupName = readonly string[];

const PODS = 'kubepods';
const POD_PREFIX = 'pod';
const SLICE = '.slice';

/** `cgroupRoot` as configured: '' or '/' for the root. */
export function rootName(cgroupRoot: string): CgroupName {
  return cgroupRoot.split('/').filter((part) => part !== '' && part !== '.');
}

export function podsName(root: CgroupName): CgroupName {
  return [...root, PODS];
}

/** Guaranteed pods sit directly below kubepods. */
export function qosName(root: CgroupName, qos: QosClass): CgroupName {
  const pods = podsName(root);
  switch (qos) {
    case 'Guaranteed':
      return pods;
    case 'Burstable':
      return [...pods, 'burstable'];
    case 'BestEffort':
      return [...pods, 'besteffort'];
  }
}

/** @throws IsletError `invalid` for a uid that is not one path component. */
export function podName(root: CgroupName, qos: QosClass, uid: string): CgroupName {
  if (uid === '' || /[/\0]/.test(uid)) {
    throw new IsletError('invalid', `uid ${JSON.stringify(uid)} cannot name a cgroup`);
  }
  return [...qosName(root, qos), `${POD_PREFIX}${uid}`];
}

/** Path below the root of the hierarchy, with a leading slash: also what CRI takes as parent. */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'cgroupfs' ? `/${name.join('/')}` : `/${slices(name).join('/')}`;
}

/** What the runtime gets as parent of the pod's sandbox. @throws IsletError `invalid` for a bad uid. */
export function podCgroupParent(
  pod: Pod,
  settings: Pick<KubeletSettings, 'cgroupsPerQOS' | 'cgroupRoot' | 'cgroupDriver'>,
): string {
  const root = rootName(settings.cgroupRoot);
  const name = settings.cgroupsPerQOS ? podName(root, qosClass(pod), pod.metadata.uid) : root;
  return cgroupPath(name, settings.cgroupDriver);
}

/** Path of the cgroup above all pods. */
export function podsCgroupPath(
  settings: Pick<KubeletSettings, 'cgroupRoot' | 'cgroupDriver'>,
): string {
  return cgroupPath(podsName(rootName(settings.cgroupRoot)), settings.cgroupDriver);
}

/** Name of the unit of a cgroup, e.g. `kubepods-burstable.slice`; `-.slice` is the root. */
export function sliceName(name: CgroupName): string {
  return slices(name).at(-1) ?? `-${SLICE}`;
}

/** A slice's name holds its ancestors', with dashes between; so dashes in a part become underscores. */
function slices(name: CgroupName): string[] {
  const parts = name.map((part) => part.replaceAll('-', '_'));
  return parts.map((_, index) => parts.slice(0, index + 1).join('-') + SLICE);
}

/**
 * The uid behind a directory name in a QoS level, or undefined when it is no pod's. With systemd the
 * underscores of the name are the dashes of a uid.
 */
export function uidOfDirectory(
  directory: string,
  level: CgroupName,
  driver: CgroupDriver,
): string | undefined {
  if (driver === 'cgroupfs') {
    return directory.startsWith(POD_PREFIX) ? directory.slice(POD_PREFIX.length) : undefined;
  }
  const prefix = `${level.map((part) => part.replaceAll('-', '_')).join('-')}-${POD_PREFIX}`;
  if (!directory.startsWith(prefix) || !directory.endsWith(SLICE)) return undefined;
  return directory.slice(prefix.length, -SLICE.length).replaceAll('_', '-');
}
