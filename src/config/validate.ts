/**
 * Owns: the rules over several fields of a KubeletConfiguration (spec: config.md §3, §6).
 * Invariant: pure; all faults are reported, not only the first.
 */
import { isIP } from 'node:net';
import type { Path } from './decode.ts';
import { shown } from './problem.ts';

export interface RuleFault {
  readonly field: string;
  readonly at: Path;
  readonly found: string;
  readonly expected: string;
}

type Written = Readonly<Record<string, unknown>>;
type Report = (field: string, found: string, expected: string) => void;

/** Checks the fields as they were written and decoded. */
export function validateKubelet(written: Written): RuleFault[] {
  const faults: RuleFault[] = [];
  const report: Report = (field, found, expected) =>
    void faults.push({ field, at: field.split('.'), found, expected });
  for (const rule of [allocatable, images, logs, shutdown, sysctls, soft, access, swapAndUsers])
    rule(written, report);
  return faults;
}

function allocatable(w: Written, report: Report): void {
  const enforced = strings(w['enforceNodeAllocatable']);
  const has = (name: string): boolean => enforced.includes(name);
  const wrong = (expected: string): void =>
    report('enforceNodeAllocatable', shown(enforced), expected);
  if (new Set(enforced).size < enforced.length) wrong('no entry twice');
  if (has('none') && enforced.length > 1) wrong('"none" alone');
  if (w['cgroupsPerQOS'] === false && enforced.some((name) => name !== 'none'))
    wrong('none while cgroupsPerQOS is false');
  for (const part of ['system', 'kube'] as const) {
    const plain = `${part}-reserved`;
    if (has(plain) && has(`${plain}-compressible`))
      wrong(`${plain} or ${plain}-compressible, not both`);
    const cgroup = `${part}ReservedCgroup`;
    if ((has(plain) || has(`${plain}-compressible`)) && !w[cgroup])
      report(cgroup, shown(w[cgroup] ?? ''), `a cgroup, because ${plain} is enforced`);
    if (w['reservedSystemCPUs'] && w[cgroup])
      report(
        'reservedSystemCPUs',
        shown(w['reservedSystemCPUs']),
        `nothing while ${cgroup} is set`,
      );
  }
  if (w['systemCgroups'] && !w['cgroupRoot'])
    report('cgroupRoot', '""', 'a cgroup, because systemCgroups is set');
}

function images(w: Written, report: Report): void {
  const low = number(w['imageGCLowThresholdPercent']) ?? 80;
  const high = number(w['imageGCHighThresholdPercent']) ?? 85;
  if (low >= high)
    report('imageGCLowThresholdPercent', String(low), `less than the high threshold ${high}`);
  const oldest = number(w['imageMaximumGCAge']) ?? 0;
  const youngest = number(w['imageMinimumGCAge']) || 120_000;
  if (oldest !== 0 && oldest <= youngest)
    report('imageMaximumGCAge', `${oldest / 1000}s`, `0s, or more than ${youngest / 1000}s`);
  const parallel = number(w['maxParallelImagePulls']) ?? 1;
  if (parallel > 1 && w['serializeImagePulls'] === true)
    report('maxParallelImagePulls', String(parallel), '1 while serializeImagePulls is true');
  const allowlist = strings(w['preloadedImagesVerificationAllowlist']);
  const policy = w['imagePullCredentialsVerificationPolicy'];
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages')
    report(
      'preloadedImagesVerificationAllowlist',
      shown(allowlist),
      'nothing unless imagePullCredentialsVerificationPolicy is NeverVerifyAllowlistedImages',
    );
}

function logs(w: Written, report: Report): void {
  const directory = w['podLogsDir'];
  if (typeof directory !== 'string' || directory === '') return;
  if (!isCleanPath(directory) || !/^[\x20-\x7e]+$/.test(directory))
    report('podLogsDir', shown(directory), 'an absolute, clean path in ASCII');
}

function shutdown(w: Written, report: Report): void {
  const total = number(w['shutdownGracePeriod']) ?? 0;
  const critical = number(w['shutdownGracePeriodCriticalPods']) ?? 0;
  if (critical > total)
    report(
      'shutdownGracePeriodCriticalPods',
      `${critical / 1000}s`,
      `at most shutdownGracePeriod, ${total / 1000}s`,
    );
  const byPriority = w['shutdownGracePeriodByPodPriority'];
  if (Array.isArray(byPriority) && byPriority.length > 0 && total + critical > 0)
    report(
      'shutdownGracePeriodByPodPriority',
      'a list',
      'nothing while shutdownGracePeriod is set',
    );
}

const SYSCTL = /^(kernel\.shm|kernel\.msg|fs\.mqueue\.|net\.)[a-z0-9._/-]*\*?$|^kernel\.sem$/;

function sysctls(w: Written, report: Report): void {
  for (const name of strings(w['allowedUnsafeSysctls']))
    if (!SYSCTL.test(name))
      report(
        'allowedUnsafeSysctls',
        shown(name),
        'names or prefixes ending in * of kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.*, net.*',
      );
}

function soft(w: Written, report: Report): void {
  const grace = Object.keys(mapping(w['evictionSoftGracePeriod']));
  for (const signal of Object.keys(mapping(w['evictionSoft'])))
    if (!grace.includes(signal))
      report('evictionSoft', shown(signal), `a grace period for it in evictionSoftGracePeriod`);
}

function access(w: Written, report: Report): void {
  if (w['runOnce'] === true) report('runOnce', 'true', 'false: it is no longer supported');
  if (w['port'] === 0) report('port', '0', 'a whole number from 1 to 65535');
  if (w['enableSystemLogQuery'] === true && w['enableSystemLogHandler'] === false)
    report('enableSystemLogQuery', 'true', 'false while enableSystemLogHandler is false');
  const subnets = typeof w['podCIDR'] === 'string' ? w['podCIDR'].split(',') : [];
  const families = subnets.map((subnet) => isIP(subnet.split('/')[0] ?? ''));
  if (subnets.length > 2 || new Set(families).size < families.length)
    report('podCIDR', shown(w['podCIDR']), 'one subnet, or one of IPv4 and one of IPv6');
}

function swapAndUsers(w: Written, report: Report): void {
  const ids = number(mapping(w['userNamespaces'])['idsPerPod']);
  if (ids !== undefined && (ids <= 0 || ids % 65_536 !== 0))
    report('userNamespaces.idsPerPod', String(ids), 'a multiple of 65536');
  const files = number(w['maxOpenFiles']) ?? 0;
  if (files < 0) report('maxOpenFiles', String(files), 'a whole number of at least 0');
}

/** Absolute, without `.`, `..`, double or trailing slashes. */
export function isCleanPath(path: string): boolean {
  if (path === '/') return true;
  const [first, ...parts] = path.split('/');
  return first === '' && parts.every((part) => !['', '.', '..'].includes(part));
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function mapping(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
