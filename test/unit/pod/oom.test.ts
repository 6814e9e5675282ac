import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OomWatch, podCgroupOf } from '../../../src/pod/oom.ts';
import { createLogger } from '../../../src/util/log.ts';
import { ManualClock, settle } from '../../support/clock.ts';

const ID = '6999bdb882ab';

test('the pod and the container behind a cgroup, with both drivers', () => {
  const rows: [string, string | undefined, string | undefined][] = [
    [`/kubepods/burstable/podab-cd/${ID}`, 'ab-cd', ID],
    [`/kubepods/podab-cd/${ID}/nested`, 'ab-cd', ID],
    ['/edge/kubepods/besteffort/podab-cd', 'ab-cd', undefined],
    [
      `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab_cd.slice/cri-containerd-${ID}.scope`,
      'ab-cd',
      ID,
    ],
    [`/kubepods.slice/kubepods-podab_cd.slice/crio-${ID}.scope`, 'ab-cd', ID],
    ['/', undefined, undefined],
    ['/system.slice/podman.service', undefined, undefined],
    ['/kubepods/burstable', undefined, undefined],
  ];
  for (const [cgroup, uid, containerId] of rows) {
    assert.deepEqual(
      podCgroupOf(cgroup),
      uid === undefined ? undefined : { uid, containerId },
      cgroup,
    );
  }
});

function kill(victim: string, limited: string | undefined, pid: number): string[] {
  const constraint = limited === undefined ? 'CONSTRAINT_NONE' : 'CONSTRAINT_MEMCG';
  const by = limited === undefined ? 'global_oom' : `oom_memcg=${limited}`;
  return [
    'x invoked oom-killer: gfp_mask=0x0',
    `oom-kill:constraint=${constraint},nodemask=(null),cpuset=/,mems_allowed=0,${by},task_memcg=${victim},task=hog,pid=${pid},uid=0`,
    `Out of memory: Killed process ${pid} (hog) total-vm:1kB`,
  ];
}

function watchOf(open: () => { read(): string[]; close(): void }) {
  const events: string[] = [];
  const logged: string[] = [];
  const clock = new ManualClock();
  const watch = new OomWatch({
    open,
    target: (uid, containerId) =>
      uid === 'ours'
        ? { kind: 'Pod', namespace: 'default', name: 'web', uid, fieldPath: containerId ?? 'none' }
        : undefined,
    nodeName: 'edge1',
    events: {
      event: (target, type, reason, message) =>
        void events.push(`${type} ${reason} ${target.name} ${target.fieldPath ?? ''}: ${message}`),
    },
    clock,
    logger: createLogger({
      sink: { write: (line: string) => Boolean(logged.push(line)) },
      level: 'info',
      wall: () => 0,
    }),
  });
  return { watch, events, logged, clock };
}

test('a kill is told on the pod whose it was, with what was full; others on the node', async () => {
  const lines: string[] = [];
  const { watch, events, clock } = watchOf(() => ({
    read: () => lines.splice(0),
    close: () => undefined,
  }));
  const stop = new AbortController();
  const running = watch.run(stop.signal).catch(() => undefined);
  const pod = '/kubepods/burstable/podours';
  lines.push(...kill(`${pod}/${ID}`, `${pod}/${ID}`, 1), ...kill(`${pod}/${ID}`, pod, 2));
  watch.poke();
  await settle();
  assert.equal(events.length, 2, 'at once when a container has ended');
  lines.push(...kill(`${pod}/${ID}`, '/kubepods', 3), ...kill(`${pod}/${ID}`, undefined, 4));
  lines.push(...kill('/system.slice/sshd.service', undefined, 5));
  lines.push(...kill('/kubepods/podtheirs/1', '/kubepods/podtheirs/1', 6));
  await clock.advance(10_000);
  const own = `Warning OOMKilling web ${ID}: Process hog (pid`;
  assert.deepEqual(events, [
    `${own} 1) was killed: the container has reached its memory limit`,
    `${own} 2) was killed: the pod has reached its memory limit`,
    `${own} 3) was killed: all pods together have reached their memory limit`,
    `${own} 4) was killed: the node is out of memory`,
    'Warning SystemOOM edge1 : System OOM encountered, victim process: hog, pid: 5',
  ]);
  stop.abort();
  await running;
});

test('a kernel log that cannot be read is one line of the log', async () => {
  const { watch, logged } = watchOf(() => {
    throw new Error('EPERM: operation not permitted');
  });
  await watch.run(new AbortController().signal);
  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? '', /kernel log cannot be read.*EPERM/);
});
