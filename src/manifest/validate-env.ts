/**
 * Owns: validation of env and envFrom, and of the references that volumes share with them: fieldRef
 * and resourceFieldRef.
 */
import type {
  Container,
  EnvVarSource,
  KeySelector,
  ObjectFieldSelector,
  PodSpec,
  ResourceFieldSelector,
} from '../api/pod.ts';
import { parseQuantity } from '../api/quantity.ts';
import { checkDescending } from './validate-path.ts';
import type { Findings } from './validation.ts';
import {
  configKeyProblems,
  labelProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from './validation.ts';

const ENV_NAME = /^[ -<>-~]+$/;
const ENV_NAME_FORM =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";

const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const VOLUME_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
];
/** Fields that have a name at all; each place supports some of them. */
const FIELD_LABELS = [
  ...ENV_FIELDS,
  ...VOLUME_FIELDS,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  'spec.host',
];
const RESOURCES = ['cpu', 'ephemeral-storage', 'memory'].flatMap((name) => [
  `limits.${name}`,
  `requests.${name}`,
]);
const CPU_DIVISORS = ['1m', '1'];
const BYTE_DIVISORS = '1 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei'.split(' ');

export function validateEnv(
  findings: Findings,
  container: string,
  { env = [] }: Container,
  spec: PodSpec,
): void {
  for (const [index, { name, value = '', valueFrom }] of env.entries()) {
    const path = `${container}.env[${index}]`;
    if (name === '') findings.required(`${path}.name`);
    else if (!ENV_NAME.test(name)) findings.invalid(`${path}.name`, name, ENV_NAME_FORM);
    if (!valueFrom) continue;
    const at = `${path}.valueFrom`;
    const sources = Object.keys(valueFrom).length;
    if (sources === 0) {
      const detail =
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
      findings.invalid(at, '', detail);
    }
    validateSource(findings, at, valueFrom, spec);
    if (value !== '') findings.invalid(at, '', 'may not be specified when `value` is not empty');
    if (sources > 1)
      findings.invalid(at, '', 'may not have more than one field specified at a time');
  }
}

function validateSource(
  findings: Findings,
  path: string,
  source: EnvVarSource,
  spec: PodSpec,
): void {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) validateFieldRef(findings, `${path}.fieldRef`, fieldRef, 'env');
  if (resourceFieldRef) {
    validateResourceFieldRef(findings, `${path}.resourceFieldRef`, resourceFieldRef, 'env');
  }
  if (configMapKeyRef) validateKeyRef(findings, `${path}.configMapKeyRef`, configMapKeyRef);
  if (secretKeyRef) validateKeyRef(findings, `${path}.secretKeyRef`, secretKeyRef);
  if (fileKeyRef) validateFileRef(findings, `${path}.fileKeyRef`, fileKeyRef, spec);
}

function validateKeyRef(findings: Findings, path: string, { name = '', key }: KeySelector): void {
  if (name === '') findings.required(`${path}.name`);
  else findings.all(`${path}.name`, name, subdomainProblems(name));
  if (key === '') findings.required(`${path}.key`);
  else findings.all(`${path}.key`, key, configKeyProblems(key));
}

function validateFileRef(
  findings: Findings,
  path: string,
  { volumeName, path: file, key }: NonNullable<EnvVarSource['fileKeyRef']>,
  spec: PodSpec,
): void {
  if (key === '') findings.required(`${path}.key`);
  else if (!ENV_NAME.test(key)) findings.invalid(`${path}.key`, key, ENV_NAME_FORM);
  if (volumeName === '') findings.required(`${path}.volumeName`);
  else findings.all(`${path}.volumeName`, volumeName, labelProblems(volumeName));
  const volume = spec.volumes?.find(({ name }) => name === volumeName);
  if (volumeName !== '' && !volume) findings.notFound(`${path}.volumeName`, volumeName);
  if (volume && !volume.emptyDir) {
    findings.invalid(
      `${path}.volumeName`,
      volumeName,
      'referenced volume must be of type emptyDir',
    );
  }
  if (file === '') findings.required(`${path}.path`);
  else checkDescending(findings, `${path}.path`, file);
}

export function validateEnvFrom(
  findings: Findings,
  container: string,
  { envFrom = [] }: Container,
): void {
  for (const [index, { prefix = '', configMapRef, secretRef }] of envFrom.entries()) {
    const path = `${container}.envFrom[${index}]`;
    if (prefix !== '' && !ENV_NAME.test(prefix)) {
      findings.invalid(`${path}.prefix`, prefix, ENV_NAME_FORM);
    }
    for (const [field, reference] of Object.entries({ configMapRef, secretRef })) {
      if (!reference) continue;
      const { name = '' } = reference;
      if (name === '') findings.required(`${path}.${field}.name`);
      else findings.all(`${path}.${field}.name`, name, subdomainProblems(name));
    }
    if (configMapRef && secretRef) {
      findings.invalid(path, '', 'may not have more than one field specified at a time');
    }
    if (!configMapRef && !secretRef) {
      findings.invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`');
    }
  }
}

export function validateFieldRef(
  findings: Findings,
  path: string,
  { apiVersion = '', fieldPath }: ObjectFieldSelector,
  place: 'env' | 'volume',
): void {
  const at = `${path}.fieldPath`;
  if (apiVersion === '') return findings.required(`${path}.apiVersion`);
  if (fieldPath === '') return findings.required(at);
  if (apiVersion !== 'v1') {
    const detail = `error converting fieldPath: unsupported pod version: ${apiVersion}`;
    return findings.invalid(at, fieldPath, detail);
  }
  const subscript = /^(metadata\.(?:labels|annotations))\['([^']*)'\]$/.exec(fieldPath);
  if (subscript) {
    const [, map, key = ''] = subscript;
    const name = map === 'metadata.annotations' ? key.toLowerCase() : key;
    return findings.all(at, key, qualifiedNameProblems(name));
  }
  if (!FIELD_LABELS.includes(fieldPath)) {
    const detail = `error converting fieldPath: field label not supported: ${fieldPath}`;
    return findings.invalid(at, fieldPath, detail);
  }
  findings.oneOf(at, fieldPath, place === 'env' ? ENV_FIELDS : VOLUME_FIELDS);
}

export function validateResourceFieldRef(
  findings: Findings,
  path: string,
  { containerName = '', resource, divisor = '0' }: ResourceFieldSelector,
  place: 'env' | 'volume',
): void {
  if (place === 'volume' && containerName === '') {
    return findings.required(`${path}.containerName`);
  }
  if (resource === '') return findings.required(`${path}.resource`);
  const huge = /^(?:limits|requests)\.hugepages-/.test(resource);
  if (!huge && !RESOURCES.includes(resource)) {
    return findings.unsupported(`${path}.resource`, resource, [...RESOURCES].sort());
  }
  const name = resource.slice(resource.indexOf('.') + 1);
  const allowed = name === 'cpu' ? CPU_DIVISORS : BYTE_DIVISORS;
  const amount = parseQuantity(divisor);
  const fits = allowed.some((text) => parseQuantity(text)?.nano === amount?.nano);
  if (amount?.nano !== 0n && !fits) {
    const detail = `only divisor's values ${allowed.join(', ')} are supported with the ${name} resource`;
    findings.invalid(`${path}.divisor`, divisor, detail);
  }
}
