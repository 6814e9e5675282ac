import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSecurityContext, Pod, SecurityContext } from '../../../src/api/pod.ts';
import { ConfigError } from '../../../src/runtime/config-error.ts';
import type { ContainerImage } from '../../../src/runtime/container-config.ts';
import { namespaceOptions } from '../../../src/runtime/namespaces.ts';
import {
  containerSecurity,
  sandboxSecurity,
  verifyRunAsNonRoot,
} from '../../../src/runtime/security.ts';
import { factsOf } from '../../support/facts.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const root: ContainerImage = { ref: 'sha256:1', username: '' };
const numeric: ContainerImage = { ...root, uid: 1000 };
const named: ContainerImage = { ...root, username: 'nginx' };

function podWith(own: SecurityContext, shared: PodSecurityContext = {}): Pod {
  return podOf({
    containers: [containerOf('app', { securityContext: own })],
    securityContext: shared,
  });
}

function securityOf(pod: Pod, image = root, facts = factsOf()) {
  const [container = containerOf('none')] = pod.spec.containers;
  return containerSecurity(pod, container, image, namespaceOptions(pod, undefined), facts);
}

test('the user is the container’s, the pod’s, the image’s, or root', () => {
  const user = (pod: Pod, image: ContainerImage) => {
    const { runAsUser, runAsUsername } = securityOf(pod, image);
    return { runAsUser, runAsUsername };
  };
  const pods = podWith({}, { runAsUser: 5 });
  assert.deepEqual(user(podWith({ runAsUser: 0 }, { runAsUser: 5 }), numeric).runAsUser, 0);
  assert.deepEqual(user(pods, numeric).runAsUser, 5);
  assert.deepEqual(user(podWith({}), numeric).runAsUser, 1000);
  assert.deepEqual(user(podWith({}), named), { runAsUser: undefined, runAsUsername: 'nginx' });
  assert.deepEqual(user(podWith({}), root), { runAsUser: 0, runAsUsername: undefined });
});

const WHO = '(pod: "web-edge1_default(uid-1)", container: app)';
const must = { runAsNonRoot: true };
const refusals: [Pod, ContainerImage, string | undefined][] = [
  [
    podWith({ ...must, runAsUser: 0 }),
    numeric,
    `container's runAsUser breaks non-root policy ${WHO}`,
  ],
  [podWith(must, { runAsUser: 0 }), numeric, `container's runAsUser breaks non-root policy ${WHO}`],
  [podWith({ ...must, runAsUser: 7 }), root, undefined],
  [
    podWith(must),
    named,
    'container has runAsNonRoot and image has non-numeric user (nginx), cannot verify user is ' +
      `non-root ${WHO}`,
  ],
  [podWith(must), root, `container has runAsNonRoot and image will run as root ${WHO}`],
  [
    podWith({}, must),
    { ...root, uid: 0 },
    `container has runAsNonRoot and image will run as root ${WHO}`,
  ],
  [podWith(must), numeric, undefined],
  [podWith({ runAsNonRoot: false }, must), root, undefined],
  [podWith({}), root, undefined],
];
for (const [pod, image, want] of refusals) {
  const [container = containerOf('none')] = pod.spec.containers;
  const title = JSON.stringify([container.securityContext, pod.spec.securityContext, image]);
  test(`runAsNonRoot of ${title}`, () => {
    const check = () => verifyRunAsNonRoot(pod, container, image);
    if (want === undefined) return check();
    assert.throws(
      check,
      (error) =>
        error instanceof ConfigError &&
        error.reason === 'CreateContainerConfigError' &&
        error.message === want,
    );
  });
}

test('seccomp: container over pod over the node’s default, privileged or not', () => {
  const localhost = { type: 'Localhost', localhostProfile: 'p/a.json' } as const;
  const seccomp = (pod: Pod, more = {}) => securityOf(pod, root, factsOf(more)).seccomp;
  assert.deepEqual(seccomp(podWith({})), { type: 'unconfined' });
  assert.deepEqual(seccomp(podWith({}), { seccompDefault: true }), { type: 'runtime-default' });
  assert.deepEqual(seccomp(podWith({ privileged: true }), { seccompDefault: true }), {
    type: 'runtime-default',
  });
  assert.deepEqual(seccomp(podWith({}, { seccompProfile: { type: 'RuntimeDefault' } })), {
    type: 'runtime-default',
  });
  const both = podWith(
    { seccompProfile: localhost },
    { seccompProfile: { type: 'RuntimeDefault' } },
  );
  assert.deepEqual(seccomp(both), {
    type: 'localhost',
    localhostRef: '/var/lib/kubelet/seccomp/p/a.json',
  });
});

