import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { podName } from '../../../src/pod/cgroup-name.ts';
import { startArguments, SystemdSlices } from '../../../src/pod/cgroup-systemd.ts';
import { CgroupTree } from '../../../src/pod/cgroup-tree.ts';
import { PodCgroups } from '../../../src/pod/cgroups.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { factsOf } from '../../support/facts.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const base = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-slices-'));
after(() => fs.rmSync(base, { recursive: true }));
const never = new AbortController().signal;

test('the call that starts a slice', () => {
  const name = podName([], 'Burstable', 'ab-cd');
  assert.deepEqual(startArguments(name, [['CPUWeight', 't', '10']], 2), [
    'call',
    'org.freedesktop.systemd1',
    '/org/freedesktop/systemd1',
    'org.freedesktop.systemd1.Manager',
    'StartTransientUnit',
    'ssa(sv)a(sa(sv))',
    'kubepods-burstable-podab_cd.slice',
    'replace',
    '8',
    ...['Description', 's', 'cgroup kubepods-burstable-podab_cd.slice of islet'],
    ...['Wants', 'as', '1', 'kubepods-burstable.slice'],
    ...['DefaultDependencies', 'b', 'false'],
    ...['MemoryAccounting', 'b', 'true'],
    ...['CPUAccounting', 'b', 'true'],
    ...['IOAccounting', 'b', 'true'],
    ...['TasksAccounting', 'b', 'true'],
    ...['CPUWeight', 't', '10'],
    '0',
  ]);
});

/** `Method unit` of each call, against a tree of plain files. */
function harness(answer: (call: string) => void = () => undefined) {
  const root = fs.mkdtempSync(path.join(base, 'root-'));
  fs.writeFileSync(path.join(root, 'cgroup.controllers'), 'cpu memory pids');
  const calls: string[] = [];
  const busctl = async (args: readonly string[]) => {
    const call = `${args[4]} ${args[6]}`;
    calls.push(call);
    await Promise.resolve();
    answer(call);
  };
  const facts = factsOf();
  const cgroups = new PodCgroups({
    tree: new CgroupTree({ root, version: 2 }),
    driver: 'systemd',
    slices: new SystemdSlices({ busctl, version: 2 }),
    cgroupRoot: '/',
    cgroupsPerQOS: true,
    enforcePods: true,
    facts,
    clock: new SystemClock(),
    kill: () => undefined,
  });
  return { cgroups, calls };
}

test('slices are started from the top, then only changed, then stopped', async () => {
  const { cgroups, calls } = harness();
  await cgroups.ensureRoot(never);
  const resources = { requests: { cpu: '100m' } };
  const pod = podOf({ containers: [containerOf('a', { resources })] }, 'ab-cd');
  await cgroups.ensure(pod, never);
  await cgroups.ensure(pod, never);
  await cgroups.refreshQos([pod], never);
  assert.deepEqual(await cgroups.list(), [{ uid: 'ab-cd', qos: 'Burstable' }]);
  await cgroups.destroy('ab-cd', never);
  assert.deepEqual(calls, [
    'StartTransientUnit kubepods.slice',
    'StartTransientUnit kubepods-burstable.slice',
    'StartTransientUnit kubepods-besteffort.slice',
    'StartTransientUnit kubepods-burstable-podab_cd.slice',
    'SetUnitProperties kubepods-burstable.slice',
    'StopUnit kubepods-burstable-podab_cd.slice',
  ]);
  assert.deepEqual(await cgroups.list(), []);
});

test('a unit that failed before is reset and started again', async () => {
  let failures = 1;
  const { cgroups, calls } = harness((call) => {
    if (call.startsWith('Start') && failures-- > 0) throw new Error('unit is loaded');
  });
  await cgroups.ensure(podOf({}, 'u1'), never);
  const unit = 'kubepods-besteffort-podu1.slice';
  assert.deepEqual(calls, [
    `StartTransientUnit ${unit}`,
    `ResetFailedUnit ${unit}`,
    `StartTransientUnit ${unit}`,
  ]);
});

test('no answer from systemd is an error that names the slice', async () => {
  const { cgroups } = harness(() => {
    throw new Error('no bus');
  });
  await assert.rejects(
    cgroups.ensure(podOf({}, 'u1'), never),
    (error) => error instanceof IsletError && error.message.includes('podu1.slice'),
  );
});
