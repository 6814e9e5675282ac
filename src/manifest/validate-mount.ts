/**
 * Owns: validation of a container's volumeMounts and volumeDevices against the volumes of its pod.
 */
import type { Container, PodSpec, VolumeMount } from '../api/pod.ts';
import { checkDescending, checkNoBacksteps } from './validate-path.ts';
import type { Findings } from './validation.ts';

const PROPAGATIONS = ['Bidirectional', 'HostToContainer', 'None'];
const RECURSIVE_MODES = ['Disabled', 'Enabled', 'IfPossible'];

export function validateMounts(
  findings: Findings,
  container: string,
  { volumeMounts = [], volumeDevices = [], securityContext }: Container,
  spec: PodSpec,
): void {
  const paths = new Set<string>();
  const devices = volumeDevices.map(({ name }) => name);
  for (const [index, mount] of volumeMounts.entries()) {
    const path = `${container}.volumeMounts[${index}]`;
    checkMountName(findings, path, mount.name, devices, spec);
    checkMountPath(findings, path, mount.mountPath, paths);
    if (volumeDevices.some(({ devicePath }) => devicePath === mount.mountPath)) {
      const detail = 'must not already exist as a path in volumeDevices';
      findings.invalid(`${path}.mountPath`, mount.mountPath, detail);
    }
    checkSubPaths(findings, path, mount);
    checkPropagation(findings, path, mount, securityContext?.privileged ?? false);
    checkRecursive(findings, path, mount);
  }
  const mounts = volumeMounts.map(({ name }) => name);
  validateDevices(findings, container, volumeDevices, mounts, spec);
}

function checkMountName(
  findings: Findings,
  path: string,
  name: string,
  devices: string[],
  spec: PodSpec,
): void {
  if (name === '') findings.required(`${path}.name`);
  if (!spec.volumes?.some((volume) => volume.name === name))
    findings.notFound(`${path}.name`, name);
  if (devices.includes(name)) {
    findings.invalid(`${path}.name`, name, 'must not already exist in volumeDevices');
  }
}

function checkMountPath(
  findings: Findings,
  path: string,
  mountPath: string,
  paths: Set<string>,
): void {
  if (mountPath === '') findings.required(`${path}.mountPath`);
  if (paths.has(mountPath)) findings.invalid(`${path}.mountPath`, mountPath, 'must be unique');
  paths.add(mountPath);
  // Unlike the kubelet, which finds out when the container starts.
  if (mountPath.includes(':')) {
    findings.invalid(`${path}.mountPath`, mountPath, "must not contain ':'");
  }
}

function checkSubPaths(findings: Findings, path: string, mount: VolumeMount): void {
  const { subPath = '', subPathExpr = '' } = mount;
  if (subPath !== '') checkDescending(findings, `${path}.subPath`, subPath);
  if (subPathExpr === '') return;
  if (subPath !== '') {
    const detail = 'subPathExpr and subPath are mutually exclusive';
    findings.invalid(`${path}.subPathExpr`, subPathExpr, detail);
  }
  checkDescending(findings, `${path}.subPathExpr`, subPathExpr);
}

function checkPropagation(
  findings: Findings,
  path: string,
  { mountPropagation }: VolumeMount,
  privileged: boolean,
): void {
  const at = `${path}.mountPropagation`;
  findings.oneOf(at, mountPropagation, PROPAGATIONS);
  if (mountPropagation === 'Bidirectional' && !privileged) {
    const detail = 'Bidirectional mount propagation is available only to privileged containers';
    findings.forbidden(at, detail);
  }
}

function checkRecursive(findings: Findings, path: string, mount: VolumeMount): void {
  const { recursiveReadOnly: mode, readOnly = false, mountPropagation = 'None' } = mount;
  if (mode === undefined) return;
  const at = `${path}.recursiveReadOnly`;
  findings.oneOf(at, mode, RECURSIVE_MODES);
  if (mode !== 'Enabled' && mode !== 'IfPossible') return;
  if (!readOnly) findings.forbidden(at, 'may only be specified when readOnly is true');
  if (mountPropagation !== 'None') {
    findings.forbidden(at, 'may only be specified when mountPropagation is None or not specified');
  }
}

function validateDevices(
  findings: Findings,
  container: string,
  devices: NonNullable<Container['volumeDevices']>,
  mounts: string[],
  spec: PodSpec,
): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [index, { name, devicePath }] of devices.entries()) {
    const path = `${container}.volumeDevices[${index}]`;
    const volume = spec.volumes?.find((candidate) => candidate.name === name);
    if (name === '') findings.required(`${path}.name`);
    if (names.has(name)) findings.invalid(`${path}.name`, name, 'must be unique');
    if (!volume) findings.notFound(`${path}.name`, name);
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const detail =
        'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      findings.invalid(`${path}.name`, name, detail);
    }
    if (devicePath === '') findings.required(`${path}.devicePath`);
    if (paths.has(devicePath)) findings.invalid(`${path}.devicePath`, devicePath, 'must be unique');
    checkNoBacksteps(findings, `${path}.devicePath`, devicePath);
    if (mounts.includes(name)) {
      findings.invalid(`${path}.name`, name, 'must not already exist in volumeMounts');
    }
    names.add(name);
    paths.add(devicePath);
  }
  if (devices.length > 0 && spec.hostUsers === false) {
    findings.forbidden(`${container}.volumeDevices`, 'when `hostUsers` is false');
  }
}