test('AppArmor: container field over annotation over pod field, with the old string beside it', () => {
  const apparmor = (own: SecurityContext, annotation?: string, shared: PodSecurityContext = {}) => {
    const pod = podWith(own, shared);
    const key = 'container.apparmor.security.beta.kubernetes.io/app';
    if (annotation !== undefined) pod.metadata.annotations = { [key]: annotation };
    const found = securityOf(pod);
    return [found.apparmor, found.apparmorProfile];
  };
  assert.deepEqual(apparmor({}), [undefined, undefined]);
  assert.deepEqual(apparmor({}, undefined, { appArmorProfile: { type: 'Unconfined' } }), [
    { type: 'unconfined' },
    'unconfined',
  ]);
  assert.deepEqual(apparmor({}, 'localhost/x', { appArmorProfile: { type: 'Unconfined' } }), [
    { type: 'localhost', localhostRef: 'x' },
    'localhost/x',
  ]);
  assert.deepEqual(apparmor({ appArmorProfile: { type: 'RuntimeDefault' } }, 'localhost/x'), [
    { type: 'runtime-default' },
    'runtime/default',
  ]);
});

test('paths of /proc and /sys are hidden unless the container wants them all', () => {
  const thermal = ['/sys/devices/system/cpu/cpu0/thermal_throttle'];
  const facts = factsOf({ thermalThrottlePaths: thermal });
  const usual = securityOf(podWith({}), root, facts);
  assert.equal(usual.maskedPaths.length, 13);
  assert.deepEqual(usual.maskedPaths.slice(-2), ['/sys/devices/virtual/powercap', ...thermal]);
  assert.equal(usual.readonlyPaths.length, 5);
  const open = securityOf(podWith({ procMount: 'Unmasked' }), root, facts);
  assert.deepEqual([open.maskedPaths, open.readonlyPaths], [[], []]);
});

test('new privileges are forbidden only when that is written', () => {
  assert.equal(securityOf(podWith({})).noNewPrivs, false);
  assert.equal(securityOf(podWith({ allowPrivilegeEscalation: true })).noNewPrivs, false);
  assert.equal(securityOf(podWith({ allowPrivilegeEscalation: false })).noNewPrivs, true);
});

test('SELinux options and capabilities are replaced as a whole', () => {
  const shared = { seLinuxOptions: { type: 't', level: 'l' } };
  assert.deepEqual(securityOf(podWith({}, shared)).selinux, {
    user: '',
    role: '',
    type: 't',
    level: 'l',
  });
  assert.deepEqual(securityOf(podWith({ seLinuxOptions: { user: 'u' } }, shared)).selinux, {
    user: 'u',
    role: '',
    type: '',
    level: '',
  });
  assert.deepEqual(securityOf(podWith({ capabilities: { add: ['NET_ADMIN'] } })).capabilities, {
    add: ['NET_ADMIN'],
    drop: [],
  });
  assert.equal('capabilities' in securityOf(podWith({})), false);
});

test('fsGroup comes first among the supplemental groups', () => {
  const found = securityOf(podWith({}, { fsGroup: 9, supplementalGroups: [1, 2] }));
  assert.deepEqual(found.supplementalGroups, [9, 1, 2]);
  assert.equal(found.supplementalGroupsPolicy, 'Merge');
});

test('the sandbox is privileged for any container, and never takes the pod’s seccomp profile', () => {
  const pod = podOf({
    initContainers: [containerOf('i', { securityContext: { privileged: true } })],
    securityContext: { runAsUser: 3, seccompProfile: { type: 'Unconfined' } },
  });
  const sandbox = sandboxSecurity(pod, namespaceOptions(pod, undefined));
  assert.equal(sandbox.privileged, true);
  assert.equal(sandbox.runAsUser, 3);
  assert.deepEqual(sandbox.seccomp, { type: 'runtime-default' });
  assert.equal('runAsGroup' in sandbox, false);
});

test('namespaces', () => {
  const of = (spec: Parameters<typeof podOf>[0], target?: string) =>
    namespaceOptions(podOf(spec), undefined, target);
  const usual = { network: 'pod', ipc: 'pod', pid: 'container', userns: { mode: 'node' } };
  assert.deepEqual(of({}), usual);
  assert.deepEqual(of({ hostNetwork: true, hostIPC: true, hostPID: true }), {
    ...usual,
    network: 'node',
    ipc: 'node',
    pid: 'node',
  });
  assert.equal(of({ shareProcessNamespace: true }).pid, 'pod');
  assert.deepEqual(of({}, 'id1'), { ...usual, pid: 'target', targetId: 'id1' });
  assert.equal(of({ shareProcessNamespace: true }, 'id1').pid, 'pod');
});

test('a pod that wants ids of its own gets them or is refused', () => {
  const pod = podOf({ hostUsers: false });
  const mapping = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
  assert.deepEqual(namespaceOptions(pod, mapping).userns, {
    mode: 'pod',
    uids: mapping,
    gids: mapping,
  });
  assert.throws(() => namespaceOptions(pod, undefined), ConfigError);
});
