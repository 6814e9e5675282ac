/**
 * Owns: the checks of paths and modes that volumes, mounts and profiles share.
 */
import type { Findings } from './validation.ts';

/** A path that stays below where it starts: relative, without `..`. */
export function checkDescending(findings: Findings, path: string, value: string): void {
  if (value.startsWith('/')) findings.invalid(path, value, 'must be a relative path');
  checkNoBacksteps(findings, path, value);
}

export function checkNoBacksteps(findings: Findings, path: string, value: string): void {
  if (value.split('/').includes('..')) findings.invalid(path, value, "must not contain '..'");
}

/** The same for a file that is written into a volume: `..data` and its like are the writer's own. */
export function checkVolumeFile(findings: Findings, path: string, value: string): void {
  checkDescending(findings, path, value);
  if (value.startsWith('..') && !value.split('/').includes('..')) {
    findings.invalid(path, value, "must not start with '..'");
  }
}

export function checkMode(findings: Findings, path: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) {
    findings.invalid(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
  }
}
