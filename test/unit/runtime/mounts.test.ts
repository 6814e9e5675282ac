import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeMount } from '../../../src/api/pod.ts';
import { ConfigError } from '../../../src/runtime/config-error.ts';
import type { MountsInput } from '../../../src/runtime/mounts.ts';
import { containerMounts, mountSubPath, subPathRequests } from '../../../src/runtime/mounts.ts';
import { containerOf } from '../../support/pods.ts';

const volumes: MountsInput['volumes'] = new Map([
  ['data', { kind: 'path', hostPath: '/vol/data', readOnly: false, selinuxRelabel: true }],
  ['conf', { kind: 'path', hostPath: '/vol/conf', readOnly: true, selinuxRelabel: true }],
  ['img', { kind: 'image', reference: 'quay.io/a/b:v2' }],
]);

function mountsOf(volumeMounts: VolumeMount[], more: Partial<MountsInput> = {}) {
  return containerMounts({
    container: containerOf('app', { volumeMounts }),
    env: new Map([['P', 'web']]),
    volumes,
    subPaths: new Map(),
    hostsPath: '/pod/etc-hosts',
    terminationLogPath: '/pod/containers/app/12345678',
    selinuxEnabled: false,
    userns: undefined,
    ...more,
  });
}

const fails = (message: string) => (error: unknown) =>
  error instanceof ConfigError && error.message === message;

test('volumes come first, then the hosts file, then the termination log', () => {
  const found = mountsOf([
    { name: 'data', mountPath: '/data' },
    { name: 'conf', mountPath: 'relative' },
  ]);
  assert.deepEqual(
    found.map(({ containerPath, hostPath, readonly }) => [containerPath, hostPath, readonly]),
    [
      ['/data', '/vol/data', false],
      ['/relative', '/vol/conf', true],
      ['/etc/hosts', '/pod/etc-hosts', false],
      ['/dev/termination-log', '/pod/containers/app/12345678', false],
    ],
  );
});

test('who mounts /etc/hosts keeps it; a pod without addresses has none', () => {
  const paths = (found: { containerPath: string; hostPath: string }[]) =>
    found.filter((m) => m.containerPath === '/etc/hosts').map((m) => m.hostPath);
  assert.deepEqual(paths(mountsOf([{ name: 'data', mountPath: '/etc/hosts' }])), ['/vol/data']);
  assert.deepEqual(paths(mountsOf([], { hostsPath: undefined })), []);
});

test('propagation and read-only as asked', () => {
  const [a, b, c, d] = mountsOf([
    { name: 'data', mountPath: '/a', mountPropagation: 'HostToContainer', readOnly: true },
    { name: 'data', mountPath: '/b', mountPropagation: 'Bidirectional' },
    { name: 'data', mountPath: '/c', mountPropagation: 'None' },
    { name: 'data', mountPath: '/d' },
  ]);
  assert.deepEqual(
    [a, b, c, d].map((m) => m?.propagation),
    ['host-to-container', 'bidirectional', 'private', 'private'],
  );
  assert.deepEqual([a?.readonly, b?.readonly], [true, false]);
});

test('labels are changed only where SELinux is on and the content is the agent’s', () => {
  const relabels = (selinuxEnabled: boolean) =>
    mountsOf([{ name: 'data', mountPath: '/a' }], { selinuxEnabled }).map((m) => m.selinuxRelabel);
  assert.deepEqual(relabels(false), [false, false, false]);
  assert.deepEqual(relabels(true), [true, true, true]);
});

test('every mount of a pod with its own ids carries the mapping', () => {
  const userns = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
  for (const mount of mountsOf([{ name: 'data', mountPath: '/a' }], { userns })) {
    assert.deepEqual([mount.uidMappings, mount.gidMappings], [userns, userns]);
  }
});

test('an image volume is mounted by the runtime, read-only, sub path and all', () => {
  const [mount] = mountsOf([{ name: 'img', mountPath: '/i', subPath: 'dir' }], {
    imageRefs: new Map([['img', 'sha256:9']]),
  });
  assert.deepEqual(mount, {
    containerPath: '/i',
    hostPath: '',
    propagation: 'private',
    readonly: true,
    image: { image: 'sha256:9', userSpecifiedImage: 'quay.io/a/b:v2' },
    imageSubPath: 'dir',
  });
});

test('what cannot be mounted is refused in the kubelet’s words', () => {
  assert.throws(
    () => mountsOf([{ name: 'none', mountPath: '/a' }]),
    fails('cannot find volume "none" to mount into container "app"'),
  );
  assert.throws(
    () =>
      mountsOf([{ name: 'data', mountPath: '/a', readOnly: true, recursiveReadOnly: 'Enabled' }]),
    fails(
      'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, ' +
        'but it is not supported by the runtime',
    ),
  );
});

test('read-only all the way down: as asked where the runtime can, never by itself', () => {
  const found = (recursiveReadOnly: string | undefined, recursiveReadOnlyMounts?: boolean) => {
    const mount = { name: 'data', mountPath: '/a', readOnly: true };
    const asked = recursiveReadOnly === undefined ? mount : { ...mount, recursiveReadOnly };
    return mountsOf([asked], { recursiveReadOnlyMounts })[0]?.recursiveReadOnly ?? false;
  };
  assert.deepEqual([found('IfPossible', true), found('Enabled', true)], [true, true]);
  assert.deepEqual([found('Disabled', true), found(undefined, true)], [false, false]);
  assert.deepEqual([found('IfPossible', false), found('IfPossible')], [false, false]);
});

test('sub paths: listed for the volume manager, then taken from it', () => {
  const volumeMounts = [
    { name: 'data', mountPath: '/a' },
    { name: 'data', mountPath: '/b', subPathExpr: '$(P)/d' },
    { name: 'img', mountPath: '/i', subPath: 'dir' },
  ];
  const container = containerOf('app', { volumeMounts });
  assert.deepEqual(subPathRequests(container, new Map([['P', 'web']]), volumes), [
    { index: 1, volumeName: 'data', hostPath: '/vol/data', subPath: 'web/d' },
  ]);
  const found = mountsOf(volumeMounts, { subPaths: new Map([[1, '/pod/volume-subpaths/1']]) });
  assert.deepEqual(
    found.slice(0, 2).map((m) => m.hostPath),
    ['/vol/data', '/pod/volume-subpaths/1'],
  );
  assert.throws(() => mountsOf(volumeMounts), ConfigError);
});

test('a sub path never leaves its volume', () => {
  const env = new Map([['UP', '..']]);
  const sub = (more: Partial<VolumeMount>) =>
    mountSubPath({ name: 'data', mountPath: '/a', ...more }, env);
  assert.equal(sub({ subPath: 'a..b/c' }), 'a..b/c');
  for (const subPath of ['/abs', '..', 'a/../b']) {
    assert.throws(() => sub({ subPath }), ConfigError, subPath);
  }
  assert.throws(() => sub({ subPathExpr: 'a/$(UP)/b' }), ConfigError);
  assert.throws(() => sub({ subPathExpr: '$(NONE)' }), fails('missing value for NONE'));
});
