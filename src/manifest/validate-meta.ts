/**
 * Owns: validation of metadata. Names are checked with the node's suffix, as upstream does.
 */
import type { ObjectMeta, Pod } from '../api/pod.ts';
import type { Findings } from './validation.ts';
import {
  labelProblems,
  labelValueProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from './validation.ts';

const MAX_ANNOTATION_BYTES = 256 * 1024;
const STANDARD_FINALIZERS = ['kubernetes', 'orphan', 'foregroundDeletion'];
const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
/** What becomes a part of paths and cgroup names. */
const UID = /^[A-Za-z0-9][-A-Za-z0-9_.]{0,127}$/;

export function validateMetadata(findings: Findings, pod: Pod): void {
  const { metadata } = pod;
  const { generateName } = metadata;
  if (generateName !== undefined) {
    const stem = generateName.replace(/-$/, 'a');
    findings.all('metadata.generateName', generateName, subdomainProblems(stem));
  }
  findings.all('metadata.name', metadata.name, subdomainProblems(metadata.name));
  findings.all('metadata.namespace', metadata.namespace, labelProblems(metadata.namespace));
  // Unlike the kubelet, which crashes on such a uid: it must not lead out of a directory.
  if (!UID.test(metadata.uid)) {
    const detail =
      'must consist of at most 128 letters, digits, "-", "_" or ".", a letter or digit first';
    findings.invalid('metadata.uid', metadata.uid, detail);
  }
  findings.nonNegative('metadata.generation', metadata.generation);
  validateLabels(findings, 'metadata.labels', metadata.labels);
  validateAnnotations(findings, metadata);
  validateAppArmorAnnotations(findings, pod);
  validateOwners(findings, metadata);
  for (const [index, name] of (metadata.finalizers ?? []).entries()) {
    validateFinalizer(findings, `metadata.finalizers[${index}]`, name);
  }
  validateManagedFields(findings, metadata);
}

/** Labels, and maps that select by them. */
export function validateLabels(
  findings: Findings,
  path: string,
  labels: Record<string, string> | undefined,
): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    findings.all(`${path}[${key}]`, key, qualifiedNameProblems(key));
    findings.all(`${path}[${key}]`, value, labelValueProblems(value));
  }
}

function validateAnnotations(findings: Findings, { annotations = {} }: ObjectMeta): void {
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    const problems = qualifiedNameProblems(key.toLowerCase(), 'a valid label key');
    findings.all(`metadata.annotations[${key}]`, key, problems);
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > MAX_ANNOTATION_BYTES) findings.tooLong('metadata.annotations', MAX_ANNOTATION_BYTES);
}

function validateAppArmorAnnotations(findings: Findings, pod: Pod): void {
  const { spec, metadata } = pod;
  const names = [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name);
  for (const [key, profile] of Object.entries(metadata.annotations ?? {})) {
    if (!key.startsWith(APPARMOR_PREFIX)) continue;
    const path = `metadata.annotations[${key}]`;
    const container = key.slice(APPARMOR_PREFIX.length);
    if (!names.includes(container)) findings.invalid(path, container, 'container not found');
    if (!/^(?:|runtime\/default|unconfined|localhost\/.+)$/.test(profile)) {
      findings.invalid(path, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`);
    }
  }
}

function validateOwners(findings: Findings, { ownerReferences = [] }: ObjectMeta): void {
  for (const [index, owner] of ownerReferences.entries()) {
    const path = `metadata.ownerReferences[${index}]`;
    if (owner.apiVersion === '')
      findings.invalid(`${path}.apiVersion`, '', 'version must not be empty');
    for (const field of ['kind', 'name', 'uid'] as const) {
      if (owner[field] === '') findings.invalid(`${path}.${field}`, '', 'must not be empty');
    }
  }
  if (ownerReferences.filter(({ controller }) => controller).length > 1) {
    const detail = 'only one reference can have controller set to true';
    findings.invalid('metadata.ownerReferences', ownerReferences.length, detail);
  }
}

function validateFinalizer(findings: Findings, path: string, name: string): void {
  const problems = qualifiedNameProblems(name);
  findings.all(path, name, problems);
  if (problems.length === 0 && !name.includes('/') && !STANDARD_FINALIZERS.includes(name)) {
    const detail = 'name is neither a standard finalizer name nor is it fully qualified';
    findings.invalid(path, name, detail);
  }
}

function validateManagedFields(findings: Findings, { managedFields = [] }: ObjectMeta): void {
  for (const [index, field] of managedFields.entries()) {
    const { operation, fieldsType } = field as { operation?: string; fieldsType?: string };
    const path = `metadata.managedFields[${index}]`;
    if (operation !== 'Apply' && operation !== 'Update') {
      findings.invalid(`${path}.operation`, operation ?? '', 'must be `Apply` or `Update`');
    }
    if (fieldsType !== undefined && fieldsType !== 'FieldsV1') {
      findings.invalid(`${path}.fieldsType`, fieldsType, 'must be `FieldsV1`');
    }
  }
}
