/**
 * Owns: validation of what belongs to one operating system: `spec.os` and Windows options.
 * Leaves to others: refusing a Windows pod on this node (admission).
 */
import type { PodSpec } from '../api/pod.ts';
import { allContainers } from './defaults.ts';
import type { Findings } from './validation.ts';
import { subdomainProblems } from './validation.ts';

interface WindowsOptions {
  gmsaCredentialSpecName?: string;
  runAsUserName?: string;
  hostProcess?: boolean;
}

const LINUX_POD_FIELDS = ['hostPID', 'hostIPC', 'hostUsers', 'shareProcessNamespace'] as const;
const LINUX_POD_CONTEXT = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
] as const;
const LINUX_CONTEXT = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

export function validateOs(findings: Findings, spec: PodSpec): void {
  const name = spec.os?.name;
  if (name === '') findings.required('spec.os.name');
  else findings.oneOf('spec.os.name', name, ['linux', 'windows']);
  if (name === 'windows') forbidLinuxFields(findings, spec);
  if (name === 'linux') forbidWindowsOptions(findings, spec);
  validateHostProcess(findings, spec);
}

function containerPaths(spec: PodSpec): string[] {
  const lists = { initContainers: spec.initContainers, containers: spec.containers };
  return Object.entries(lists).flatMap(([list, containers]) =>
    (containers ?? []).map((_, index) => `spec.${list}[${index}].securityContext`),
  );
}

function forbidLinuxFields(findings: Findings, spec: PodSpec): void {
  const detail = 'cannot be set for a windows pod';
  for (const field of LINUX_POD_FIELDS) {
    const given = spec[field];
    if (given !== undefined && (field === 'hostUsers' || given)) {
      findings.forbidden(`spec.${field}`, detail);
    }
  }
  for (const field of LINUX_POD_CONTEXT) {
    if (spec.securityContext[field] !== undefined) {
      findings.forbidden(`spec.securityContext.${field}`, detail);
    }
  }
  const paths = containerPaths(spec);
  for (const [index, { securityContext }] of allContainers(spec).entries()) {
    for (const field of LINUX_CONTEXT) {
      const path = `${paths[index] ?? 'spec.ephemeralContainers'}.${field}`;
      if (securityContext?.[field] !== undefined) findings.forbidden(path, detail);
    }
  }
}

function forbidWindowsOptions(findings: Findings, spec: PodSpec): void {
  const detail = 'windows options cannot be set for a linux pod';
  if (spec.securityContext.windowsOptions) {
    findings.forbidden('spec.securityContext.windowsOptions', detail);
  }
  const paths = containerPaths(spec);
  for (const [index, { securityContext }] of allContainers(spec).entries()) {
    const path = `${paths[index] ?? 'spec.ephemeralContainers'}.windowsOptions`;
    if (securityContext?.windowsOptions) findings.forbidden(path, detail);
  }
}

export function validateWindowsOptions(
  findings: Findings,
  path: string,
  options: WindowsOptions | undefined,
): void {
  const { gmsaCredentialSpecName: spec, runAsUserName: user } = options ?? {};
  if (spec !== undefined) {
    findings.all(`${path}.gmsaCredentialSpecName`, spec, subdomainProblems(spec));
  }
  if (user === '') {
    findings.invalid(`${path}.runAsUserName`, user, 'runAsUserName cannot be an empty string');
  }
}

/** Host process containers come all together, and on the host's network. */
function validateHostProcess(findings: Findings, spec: PodSpec): void {
  const own = hostProcess(spec.securityContext);
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const kinds = containers.map(
    ({ securityContext }) => hostProcess(securityContext) ?? own ?? false,
  );
  if (!kinds.includes(true)) return;
  if (kinds.includes(false)) {
    const detail =
      'If pod contains any hostProcess containers then all containers must be HostProcess containers';
    findings.invalid('spec', '', detail);
  }
  if (!spec.hostNetwork) {
    const detail = 'hostNetwork must be true if pod contains any hostProcess containers';
    findings.invalid('spec.hostNetwork', false, detail);
  }
}

function hostProcess(
  context: { windowsOptions?: WindowsOptions } | undefined,
): boolean | undefined {
  return context?.windowsOptions?.hostProcess;
}
