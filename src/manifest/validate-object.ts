/**
 * Owns: what a ConfigMap or Secret from a file has to be like. Messages name keys, never values.
 */
import type { ConfigMapObject, SecretObject } from './model.ts';
import type { Invalid } from './validation.ts';
import { Findings, configKeyProblems, labelProblems, subdomainProblems } from './validation.ts';

/** As upstream: all keys and values of an object together. */
const MAX_DATA_BYTES = 2 ** 20;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function validateConfigMap(object: ConfigMapObject): Invalid[] {
  const findings = new Findings();
  validateMeta(findings, object);
  const { data = {}, binaryData = {} } = object;
  for (const key of Object.keys(data)) {
    if (Object.hasOwn(binaryData, key)) {
      findings.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData');
    }
  }
  checkKeys(findings, 'data', data);
  checkKeys(findings, 'binaryData', binaryData);
  checkBase64(findings, 'binaryData', binaryData);
  checkSize(findings, 'data', data, binaryData);
  return findings.list;
}

export function validateSecret(object: SecretObject): Invalid[] {
  const findings = new Findings();
  validateMeta(findings, object);
  const { data = {}, stringData = {} } = object;
  checkKeys(findings, 'data', data);
  checkKeys(findings, 'stringData', stringData);
  checkBase64(findings, 'data', data);
  checkSize(findings, 'data', stringData, data);
  return findings.list;
}

function validateMeta(findings: Findings, object: ConfigMapObject | SecretObject): void {
  const { name, namespace } = object.metadata;
  if (name === '') findings.required('metadata.name');
  else findings.all('metadata.name', name, subdomainProblems(name));
  findings.all('metadata.namespace', namespace, labelProblems(namespace));
}

function checkKeys(findings: Findings, field: string, data: Record<string, string>): void {
  for (const key of Object.keys(data)) {
    findings.all(`${field}[${key}]`, key, configKeyProblems(key));
  }
}

function checkBase64(findings: Findings, field: string, data: Record<string, string>): void {
  for (const [key, text] of Object.entries(data)) {
    if (BASE64.test(text.replace(/[\r\n]/g, ''))) continue;
    findings.invalid(`${field}[${key}]`, key, 'the value of this key is not base64');
  }
}

function checkSize(
  findings: Findings,
  field: string,
  plain: Record<string, string>,
  encoded: Record<string, string>,
): void {
  let size = 0;
  for (const text of Object.values(plain)) size += Buffer.byteLength(text);
  for (const text of Object.values(encoded)) size += Buffer.byteLength(text, 'base64');
  if (size > MAX_DATA_BYTES) findings.tooLong(field, MAX_DATA_BYTES);
}
