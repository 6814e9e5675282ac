import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { KernelLog } from '../../../src/stats/kmsg.ts';
import { OomLines } from '../../../src/stats/oom-line.ts';

const killsIn = (text: string) => {
  const lines = new OomLines();
  return text
    .trim()
    .split('\n')
    .flatMap((line) => lines.read(line.trim()) ?? []);
};

const POD = '/kubepods/burstable/podca6b2d923dbd8f2d3a801adc6663dfcd';
const ID = '6999bdb882ab17b2e8107fcae8d001cbf84587f9549fdaab04bdf4e5dd2e40f0';

test('cgroup v1: a pod’s limit, told of a container', () => {
  const found = killsIn(`
    sh invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=999
    memory: usage 16384kB, limit 16384kB, failcnt 53
    [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
    [   6756]     0  6756     6713     4301    81920        0           999 sh
    oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${ID},mems_allowed=0,oom_memcg=${POD},task_memcg=${POD}/${ID},task=sh,pid=6756,uid=0
    Memory cgroup out of memory: Killed process 6756 (sh) total-vm:26852kB, anon-rss:15748kB, file-rss:1456kB, shmem-rss:0kB, UID:0 pgtables:80kB oom_score_adj:999
    oom_reaper: reaped process 6756 (sh), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB`);
  const victimCgroup = `${POD}/${ID}`;
  assert.deepEqual(found, [{ pid: 6756, process: 'sh', victimCgroup, limitedCgroup: POD }]);
});

test('cgroup v2 with systemd: the whole container is killed, and told once', () => {
  const slice = '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab_cd.slice';
  const scope = `${slice}/cri-containerd-${ID}.scope`;
  const found = killsIn(`
    python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984
    oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-${ID}.scope,mems_allowed=0-1,oom_memcg=${scope},task_memcg=${scope},task=a,pid=1 b,pid=77,uid=1000
    Memory cgroup out of memory: Killed process 77 (a,pid=1 b) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:984
    Tasks in ${scope} are going to be killed due to memory.oom.group set
    Memory cgroup out of memory: Killed process 77 (a,pid=1 b) total-vm:1kB, anon-rss:1kB, file-rss:0kB
    Memory cgroup out of memory: Killed process 78 (helper) total-vm:1kB, anon-rss:1kB, file-rss:0kB`);
  assert.deepEqual(found, [
    { pid: 77, process: 'a,pid=1 b', victimCgroup: scope, limitedCgroup: scope },
  ]);
});

test('the node itself is out of memory', () => {
  const found = killsIn(`
    stress invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0
    oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice/session-1.scope,task=stress,pid=912,uid=0
    Out of memory: Killed process 912 (stress) total-vm:8123456kB, anon-rss:7900000kB, file-rss:4kB, shmem-rss:0kB, UID:0 pgtables:15500kB oom_score_adj:0`);
  assert.deepEqual(found, [
    {
      pid: 912,
      process: 'stress',
      victimCgroup: '/user.slice/session-1.scope',
      limitedCgroup: undefined,
    },
  ]);
});

test('kernels before 5.0, and one after the other', () => {
  const found = killsIn(`
    java invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null),  order=0, oom_score_adj=973
    Task in ${POD}/${ID} killed as a result of limit of ${POD}/${ID}
    Memory cgroup out of memory: Kill process 4021 (java) score 1974 or sacrifice child
    Killed process 4021 (java) total-vm:3456788kB, anon-rss:524288kB, file-rss:0kB, shmem-rss:0kB
    mysqld invoked oom-killer: gfp_mask=0x24200ca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
    Out of memory: Kill process 99 (mysqld) score 900 or sacrifice child
    Killed process 99 (mysqld) total-vm:1kB, anon-rss:1kB, file-rss:0kB`);
  const own = `${POD}/${ID}`;
  assert.deepEqual(found, [
    { pid: 4021, process: 'java', victimCgroup: own, limitedCgroup: own },
    { pid: 99, process: 'mysqld', victimCgroup: '/', limitedCgroup: undefined },
  ]);
});

test('other lines tell of no kill', () => {
  assert.deepEqual(
    killsIn(`
    Memory cgroup out of memory: OOM victim 12 (sh) is already exiting. Skip killing the task
    I said: Killed process 1 (init)
    oom-kill:constraint=CONSTRAINT_MEMCG`),
    [],
  );
});

test(
  'the kernel’s log, for real: only what is new is told',
  {
    skip: process.getuid?.() !== 0 && 'needs root',
  },
  () => {
    const log = new KernelLog();
    after(() => log.close());
    const text = `islet test ${process.pid}`;
    fs.writeFileSync('/dev/kmsg', `<7>${text}\n`);
    assert.deepEqual(
      log.read().filter((line) => line.includes(text)),
      [text],
    );
    assert.deepEqual(
      log.read().filter((line) => line.includes(text)),
      [],
    );
    assert.throws(() => new KernelLog(path.join(os.tmpdir(), 'no-such-log')), { code: 'ENOENT' });
  },
);
