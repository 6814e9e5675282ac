import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceRequirements } from '../../../src/api/pod.ts';
import { podCgroupLimits, podsLimits, qosLimits } from '../../../src/pod/cgroup-limits.ts';
import { cgroupSettings, sliceProperties } from '../../../src/pod/cgroup-settings.ts';
import { amountsOfNode, factsOf, GIB, MIB } from '../../support/facts.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const facts = factsOf();
const pages = new Map([[2 * MIB, 0]]);

function podOfEach(...resources: ResourceRequirements[]) {
  const containers = resources.map((r, i) => containerOf(`c${i}`, { resources: r }));
  return podOf({ containers });
}

const half = { cpu: '500m', memory: '64Mi' };

test('a Guaranteed pod has all its limits', () => {
  const pod = podOfEach({ requests: half, limits: half }, { requests: half, limits: half });
  assert.deepEqual(podCgroupLimits(pod, facts), {
    cpuShares: 1024,
    cpuQuota: 100_000,
    cpuPeriod: 100_000,
    memory: 128 * MIB,
    hugepages: pages,
  });
});

test('a Burstable pod is limited only in what every container limits', () => {
  const pod = podOfEach(
    { requests: { cpu: '100m' }, limits: { cpu: '1', memory: '64Mi' } },
    { requests: { cpu: '100m' }, limits: { memory: '64Mi' } },
  );
  assert.deepEqual(podCgroupLimits(pod, facts), {
    cpuShares: 204,
    memory: 128 * MIB,
    hugepages: pages,
  });
  pod.spec.initContainers = [containerOf('init')];
  assert.equal(podCgroupLimits(pod, facts).memory, undefined);
});

test('pod-level limits count for the whole pod, and overhead is part of it', () => {
  const pod = podOfEach({}, {});
  pod.spec.resources = { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } };
  pod.spec.overhead = { cpu: '250m', memory: '1Gi' };
  const limits = podCgroupLimits(pod, facts);
  assert.deepEqual([limits.cpuShares, limits.cpuQuota, limits.memory], [1280, 225_000, 2 * GIB]);
});

test('a BestEffort pod has the smallest weight and nothing else', () => {
  assert.deepEqual(podCgroupLimits(podOfEach({}), facts), { cpuShares: 2, hugepages: pages });
});

test('process ids, huge pages, and no quota when quotas are off', () => {
  const limits = { ...half, 'hugepages-2Mi': '4Mi' };
  const pod = podOfEach({ requests: limits, limits });
  const found = podCgroupLimits(pod, factsOf({ podPidsLimit: 500, cpuCFSQuota: false }));
  assert.equal(found.pids, 500);
  assert.equal(found.cpuQuota, -1);
  assert.deepEqual(found.hugepages, new Map([[2 * MIB, 4 * MIB]]));
});

test('a limit beyond all machines is still a number that the kernel reads', () => {
  const limits = { cpu: '1', memory: '1e30' };
  const found = podCgroupLimits(podOfEach({ requests: limits, limits }), facts);
  const [memory] = cgroupSettings({ memory: found.memory ?? 0 }, 1);
  assert.equal(memory?.value, '9007199254740991');
});

test('the weight of the Burstable class is the sum of its pods’ requests', () => {
  const burstable = podOfEach({ requests: { cpu: '300m' } });
  const guaranteed = podOfEach({ requests: half, limits: half });
  const pods = [burstable, burstable, guaranteed, podOfEach({})];
  assert.equal(qosLimits('Burstable', pods, facts).cpuShares, 614);
  assert.equal(qosLimits('Burstable', [], facts).cpuShares, 2);
  assert.equal(qosLimits('BestEffort', pods, facts).cpuShares, 2);
});

test('kubepods: what reservations leave, when that is enforced', () => {
  const node = factsOf({
    podsLimit: amountsOfNode({ cpuMilli: 1500, memory: 7 * GIB, pids: 30_000 }),
  });
  assert.deepEqual(podsLimits(node, true), {
    cpuShares: 1536,
    memory: 7 * GIB,
    pids: 30_000,
    hugepages: pages,
  });
  assert.deepEqual(podsLimits(node, false), { cpuShares: 2048 });
});

const all = {
  cpuShares: 256,
  cpuQuota: 50_000,
  cpuPeriod: 100_000,
  memory: 64 * MIB,
  pids: 100,
  hugepages: new Map([
    [2 * MIB, 4 * MIB],
    [GIB, Infinity],
  ]),
};

test('limits as files of cgroup v1, the period before the quota', () => {
  assert.deepEqual(
    cgroupSettings(all, 1).map(({ controller, file, value }) => `${controller}/${file}=${value}`),
    [
      'cpu/cpu.shares=256',
      'cpu/cpu.cfs_period_us=100000',
      'cpu/cpu.cfs_quota_us=50000',
      'memory/memory.limit_in_bytes=67108864',
      'pids/pids.max=100',
      'hugetlb/hugetlb.2MB.limit_in_bytes=4194304',
      'hugetlb/hugetlb.1GB.limit_in_bytes=-1',
    ],
  );
});

test('limits as files of cgroup v2', () => {
  assert.deepEqual(
    cgroupSettings(all, 2).map(({ controller, file, value }) => `${controller}/${file}=${value}`),
    [
      'cpu/cpu.weight=10',
      'cpu/cpu.max=50000 100000',
      'memory/memory.max=67108864',
      'pids/pids.max=100',
      'hugetlb/hugetlb.2MB.max=4194304',
      'hugetlb/hugetlb.1GB.max=max',
    ],
  );
});

test('no limit is written as none', () => {
  const none = { cpuQuota: -1, cpuPeriod: 100_000, memory: 0 };
  const of = (version: 1 | 2) => cgroupSettings(none, version).map((s) => `${s.file}=${s.value}`);
  assert.deepEqual(of(1), ['cpu.cfs_period_us=100000', 'cpu.cfs_quota_us=-1']);
  assert.deepEqual(of(2), ['cpu.max=max 100000']);
  assert.deepEqual(cgroupSettings({ cpuQuota: 0 }, 1)[0]?.value, '-1');
  assert.deepEqual(cgroupSettings({}, 2), []);
});

test('limits as properties of a slice', () => {
  const unlimited = '18446744073709551615';
  assert.deepEqual(sliceProperties(all, 2), [
    ['CPUWeight', 't', '10'],
    ['CPUQuotaPerSecUSec', 't', '500000'],
    ['MemoryMax', 't', '67108864'],
    ['TasksMax', 't', '100'],
  ]);
  assert.deepEqual(sliceProperties({ cpuShares: 2, cpuQuota: -1, memory: 1 }, 1), [
    ['CPUShares', 't', '2'],
    ['CPUQuotaPerSecUSec', 't', unlimited],
    ['MemoryLimit', 't', '1'],
  ]);
  assert.deepEqual(sliceProperties({ cpuQuota: 1234 }, 2), [['CPUQuotaPerSecUSec', 't', '20000']]);
});
