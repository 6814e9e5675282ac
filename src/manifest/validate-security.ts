/**
 * Owns: validation of security contexts, host namespaces, sysctls and profiles.
 */
import type { Pod, PodSpec, ProfileRef, SecurityContext } from '../api/pod.ts';
import { checkDescending } from './validate-path.ts';
import { validateOs, validateWindowsOptions } from './validate-os.ts';
import type { Findings } from './validation.ts';
import { MAX_ID } from './validation.ts';

const PROFILE_TYPES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const SYSCTL = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const SYSCTL_FORM =
  'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const IPC_SYSCTL = /^(?:kernel\.sem$|kernel\.shm|kernel\.msg|fs\.mqueue\.)/;

export function validatePodSecurity(findings: Findings, pod: Pod): void {
  const { spec } = pod;
  const { securityContext: context, hostUsers } = spec;
  const path = 'spec.securityContext';
  if (spec.shareProcessNamespace && spec.hostPID) {
    const detail = 'ShareProcessNamespace and HostPID cannot both be enabled';
    findings.invalid('spec.shareProcessNamespace', true, detail);
  }
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
    if (hostUsers === false && spec[field]) {
      findings.forbidden(`spec.${field}`, 'when `hostUsers` is false');
    }
  }
  for (const field of ['runAsUser', 'runAsGroup', 'fsGroup'] as const) {
    findings.between(`${path}.${field}`, context[field], 0, MAX_ID);
  }
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    findings.between(`${path}.supplementalGroups[${index}]`, group, 0, MAX_ID);
  }
  validateSysctls(findings, spec);
  const { fsGroupChangePolicy, supplementalGroupsPolicy, seLinuxChangePolicy } = context;
  findings.oneOf(`${path}.fsGroupChangePolicy`, fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  findings.oneOf(`${path}.supplementalGroupsPolicy`, supplementalGroupsPolicy, ['Merge', 'Strict']);
  findings.oneOf(`${path}.seLinuxChangePolicy`, seLinuxChangePolicy, ['Recursive']);
  validateProfiles(findings, path, context);
  validateWindowsOptions(findings, `${path}.windowsOptions`, context.windowsOptions);
  validateOs(findings, spec);
}

function validateSysctls(findings: Findings, spec: PodSpec): void {
  const seen = new Set<string>();
  for (const [index, { name }] of (spec.securityContext.sysctls ?? []).entries()) {
    const path = `spec.securityContext.sysctls[${index}].name`;
    const dotted = dottedSysctl(name);
    if (name === '') findings.required(path);
    else if (name.length > 253 || !SYSCTL.test(name)) findings.invalid(path, name, SYSCTL_FORM);
    else if (seen.has(dotted)) findings.duplicate(path, name);
    seen.add(dotted);
    if (spec.hostNetwork && dotted.startsWith('net.')) {
      findings.invalid(path, name, "may not be specified when 'hostNetwork' is true");
    }
    if (spec.hostIPC && IPC_SYSCTL.test(dotted)) {
      findings.invalid(path, name, "may not be specified when 'hostIPC' is true");
    }
  }
}

/** `net/ipv4/conf` → `net.ipv4.conf`: when the first separator is a slash, the two change places. */
function dottedSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (sign) => (sign === '/' ? '.' : '/'));
}

/** `path` is that of the security context. */
export function validateContainerSecurity(
  findings: Findings,
  path: string,
  context: SecurityContext | undefined,
  spec: PodSpec,
): void {
  if (!context) return;
  findings.between(`${path}.runAsUser`, context.runAsUser, 0, MAX_ID);
  findings.between(`${path}.runAsGroup`, context.runAsGroup, 0, MAX_ID);
  const { procMount } = context;
  findings.oneOf(`${path}.procMount`, procMount, ['Default', 'Unmasked']);
  if (procMount === 'Unmasked' && spec.hostUsers !== false) {
    const detail = '`hostUsers` must be false to use `Unmasked`';
    findings.invalid(`${path}.procMount`, procMount, detail);
  }
  validateProfiles(findings, path, context);
  validateWindowsOptions(findings, `${path}.windowsOptions`, context.windowsOptions);
  if (context.allowPrivilegeEscalation !== false) return;
  const start = 'cannot set `allowPrivilegeEscalation` to false and';
  const at = `${path}.allowPrivilegeEscalation`;
  if (context.privileged) findings.invalid(at, false, `${start} \`privileged\` to true`);
  if (context.capabilities?.add?.includes('CAP_SYS_ADMIN')) {
    findings.invalid(at, false, `${start} \`capabilities.Add\` CAP_SYS_ADMIN`);
  }
}

interface Profiles {
  seccompProfile?: ProfileRef;
  appArmorProfile?: ProfileRef;
}

function validateProfiles(findings: Findings, path: string, profiles: Profiles): void {
  const { seccompProfile, appArmorProfile } = profiles;
  if (seccompProfile)
    validateProfile(findings, `${path}.seccompProfile`, seccompProfile, 'seccomp');
  if (appArmorProfile) {
    validateProfile(findings, `${path}.appArmorProfile`, appArmorProfile, 'AppArmor');
  }
}

function validateProfile(
  findings: Findings,
  path: string,
  { type, localhostProfile }: ProfileRef,
  kind: 'seccomp' | 'AppArmor',
): void {
  const at = `${path}.localhostProfile`;
  if ((type as string) === '') findings.required(`${path}.type`, `type is required for ${kind}`);
  else findings.oneOf(`${path}.type`, type, PROFILE_TYPES);
  if (type !== 'Localhost') {
    const unknown = kind === 'AppArmor' && !PROFILE_TYPES.includes(type);
    if (localhostProfile !== undefined && !unknown) {
      findings.invalid(at, localhostProfile, `can only be set when ${kind} type is Localhost`);
    }
  } else if ((localhostProfile ?? '').trim() === '') {
    findings.required(at, `must be set when ${kind} type is Localhost`);
  } else if (localhostProfile !== undefined) {
    if (kind === 'seccomp') checkDescending(findings, at, localhostProfile);
    else if (localhostProfile.trim() !== localhostProfile) {
      findings.invalid(at, localhostProfile, 'must not be padded with whitespace');
    }
  }
}
