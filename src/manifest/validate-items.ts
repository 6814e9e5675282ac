/**
 * Owns: validation of the files that configMap, secret, downwardAPI and projected volumes are made of.
 */
import type { DownwardApiFile, KeyToPath } from '../api/volume.ts';
import { validateFieldRef, validateResourceFieldRef } from './validate-env.ts';
import { checkMode, checkVolumeFile } from './validate-path.ts';
import type { Findings } from './validation.ts';

export function validateItems(
  findings: Findings,
  path: string,
  items: KeyToPath[] | undefined,
): void {
  for (const [index, item] of (items ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (item.key === '') findings.required(`${at}.key`);
    if (item.path === '') findings.required(`${at}.path`);
    else checkVolumeFile(findings, `${at}.path`, item.path);
    checkMode(findings, `${at}.mode`, item.mode);
  }
}

export function validateDownwardItems(
  findings: Findings,
  path: string,
  items: DownwardApiFile[] | undefined,
): void {
  for (const [index, { path: file, fieldRef, resourceFieldRef, mode }] of (items ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (file === '') findings.required(`${at}.path`);
    else checkVolumeFile(findings, `${at}.path`, file);
    if (fieldRef && resourceFieldRef) {
      findings.invalid(
        at,
        file,
        'fieldRef and resourceFieldRef can not be specified simultaneously',
      );
    }
    if (!fieldRef && !resourceFieldRef) {
      findings.required(at, 'one of fieldRef and resourceFieldRef is required');
    }
    if (fieldRef) validateFieldRef(findings, `${at}.fieldRef`, fieldRef, 'volume');
    if (resourceFieldRef) {
      validateResourceFieldRef(findings, `${at}.resourceFieldRef`, resourceFieldRef, 'volume');
    }
    checkMode(findings, `${at}.mode`, mode);
  }
}
