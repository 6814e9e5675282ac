/**
 * The security context as processes see it, from inside containers of a real containerd; and pods that
 * must not run, as their owner sees them.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { NODE_NAME, makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { manifest, podThat, shell, statusOf } from './manifest.ts';

const STATUS = 'cat /proc/self/status';
/** The three of the masked files that kernels have most; each is told as a device or as a file. */
const MASKED =
  'for f in /proc/kcore /proc/keys /proc/timer_list; do ' +
  '[ -e $f ] && { [ -c $f ] && echo hidden || echo seen; }; done';

const PODS = {
  ids: manifest(
    'ids',
    shell(`${STATUS}; touch /in-root && echo wrote-root; cat /proc/sys/net/ipv4/tcp_syncookies`, {
      securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
    }),
    {
      securityContext: {
        runAsUser: 1234,
        runAsGroup: 2345,
        supplementalGroups: [3456],
        fsGroup: 4567,
        seccompProfile: { type: 'RuntimeDefault' },
        sysctls: [{ name: 'net/ipv4/tcp_syncookies', value: '0' }],
      },
    },
  ),
  usual: manifest('usual', shell(`${STATUS}; ${MASKED}; grep ' /proc/sys ' /proc/self/mounts`)),
  few: manifest(
    'few',
    shell(`${STATUS}; touch /in-root && echo wrote-root`, {
      securityContext: { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
    }),
  ),
  mighty: manifest('mighty', shell(STATUS, { securityContext: { privileged: true } })),
  filtered: manifest(
    'filtered',
    shell('mkdir /made || echo no-mkdir; touch /file && echo yes-touch', {
      securityContext: {
        seccompProfile: { type: 'Localhost', localhostProfile: 'deny/mkdir.json' },
      },
    }),
  ),
  absent: manifest(
    'absent',
    shell('true', {
      securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'none.json' } },
    }),
  ),
  nonroot: manifest('nonroot', shell('true', { securityContext: { runAsNonRoot: true } })),
  unsafe: manifest('unsafe', shell('true'), {
    securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '9000' }] },
  }),
};

let containerd: TestContainerd;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd();
  agent = await makeAgent({ socket: containerd.socket });
  const profile = path.join(agent.root, 'seccomp/deny/mkdir.json');
  fs.mkdirSync(path.dirname(profile), { recursive: true });
  const syscalls = [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }];
  fs.writeFileSync(profile, JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', syscalls }));
  for (const [name, pod] of Object.entries(PODS)) {
    agent.apply(`${name}.yaml`, { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } });
  }
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await containerd?.stop();
});

/** What the container of an ended pod has said. */
async function said(name: keyof typeof PODS): Promise<string> {
  await podThat(agent, name, 'has ended', ({ status }) =>
    ['Succeeded', 'Failed'].includes(status.phase ?? ''),
  );
  const { code, stdout, stderr } = await agent.cli('logs', name);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** The values of one line of /proc/self/status. */
function values(text: string, name: string): string[] {
  const line = new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(text)?.[1];
  assert.ok(line !== undefined, `no ${name} in ${text}`);
  return line.trim().split(/\s+/);
}

test('user, groups, no new privileges, seccomp, a safe sysctl and a read-only root', async () => {
  const text = await said('ids');
  assert.deepEqual(values(text, 'Uid'), Array(4).fill('1234'));
  assert.deepEqual(values(text, 'Gid'), Array(4).fill('2345'));
  const groups = values(text, 'Groups');
  for (const group of ['3456', '4567']) assert.ok(groups.includes(group), groups.join());
  assert.deepEqual(values(text, 'NoNewPrivs'), ['1']);
  assert.deepEqual(values(text, 'Seccomp'), ['2']);
  assert.deepEqual(values(text, 'CapEff'), ['0000000000000000']);
  assert.match(text, /Read-only file system/);
  assert.doesNotMatch(text, /wrote-root/);
  assert.match(text, /^0$/m);
});

test('without a security context: root with the usual capabilities, and /proc partly hidden', async () => {
  const text = await said('usual');
  assert.deepEqual(values(text, 'Uid'), Array(4).fill('0'));
  assert.deepEqual(values(text, 'NoNewPrivs'), ['0']);
  assert.deepEqual(values(text, 'Seccomp'), ['0']);
  assert.deepEqual(values(text, 'CapEff'), ['00000000a80425fb']);
  assert.match(text, /^hidden$/m);
  assert.doesNotMatch(text, /^seen$/m);
  assert.match(text, /^proc \/proc\/sys proc ro,/m);
});

test('capabilities are dropped and added, and a root that can be written is', async () => {
  const text = await said('few');
  assert.deepEqual(values(text, 'CapEff'), ['0000000000000400']);
  assert.deepEqual(values(text, 'CapBnd'), ['0000000000000400']);
  assert.match(text, /wrote-root/);
});

test('a privileged container has every capability that this process has', async () => {
  const own = values(fs.readFileSync('/proc/self/status', 'utf8'), 'CapBnd');
  assert.deepEqual(values(await said('mighty'), 'CapEff'), own);
});

test('a seccomp profile of the node is enforced; one that is missing is named', async () => {
  const text = await said('filtered');
  assert.match(text, /^no-mkdir$/m);
  assert.match(text, /^yes-touch$/m);
  const pod = await podThat(agent, 'absent', 'waits', (p) =>
    Boolean(statusOf(p).state.waiting?.message),
  );
  const file = path.join(agent.root, 'seccomp/none.json');
  assert.deepEqual(statusOf(pod).state.waiting, {
    reason: 'CreateContainerConfigError',
    message: `seccompProfile.localhostProfile: found nothing at ${file}, expected a seccomp profile in JSON`,
  });
  fs.copyFileSync(path.join(agent.root, 'seccomp/deny/mkdir.json'), file);
  await said('absent');
});

test('an image that runs as root is refused where that must not be', async () => {
  const pod = await podThat(agent, 'nonroot', 'waits', (p) =>
    Boolean(statusOf(p).state.waiting?.message),
  );
  const who = `(pod: "nonroot-${NODE_NAME}_default(${pod.metadata.uid})", container: main)`;
  assert.deepEqual(statusOf(pod).state.waiting, {
    reason: 'CreateContainerConfigError',
    message: `container has runAsNonRoot and image will run as root ${who}`,
  });
});

test('a pod that the node does not take shows why on the command line', async () => {
  const row = await until('it is refused', async () => {
    const { stdout } = await agent.cli('get', 'pods', 'unsafe');
    return stdout.split('\n').find((line) => line.includes('SysctlForbidden'));
  });
  assert.match(row, new RegExp(`^unsafe-${NODE_NAME} +0/1 +SysctlForbidden +0 `));
  const { stdout } = await agent.cli('describe', 'pod', 'unsafe');
  const text = 'forbidden sysctl: "kernel.msgmax" not allowlisted';
  assert.match(stdout, /^Status: +Failed$/m);
  assert.match(stdout, /^Reason: +SysctlForbidden$/m);
  assert.ok(stdout.includes(`Pod was rejected: ${text}`), stdout);
  assert.match(stdout, new RegExp(`Warning +SysctlForbidden .*${text}`));
});
