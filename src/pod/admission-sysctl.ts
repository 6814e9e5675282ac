/**
 * Owns: which sysctls a pod may set: the safe ones of this kernel and those that the configuration
 * allows (spec config.md §4, static-pods.md §7).
 */
import { AdmissionReason } from '../api/reasons.ts';
import { dottedSysctl } from '../runtime/sysctl.ts';
import type { AdmissionInput, Refusal } from './admission.ts';

/** With the least kernel in which each is a namespace's own. */
const SAFE: ReadonlyMap<string, string> = new Map([
  ['kernel.shm_rmid_forced', '0'],
  ['net.ipv4.ip_local_port_range', '0'],
  ['net.ipv4.tcp_syncookies', '0'],
  ['net.ipv4.ping_group_range', '0'],
  ['net.ipv4.ip_unprivileged_port_start', '0'],
  ['net.ipv4.ip_local_reserved_ports', '3.16'],
  ['net.ipv4.tcp_keepalive_time', '4.5'],
  ['net.ipv4.tcp_fin_timeout', '4.6'],
  ['net.ipv4.tcp_keepalive_intvl', '4.5'],
  ['net.ipv4.tcp_keepalive_probes', '4.5'],
  ['net.ipv4.tcp_rmem', '4.15'],
  ['net.ipv4.tcp_wmem', '4.15'],
]);

export function sysctlAllowList({ pod, node }: AdmissionInput): Refusal | undefined {
  const { hostNetwork, hostIPC, securityContext } = pod.spec;
  for (const { name: written } of securityContext.sysctls ?? []) {
    const name = dottedSysctl(written);
    const refuse = (why: string): Refusal => ({
      reason: AdmissionReason.SysctlForbidden,
      message: `forbidden sysctl: "${name}" ${why}`,
    });
    if (!isSafe(name, node.kernel) && !isAllowed(name, node.allowedUnsafeSysctls)) {
      return refuse('not allowlisted');
    }
    const space = name.startsWith('net.') ? 'net' : 'ipc';
    if (space === 'net' ? hostNetwork : hostIPC) {
      return refuse(`not allowed with host ${space} enabled`);
    }
  }
  return undefined;
}

function isSafe(name: string, kernel: string): boolean {
  const least = SAFE.get(name);
  return least !== undefined && !isOlder(kernel, least);
}

function isAllowed(name: string, patterns: readonly string[]): boolean {
  return patterns.map(dottedSysctl).some((pattern) => {
    if (!pattern.endsWith('*')) return name === pattern;
    return name.startsWith(pattern.slice(0, -1));
  });
}

/** By the first two numbers; what cannot be read is not older. */
function isOlder(kernel: string, least: string): boolean {
  const numbers = (text: string): [number, number] => {
    const [major = 0, minor = 0] = text.split('.', 2).map((part) => Number.parseInt(part, 10) || 0);
    return [major, minor];
  };
  const [major, minor] = numbers(kernel);
  const [leastMajor, leastMinor] = numbers(least);
  return major !== leastMajor ? major < leastMajor : minor < leastMinor;
}
