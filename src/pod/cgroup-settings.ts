/**
 * Owns: limits as files of a cgroup directory, for both cgroup versions, and as properties of a systemd
 * slice. Pure.
 */
import type { CgroupVersion } from '../runtime/cgroup-version.ts';
import { hugepageName } from '../runtime/hugepages.ts';
import { CPU_PERIOD, sharesToWeight } from '../runtime/resources.ts';
import type { CgroupLimits } from './cgroup-limits.ts';

export interface CgroupSetting {
  /** Which hierarchy on v1; which controller must be available on v2. */
  readonly controller: string;
  readonly file: string;
  readonly value: string;
}

/** In the order to be written: the kernel checks a quota against the period that is set. */
export function cgroupSettings(limits: CgroupLimits, version: CgroupVersion): CgroupSetting[] {
  return version === 1 ? settingsV1(limits) : settingsV2(limits);
}

function settingsV1(limits: CgroupLimits): CgroupSetting[] {
  const { cpuShares, cpuQuota, cpuPeriod, memory, pids, hugepages } = limits;
  return compact([
    set('cpu', 'cpu.shares', cpuShares),
    set('cpu', 'cpu.cfs_period_us', cpuPeriod),
    // A quota of 0 is no quota.
    set('cpu', 'cpu.cfs_quota_us', cpuQuota === 0 ? -1 : cpuQuota),
    // 0 would leave nothing; a pod without a limit has none.
    set('memory', 'memory.limit_in_bytes', memory === 0 ? undefined : memory),
    set('pids', 'pids.max', pids),
    ...[...(hugepages ?? [])].map(([size, bytes]) =>
      set(
        'hugetlb',
        `hugetlb.${hugepageName(size)}.limit_in_bytes`,
        bytes === Infinity ? -1 : bytes,
      ),
    ),
  ]);
}

function settingsV2(limits: CgroupLimits): CgroupSetting[] {
  const { cpuShares, cpuQuota, cpuPeriod, memory, pids, hugepages } = limits;
  const quota = cpuQuota !== undefined && cpuQuota > 0 ? cpuQuota : 'max';
  return compact([
    set('cpu', 'cpu.weight', cpuShares === undefined ? undefined : sharesToWeight(cpuShares)),
    set(
      'cpu',
      'cpu.max',
      cpuQuota === undefined ? undefined : `${quota} ${cpuPeriod ?? CPU_PERIOD}`,
    ),
    set('memory', 'memory.max', memory === 0 ? undefined : memory),
    set('pids', 'pids.max', pids),
    ...[...(hugepages ?? [])].map(([size, bytes]) =>
      set('hugetlb', `hugetlb.${hugepageName(size)}.max`, bytes === Infinity ? 'max' : bytes),
    ),
  ]);
}

function set(
  controller: string,
  file: string,
  value: number | string | undefined,
): CgroupSetting | undefined {
  return value === undefined ? undefined : { controller, file, value: String(value) };
}

function compact(settings: readonly (CgroupSetting | undefined)[]): CgroupSetting[] {
  return settings.filter((setting) => setting !== undefined);
}

/** A property of a unit in the words of `busctl`: name, D-Bus signature, value. */
export type UnitProperty = readonly [name: string, signature: string, ...value: string[]];

/**
 * The limits that systemd keeps itself: it would undo what is only written to files at its next reload.
 */
export function sliceProperties(limits: CgroupLimits, version: CgroupVersion): UnitProperty[] {
  const { cpuShares, cpuQuota, memory, pids } = limits;
  const properties: UnitProperty[] = [];
  if (cpuShares !== undefined) {
    properties.push(
      version === 1
        ? ['CPUShares', 't', String(cpuShares)]
        : ['CPUWeight', 't', String(sharesToWeight(cpuShares))],
    );
  }
  if (cpuQuota !== undefined)
    properties.push(['CPUQuotaPerSecUSec', 't', quotaPerSecond(cpuQuota)]);
  if (memory) properties.push([version === 1 ? 'MemoryLimit' : 'MemoryMax', 't', String(memory)]);
  if (pids !== undefined) properties.push(['TasksMax', 't', String(pids)]);
  return properties;
}

/** systemd's "infinity". */
const UINT64_MAX = '18446744073709551615';
/** systemd keeps a quota in steps of 10 ms a second. */
const QUOTA_STEP = 10_000;

function quotaPerSecond(quota: number): string {
  if (quota <= 0) return UINT64_MAX;
  const perSecond = (quota * 1_000_000) / CPU_PERIOD;
  return String(Math.ceil(perSecond / QUOTA_STEP) * QUOTA_STEP);
}
