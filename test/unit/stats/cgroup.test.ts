import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { CgroupReader } from '../../../src/stats/cgroup.ts';
import { CgroupV1 } from '../../../src/stats/cgroup-v1.ts';
import { CgroupV2 } from '../../../src/stats/cgroup-v2.ts';
import { cgroupV1, cgroupV2, put, tree } from './support.ts';

const POD = '/kubepods/podu1';
const NUMBERS = { usage: 1_000_000, inactiveFile: 200_000, cpu: 5_000_000, tasks: 3 };
const LIMIT = 2_000_000;
const SOME = { avg10: 1.5, avg60: 0.25, avg300: 0.1, total: 1000 };

const WITHOUT_LIMIT = {
  timeMs: 9,
  usage: 1_000_000,
  workingSet: 800_000,
  rss: 500_000,
  cache: 300_000,
  mappedFile: 40_960,
  pageFaults: 123,
  majorPageFaults: 4,
  failures: 7,
  maxUsage: 1_004_096,
};

for (const [version, files, open] of [
  ['v1', cgroupV1, (root: string): CgroupReader => new CgroupV1(root)],
  ['v2', cgroupV2, (root: string): CgroupReader => new CgroupV2(root)],
] as const) {
  test(`${version}: memory, with and without a limit`, (t) => {
    const limited = '/kubepods/podu2';
    const root = tree(t, {
      ...files(POD, NUMBERS),
      ...files(limited, { ...NUMBERS, limit: LIMIT }),
    });
    const reader = open(root);
    assert.deepEqual(reader.memory(POD, 9)?.memory, WITHOUT_LIMIT);
    assert.deepEqual(reader.memory(limited, 9)?.memory, {
      ...WITHOUT_LIMIT,
      capacity: LIMIT,
      available: LIMIT - 800_000,
    });
    assert.equal(reader.memory(POD, 9)?.swap?.usage, 8192);
  });

  test(`${version}: more inactive file pages than usage make a working set of 0`, (t) => {
    const root = tree(t, files(POD, { ...NUMBERS, inactiveFile: 1_000_001 }));
    assert.equal(open(root).memory(POD, 0)?.memory.workingSet, 0);
  });

  test(`${version}: CPU in nanoseconds, with what a quota did`, (t) => {
    const root = tree(t, files(POD, NUMBERS));
    assert.deepEqual(open(root).cpu(POD, 9), {
      timeMs: 9,
      usageCoreNanoSeconds: 5_000_000,
      userNanoSeconds: 4_999_000,
      systemNanoSeconds: 1000,
      throttling: { periods: 10, throttledPeriods: 3, throttledNanoSeconds: 5_000_000 },
    });
  });

  test(`${version}: tasks, children, processes, limits`, (t) => {
    const root = tree(t, {
      ...files(POD, { ...NUMBERS, limit: LIMIT }),
      ...files(`${POD}/c1`, NUMBERS),
    });
    put(
      root,
      version === 'v1' ? `memory${POD}/c1/cgroup.procs` : `${POD}/c1/cgroup.procs`,
      '0\n41\n',
    );
    const reader = open(root);
    assert.equal(reader.tasks(POD), 3);
    assert.deepEqual(reader.children(POD), ['c1']);
    assert.deepEqual(reader.pids(`${POD}/c1`), [41]);
    const { cpuShares, cpuQuota, cpuPeriod, memory, pids } = reader.limits(POD);
    // A weight of 4 is what runtimes make of 81 to 106 shares.
    assert.deepEqual([cpuQuota, cpuPeriod, memory, pids], [50_000, 100_000, LIMIT, undefined]);
    assert.ok(cpuShares !== undefined && cpuShares >= 80 && cpuShares <= 106, String(cpuShares));
  });

  test(`${version}: a cgroup that is not there, or goes while it is read, is nothing`, (t) => {
    const root = tree(t, files(POD, NUMBERS));
    const reader = open(root);
    fs.rmSync(path.join(root, version === 'v1' ? 'memory' : '', POD, 'memory.stat'));
    assert.equal(reader.memory(POD, 0), undefined);
    assert.equal(reader.memory('/kubepods/gone', 0), undefined);
    assert.equal(reader.cpu('/kubepods/gone', 0), undefined);
    assert.equal(reader.tasks('/kubepods/gone'), undefined);
    assert.equal(reader.pressure('/kubepods/gone', 'cpu'), undefined);
    assert.deepEqual(reader.children('/kubepods/gone'), []);
    assert.deepEqual(reader.pids('/kubepods/gone'), []);
    assert.deepEqual(reader.limits('/kubepods/gone'), {});
  });
}

