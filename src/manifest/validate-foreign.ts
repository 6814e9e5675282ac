/**
 * Owns: validation of volume sources that need a storage driver or a cluster: what each of them cannot
 * do without. Most such pods are refused or fail to mount later; the manifest's own mistakes are said first.
 */
import type { ForeignSource, Volume } from '../api/volume.ts';
import { checkDescending } from './validate-path.ts';
import type { Findings } from './validation.ts';

/** Fields that must not be empty, by source. */
const REQUIRED = {
  nfs: ['server', 'path'],
  iscsi: ['targetPortal', 'iqn'],
  gcePersistentDisk: ['pdName'],
  awsElasticBlockStore: ['volumeID'],
  gitRepo: ['repository'],
  glusterfs: ['endpoints', 'path'],
  rbd: ['monitors', 'image'],
  flexVolume: ['driver'],
  cinder: ['volumeID'],
  cephfs: ['monitors'],
  azureFile: ['secretName', 'shareName'],
  azureDisk: ['diskName', 'diskURI'],
  vsphereVolume: ['volumePath'],
  quobyte: ['registry', 'volume'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  storageos: ['volumeName'],
  csi: ['driver'],
  ephemeral: ['volumeClaimTemplate'],
} as const satisfies Partial<Record<keyof Volume, readonly string[]>>;

export function validateForeign(findings: Findings, path: string, volume: Volume): void {
  for (const [kind, fields] of Object.entries(REQUIRED)) {
    const source = volume[kind as keyof typeof REQUIRED];
    if (!source) continue;
    for (const field of fields) {
      if (isEmpty(source[field])) findings.required(`${path}.${kind}.${field}`);
    }
  }
  const { nfs, iscsi, fc, gitRepo, flocker, quobyte } = volume;
  if (nfs && textOf(nfs, 'path') !== '' && !textOf(nfs, 'path').startsWith('/')) {
    findings.invalid(`${path}.nfs.path`, textOf(nfs, 'path'), 'must be an absolute path');
  }
  if (iscsi) validateIscsi(findings, `${path}.iscsi`, iscsi);
  if (fc) validateFc(findings, `${path}.fc`, fc);
  if (gitRepo) checkDescending(findings, `${path}.gitRepo.directory`, textOf(gitRepo, 'directory'));
  if (flocker) validateFlocker(findings, `${path}.flocker`, flocker);
  for (const kind of ['gcePersistentDisk', 'awsElasticBlockStore'] as const) {
    checkSmall(findings, `${path}.${kind}.partition`, volume[kind]?.partition);
  }
  if (quobyte && textOf(quobyte, 'tenant').length > 64) {
    const at = `${path}.quobyte.tenant`;
    findings.required(at, 'must be a UUID and may not exceed a length of 64 characters');
  }
  validateAzureDisk(findings, `${path}.azureDisk`, volume.azureDisk);
}

function textOf(source: ForeignSource, field: string): string {
  const value = source[field];
  return typeof value === 'string' ? value : '';
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}

function checkSmall(findings: Findings, path: string, value: unknown): void {
  if (typeof value === 'number') findings.between(path, value, 0, 255);
}

function validateIscsi(findings: Findings, path: string, source: ForeignSource): void {
  const iqn = textOf(source, 'iqn');
  const form =
    /(?:^iqn\.\d{4}-\d{2}\.[a-zA-Z0-9.-]+:[^,;*&$|\s]+|^eui\.[0-9A-Za-z]{16}|^naa\.[0-9A-Za-z]{32})$/;
  if (iqn !== '' && !form.test(iqn)) findings.invalid(`${path}.iqn`, iqn, 'must be valid format');
  checkSmall(findings, `${path}.lun`, source.lun);
  const chap = source.chapAuthDiscovery === true || source.chapAuthSession === true;
  if (chap && source.secretRef === undefined) findings.required(`${path}.secretRef`);
}

function validateFc(findings: Findings, path: string, source: ForeignSource): void {
  const names = !isEmpty(source.targetWWNs);
  const ids = !isEmpty(source.wwids);
  if (!names && !ids) {
    const detail = 'must specify either targetWWNs or wwids, but not both';
    findings.required(`${path}.targetWWNs`, detail);
  }
  if (names && ids) {
    const detail = 'targetWWNs and wwids can not be specified simultaneously';
    findings.invalid(`${path}.targetWWNs`, source.targetWWNs, detail);
  }
  if (!names) return;
  if (source.lun === undefined) {
    findings.required(`${path}.lun`, 'lun is required if targetWWNs is specified');
  } else {
    checkSmall(findings, `${path}.lun`, source.lun);
  }
}

function validateFlocker(findings: Findings, path: string, source: ForeignSource): void {
  const name = textOf(source, 'datasetName');
  const id = textOf(source, 'datasetUUID');
  if (name === '' && id === '')
    findings.required(path, 'one of datasetName and datasetUUID is required');
  if (name !== '' && id !== '') {
    const detail = 'resource names datasetName and datasetUUID can not be specified simultaneously';
    findings.invalid(path, name, detail);
  }
  if (name.includes('/')) findings.invalid(`${path}.datasetName`, name, "must not contain '/'");
}

function validateAzureDisk(
  findings: Findings,
  path: string,
  source: ForeignSource | undefined,
): void {
  if (!source) return;
  findings.oneOf(`${path}.cachingMode`, textOf(source, 'cachingMode'), [
    'None',
    'ReadOnly',
    'ReadWrite',
  ]);
  findings.oneOf(`${path}.kind`, textOf(source, 'kind'), ['Dedicated', 'Managed', 'Shared']);
  const uri = textOf(source, 'diskURI');
  const managed = textOf(source, 'kind') === 'Managed';
  const start = managed ? '/subscriptions/' : 'https://';
  if (uri !== '' && !uri.startsWith(start)) findings.unsupported(`${path}.diskURI`, uri, [start]);
}
