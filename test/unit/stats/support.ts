/** Owns: recorded trees of the kernel's files, written below a temporary directory. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';

export function temporary(t: TestContext): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-stats-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The directory that holds these files. */
export function tree(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = temporary(t);
  for (const [name, content] of Object.entries(files)) put(root, name, content);
  return root;
}

export function put(root: string, name: string, content: string): void {
  const file = path.join(root, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
}

const UNLIMITED_V1 = '9223372036854771712\n';

export interface CgroupNumbers {
  readonly usage: number;
  readonly inactiveFile: number;
  /** Nanoseconds. */
  readonly cpu: number;
  readonly limit?: number;
  readonly tasks?: number;
}

/** One cgroup of v1, as a kernel 6 shows it, shortened. */
export function cgroupV1(cgroup: string, n: CgroupNumbers): Record<string, string> {
  const memory = `memory${cgroup}/memory`;
  return {
    [`${memory}.usage_in_bytes`]: `${n.usage}\n`,
    [`${memory}.limit_in_bytes`]: n.limit === undefined ? UNLIMITED_V1 : `${n.limit}\n`,
    [`${memory}.max_usage_in_bytes`]: `${n.usage + 4096}\n`,
    [`${memory}.failcnt`]: '7\n',
    [`${memory}.memsw.limit_in_bytes`]: UNLIMITED_V1,
    [`${memory}.stat`]: [
      ...['cache 1', 'rss 1', 'inactive_file 1', 'pgfault 1', 'pgmajfault 1', 'swap 0'],
      ...['total_cache 300000', 'total_rss 500000', 'total_mapped_file 40960'],
      ...['total_pgfault 123', 'total_pgmajfault 4', 'total_swap 8192'],
      `total_inactive_file ${n.inactiveFile}\n`,
    ].join('\n'),
    [`memory${cgroup}/cgroup.procs`]: '',
    [`cpuacct${cgroup}/cpuacct.usage`]: `${n.cpu}\n`,
    [`cpuacct${cgroup}/cpuacct.usage_user`]: `${n.cpu - 1000}\n`,
    [`cpuacct${cgroup}/cpuacct.usage_sys`]: '1000\n',
    [`cpu${cgroup}/cpu.stat`]: 'nr_periods 10\nnr_throttled 3\nthrottled_time 5000000\n',
    [`cpu${cgroup}/cpu.shares`]: '102\n',
    [`cpu${cgroup}/cpu.cfs_quota_us`]: '50000\n',
    [`cpu${cgroup}/cpu.cfs_period_us`]: '100000\n',
    [`pids${cgroup}/pids.current`]: `${n.tasks ?? 1}\n`,
    [`pids${cgroup}/pids.max`]: 'max\n',
  };
}

/** The same of v2; the root has no `memory.current`. */
export function cgroupV2(cgroup: string, n: CgroupNumbers): Record<string, string> {
  const at = cgroup === '/' ? '' : `${cgroup.slice(1)}/`;
  const shared = {
    [`${at}memory.stat`]: [
      ...['anon 500000', 'file 300000', 'kernel 100000', 'file_mapped 40960'],
      ...['inactive_anon 9', `inactive_file ${n.inactiveFile}`, 'pgfault 123', 'pgmajfault 4\n'],
    ].join('\n'),
    [`${at}cpu.stat`]: [
      `usage_usec ${n.cpu / 1000}`,
      `user_usec ${n.cpu / 1000 - 1}`,
      ...['system_usec 1', 'nr_periods 10', 'nr_throttled 3', 'throttled_usec 5000\n'],
    ].join('\n'),
    [`${at}cpu.pressure`]: psi(1),
    [`${at}memory.pressure`]: psi(2),
    [`${at}io.pressure`]: psi(3),
    [`${at}cgroup.procs`]: '',
  };
  if (cgroup === '/') return shared;
  return {
    ...shared,
    [`${at}memory.current`]: `${n.usage}\n`,
    [`${at}memory.max`]: n.limit === undefined ? 'max\n' : `${n.limit}\n`,
    [`${at}memory.peak`]: `${n.usage + 4096}\n`,
    [`${at}memory.events`]: 'low 0\nhigh 0\nmax 7\noom 0\n',
    [`${at}memory.swap.current`]: '8192\n',
    [`${at}memory.swap.max`]: '16384\n',
    [`${at}cpu.weight`]: '4\n',
    [`${at}cpu.max`]: '50000 100000\n',
    [`${at}pids.current`]: `${n.tasks ?? 1}\n`,
    [`${at}pids.max`]: 'max\n',
  };
}

export function psi(n: number): string {
  return `some avg10=${n}.50 avg60=0.25 avg300=0.10 total=${n}000
full avg10=0.00 avg60=0.00 avg300=0.00 total=${n}00
`;
}

/** What a machine of 8 GiB shows in /proc. */
export function procFiles(): Record<string, string> {
  return {
    meminfo:
      'MemTotal:        8388608 kB\nMemFree:         4000000 kB\nSwapTotal:       2048 kB\nSwapFree:        1024 kB\n',
    stat: 'cpu  1 2 3\nbtime 1700000000\nprocesses 5\n',
    loadavg: '0.08 0.03 0.01 2/345 6789\n',
    'sys/kernel/pid_max': '4194304\n',
    'sys/kernel/threads-max': '31000\n',
    'net/dev': netDev({ lo: 9, veth1: 8, wlan0: 7, eth0: 6 }),
    'net/route':
      'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n' +
      'eth0\t00000000\t0102000A\t0003\t0\t0\t600\t00000000\t0\t0\t0\n' +
      'wlan0\t00000000\t0102000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n' +
      'eth0\t0002000A\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0\n',
    'pressure/cpu': psi(4),
    'pressure/memory': psi(5),
    'pressure/io': psi(6),
  };
}

/** Bytes received by interface; ten times as many sent. */
export function netDev(received: Readonly<Record<string, number>>): string {
  const lines = Object.entries(received).map(
    ([name, rx]) => `${name.padStart(6)}: ${rx} 2 3 4 0 0 0 0 ${rx * 10} 5 6 7 0 0 0 0`,
  );
  const head = ['Inter-|   Receive      |  Transmit', ' face |bytes    packets |bytes   packets'];
  return `${[...head, ...lines].join('\n')}\n`;
}
