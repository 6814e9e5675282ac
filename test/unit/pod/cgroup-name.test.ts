import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { QosClass } from '../../../src/api/status.ts';
import {
  cgroupPath,
  podName,
  podsName,
  qosName,
  rootName,
  sliceName,
  uidOfDirectory,
} from '../../../src/pod/cgroup-name.ts';
import { IsletError } from '../../../src/util/errors.ts';

const classes: QosClass[] = ['Guaranteed', 'Burstable', 'BestEffort'];

test('where a pod’s cgroup is, by driver', () => {
  const rows: [string, QosClass, string, string][] = [
    [
      '/',
      'Burstable',
      '/kubepods/burstable/podab-cd',
      '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab_cd.slice',
    ],
    ['', 'Guaranteed', '/kubepods/podab-cd', '/kubepods.slice/kubepods-podab_cd.slice'],
    [
      '/a/b-c/',
      'BestEffort',
      '/a/b-c/kubepods/besteffort/podab-cd',
      '/a.slice/a-b_c.slice/a-b_c-kubepods.slice/a-b_c-kubepods-besteffort.slice/' +
        'a-b_c-kubepods-besteffort-podab_cd.slice',
    ],
  ];
  for (const [root, qos, plain, slice] of rows) {
    const name = podName(rootName(root), qos, 'ab-cd');
    assert.equal(cgroupPath(name, 'cgroupfs'), plain);
    assert.equal(cgroupPath(name, 'systemd'), slice);
    assert.equal(sliceName(name), slice.split('/').at(-1));
  }
});

test('the root is the root', () => {
  assert.equal(cgroupPath(rootName('/'), 'cgroupfs'), '/');
  assert.equal(cgroupPath([], 'systemd'), '/');
  assert.equal(sliceName([]), '-.slice');
  assert.deepEqual(podsName([]), ['kubepods']);
});

test('a uid cannot lead anywhere else', () => {
  for (const uid of ['', '../../etc', 'a/b', 'a\0b']) {
    assert.throws(() => podName([], 'Burstable', uid), IsletError, JSON.stringify(uid));
  }
});

test('the uid is found again from the directory', () => {
  const uids = fc.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){0,3}$/);
  const drivers = fc.constantFrom<'cgroupfs' | 'systemd'>('cgroupfs', 'systemd');
  fc.assert(
    fc.property(uids, drivers, fc.constantFrom(...classes), (uid, driver, qos) => {
      const level = qosName(['x-y'], qos);
      const directory =
        cgroupPath(podName(['x-y'], qos, uid), driver)
          .split('/')
          .at(-1) ?? '';
      assert.equal(uidOfDirectory(directory, level, driver), uid);
    }),
  );
});

test('the classes are no pods', () => {
  const level = podsName([]);
  for (const directory of ['burstable', 'besteffort', 'other']) {
    assert.equal(uidOfDirectory(directory, level, 'cgroupfs'), undefined);
  }
  for (const directory of ['kubepods-burstable.slice', 'kubepods-pod1.scope', 'pod1.slice']) {
    assert.equal(uidOfDirectory(directory, level, 'systemd'), undefined);
  }
});
