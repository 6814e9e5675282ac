/**
 * Owns: validation of volumes and of the sources that islet sets up itself.
 * Leaves to others: sources that need a driver or a cluster (validate-foreign.ts).
 */
import type { Pod } from '../api/pod.ts';
import { parseQuantity } from '../api/quantity.ts';
import type { HostPathSource, Volume } from '../api/volume.ts';
import { validateForeign } from './validate-foreign.ts';
import { validateDownwardItems, validateItems } from './validate-items.ts';
import { checkMode, checkNoBacksteps } from './validate-path.ts';
import { validateProjected } from './validate-projected.ts';
import type { Findings } from './validation.ts';
import { labelProblems } from './validation.ts';

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

export function validateVolumes(findings: Findings, pod: Pod): void {
  const names = new Set<string>();
  for (const [index, volume] of (pod.spec.volumes ?? []).entries()) {
    const path = `spec.volumes[${index}]`;
    const { name } = volume;
    validateSources(findings, path, volume, pod);
    if (name === '') findings.required(`${path}.name`);
    else {
      findings.all(`${path}.name`, name, labelProblems(name));
      if (names.has(name)) findings.duplicate(`${path}.name`, name);
    }
    names.add(name);
  }
}

function validateSources(findings: Findings, path: string, volume: Volume, pod: Pod): void {
  const sources = Object.keys(volume).filter((key) => key !== 'name');
  for (const source of sources.slice(1)) {
    findings.forbidden(`${path}.${source}`, 'may not specify more than 1 volume type');
  }
  if (sources.length > 1) return;
  const { emptyDir, hostPath, configMap, secret, downwardAPI, projected, image } = volume;
  const limit = emptyDir?.sizeLimit === undefined ? undefined : parseQuantity(emptyDir.sizeLimit);
  if (limit && limit.nano < 0n) {
    const detail = 'SizeLimit field must be a valid resource quantity';
    findings.forbidden(`${path}.emptyDir.sizeLimit`, detail);
  }
  if (hostPath) validateHostPath(findings, `${path}.hostPath`, hostPath);
  if (configMap) {
    const at = `${path}.configMap`;
    if ((configMap.name ?? '') === '') findings.required(`${at}.name`);
    checkMode(findings, `${at}.defaultMode`, configMap.defaultMode);
    validateItems(findings, `${at}.items`, configMap.items);
  }
  if (secret) {
    const at = `${path}.secret`;
    if ((secret.secretName ?? '') === '') findings.required(`${at}.secretName`);
    checkMode(findings, `${at}.defaultMode`, secret.defaultMode);
    validateItems(findings, `${at}.items`, secret.items);
  }
  if (downwardAPI) {
    checkMode(findings, `${path}.downwardAPI.defaultMode`, downwardAPI.defaultMode);
    validateDownwardItems(findings, `${path}.downwardAPI.items`, downwardAPI.items);
  }
  if (projected) validateProjected(findings, `${path}.projected`, projected, pod);
  if (image) {
    if ((image.reference ?? '') === '') findings.required(`${path}.image.reference`);
    findings.oneOf(`${path}.image.pullPolicy`, image.pullPolicy, PULL_POLICIES);
  }
  const claim = volume.persistentVolumeClaim;
  if (claim) {
    if (claim.claimName === '') findings.required(`${path}.persistentVolumeClaim.claimName`);
  }
  validateForeign(findings, path, volume);
}

function validateHostPath(findings: Findings, path: string, source: HostPathSource): void {
  if (source.path === '') findings.required(`${path}.path`);
  else checkNoBacksteps(findings, `${path}.path`, source.path);
  findings.oneOf(`${path}.type`, source.type, HOST_PATH_TYPES);
}