test('v2: the root has no memory.current; anonymous and file pages stand for it', (t) => {
  const root = tree(t, cgroupV2('/', NUMBERS));
  const memory = new CgroupV2(root).memory('/', 0)?.memory;
  assert.deepEqual([memory?.usage, memory?.workingSet], [800_000, 600_000]);
});

test('v2: pressure, and swap that is left', (t) => {
  const root = tree(t, cgroupV2(POD, NUMBERS));
  const reader = new CgroupV2(root);
  assert.deepEqual(reader.pressure(POD, 'cpu'), {
    some: SOME,
    full: { avg10: 0, avg60: 0, avg300: 0, total: 100 },
  });
  assert.equal(reader.memory(POD, 0)?.swap?.available, 8192);
});

test('v1: swap that is left follows from the two limits', (t) => {
  const root = tree(t, cgroupV1(POD, { ...NUMBERS, limit: LIMIT }));
  put(root, `memory${POD}/memory.memsw.limit_in_bytes`, `${LIMIT + 10_000}\n`);
  assert.equal(new CgroupV1(root).memory(POD, 0)?.swap?.available, 10_000 - 8192);
});

test('on this machine: a process that holds 64 MiB in a cgroup of its own', async (t) => {
  const top = '/sys/fs/cgroup';
  const version = fs.existsSync(path.join(top, 'cgroup.controllers')) ? 2 : 1;
  const cgroup = `/islet-stats-test-${process.pid}`;
  const hierarchies = version === 2 ? [''] : ['memory', 'cpuacct', 'pids'];
  const dirs = hierarchies.map((name) => path.join(top, name, cgroup));
  for (const dir of dirs) fs.mkdirSync(dir);
  // It enters by itself before it takes the memory, touches each page, says so and waits for its end.
  const enter = dirs.map((dir) => `echo $$ > ${dir}/cgroup.procs`).join('; ');
  const hold = `const b = Buffer.alloc(${64 * 2 ** 20}, 1); console.log(b.length); process.stdin.resume()`;
  const child = spawn('sh', ['-c', `${enter}; exec "$0" -e '${hold}'`, process.execPath], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    for (const dir of dirs) execFileSync('rmdir', [dir]);
  });
  await once(child.stdout, 'data');
  const reader = version === 1 ? new CgroupV1(top) : new CgroupV2(top);
  const memory = reader.memory(cgroup, 0)?.memory;
  assert.ok(memory, 'it is measured');
  const node = Number(
    /^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1],
  );
  const mib = (bytes: number | undefined): number => (bytes ?? 0) / 2 ** 20;
  assert.ok(mib(memory.rss) >= 64, `rss ${mib(memory.rss)} MiB`);
  assert.ok(mib(memory.rss) <= node / 1024 + 1, 'not more than the process has');
  assert.ok(mib(memory.workingSet) >= 64 && memory.workingSet <= memory.usage);
  assert.ok((reader.cpu(cgroup, 0)?.usageCoreNanoSeconds ?? 0) > 1_000_000, 'it took CPU to start');
  assert.ok((reader.tasks(cgroup) ?? 0) >= 2, 'node has several threads');
  assert.deepEqual(reader.pids(cgroup), [child.pid]);
});
