import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec, ResourceRequirements } from '../../../src/api/pod.ts';
import {
  containerResources,
  milliToQuota,
  milliToShares,
  oomScoreAdjust,
  overheadResources,
  sandboxResources,
  sharesToWeight,
} from '../../../src/runtime/resources.ts';
import { factsOf, GIB, MIB } from '../../support/facts.ts';
import { containerOf, podOf } from '../../support/pods.ts';

test('millicores as shares and weight', () => {
  const rows: [number, number, number][] = [
    [250, 256, 10],
    [1000, 1024, 39],
    [0, 2, 1],
    [1, 2, 1],
    [10_000_000, 262_144, 10_000],
  ];
  for (const [milli, shares, weight] of rows) {
    assert.equal(milliToShares(milli), shares, `${milli}m`);
    assert.equal(sharesToWeight(shares), weight, `${shares} shares`);
  }
});

test('millicores as quota', () => {
  assert.deepEqual([500, 5, 0, 1500].map(milliToQuota), [50_000, 1000, 0, 150_000]);
});

function one(resources: ResourceRequirements, more: Partial<PodSpec> = {}) {
  const container = containerOf('app', { resources });
  return { pod: podOf({ containers: [container], ...more }), container };
}

function resourcesOf(resources: ResourceRequirements, facts = factsOf()) {
  const { pod, container } = one(resources);
  return containerResources(pod, container, facts);
}

test('a limit stands for a request that is missing', () => {
  assert.equal(resourcesOf({ limits: { cpu: '2' } }).cpuShares, 2048);
  assert.equal(resourcesOf({ limits: { cpu: '2' }, requests: { cpu: '0' } }).cpuShares, 2);
});

test('a container without anything has a period, the smallest weight and no limits', () => {
  assert.deepEqual(resourcesOf({}), {
    cpuShares: 2,
    cpuPeriod: 100_000,
    oomScoreAdj: 1000,
    hugepageLimits: [{ pageSize: '2MB', limit: 0 }],
    unified: { 'memory.oom.group': '1' },
  });
});

test('limits reach every field', () => {
  const limits = { cpu: '250m', memory: '64Mi', 'hugepages-2Mi': '4Mi' };
  const found = resourcesOf({ limits, requests: { memory: '32Mi' } });
  assert.equal(found.cpuQuota, 25_000);
  assert.equal(found.memoryLimitInBytes, 64 * MIB);
  assert.deepEqual(found.hugepageLimits, [{ pageSize: '2MB', limit: 4 * MIB }]);
});

test('without CFS quota neither quota nor period is sent', () => {
  const found = resourcesOf({ limits: { cpu: '1' } }, factsOf({ cpuCFSQuota: false }));
  assert.equal('cpuQuota' in found || 'cpuPeriod' in found, false);
});

test('swap is kept away as the cgroup version allows', () => {
  const limits = { memory: '64Mi' };
  const v1 = factsOf({ cgroupVersion: 1, swapController: true, singleProcessOOMKill: true });
  assert.equal(resourcesOf({ limits }, v1).memorySwapLimitInBytes, 64 * MIB);
  assert.equal(resourcesOf({}, v1).memorySwapLimitInBytes, undefined);
  assert.equal(resourcesOf({}, v1).unified, undefined);
  const v2 = resourcesOf({ limits }, factsOf({ swapController: true }));
  assert.deepEqual(v2.unified, { 'memory.oom.group': '1', 'memory.swap.max': '0' });
  const single = factsOf({ singleProcessOOMKill: true });
  assert.equal(resourcesOf({ limits }, single).unified, undefined);
});

test('limited swap goes to Burstable pods that the node can do without, by their share of memory', () => {
  const facts = factsOf({ swapController: true, limitedSwap: true, swapCapacity: 4 * GIB });
  const swapOf = (resources: ResourceRequirements, spec: Partial<PodSpec> = {}, more = facts) => {
    const { pod, container } = one(resources, spec);
    return containerResources(pod, container, more).unified?.['memory.swap.max'];
  };
  const request = { requests: { memory: '2Gi' } }; // a quarter of the node
  assert.equal(swapOf(request), String(GIB));
  assert.equal(swapOf({ requests: { memory: '1Gi' }, limits: { memory: '2Gi' } }), String(GIB / 2));
  assert.equal(swapOf({ requests: { memory: '1Gi' }, limits: { memory: '1Gi' } }), '0');
  assert.equal(swapOf({}), '0');
  assert.equal(swapOf(request, { priorityClassName: 'system-node-critical' }), '0');
  assert.equal(swapOf(request, {}, { ...facts, limitedSwap: false }), '0');
});

test('a memory limit beyond all machines stays a positive number', () => {
  const found = resourcesOf({ limits: { memory: '12345678901234567890' } });
  assert.equal(found.memoryLimitInBytes, Number.MAX_SAFE_INTEGER);
});

const score = (resources: ResourceRequirements, more: Partial<PodSpec> = {}): number => {
  const { pod, container } = one(resources, more);
  return oomScoreAdjust(pod, container, 8 * GIB);
};

test('oom_score_adj by QoS class', () => {
  const full = { cpu: '1', memory: '1Gi' };
  assert.equal(score({ requests: { memory: '1Gi' } }), 875);
  assert.equal(score({ requests: { cpu: '1' } }), 999);
  assert.equal(score({ requests: { memory: '100Gi' } }), 3);
  assert.equal(score({ requests: full, limits: full }), -997);
  assert.equal(score({}), 1000);
  assert.equal(score({}, { priorityClassName: 'system-node-critical' }), -997);
  assert.equal(score({}, { priorityClassName: 'system-cluster-critical' }), 1000);
});

test('a sidecar is not killed before the containers that it serves', () => {
  const memory = (name: string, request: string, more: Partial<Container> = {}) =>
    containerOf(name, { resources: { requests: { memory: request } }, ...more });
  const sidecar = memory('side', '64Mi', { restartPolicy: 'Always' });
  const pod = podOf({
    initContainers: [sidecar],
    containers: [memory('a', '4Gi'), memory('b', '2Gi')],
  });
  assert.equal(oomScoreAdjust(pod, sidecar, 8 * GIB), 750);
});

test('pod-level requests are shared out, pod-level limits inherited', () => {
  const first = containerOf('a', { resources: { requests: { memory: '1Gi' } } });
  const second = containerOf('b');
  const pod = podOf({
    containers: [first, second],
    resources: { requests: { memory: '3Gi' }, limits: { cpu: '1', memory: '4Gi' } },
  });
  assert.equal(oomScoreAdjust(pod, first, 8 * GIB), 750);
  assert.equal(oomScoreAdjust(pod, second, 8 * GIB), 875);
  const inherited = containerResources(pod, second, factsOf());
  assert.equal(inherited.memoryLimitInBytes, 4 * GIB);
  assert.deepEqual([inherited.cpuShares, inherited.cpuQuota], [1024, 100_000]);
});

test('the sandbox gets the pod’s sums, overhead apart', () => {
  const resources = { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '32Mi' } };
  const containers = [containerOf('a', { resources }), containerOf('b', { resources })];
  const pod = podOf({ containers, overhead: { cpu: '250m', memory: '64Mi' } });
  const sandbox = sandboxResources(pod, factsOf());
  assert.deepEqual(
    [sandbox.cpuShares, sandbox.cpuQuota, sandbox.memoryLimitInBytes],
    [204, 40_000, 64 * MIB],
  );
  const overhead = overheadResources(pod, factsOf());
  assert.deepEqual([overhead?.cpuShares, overhead?.memoryLimitInBytes], [256, 64 * MIB]);
  assert.equal(overheadResources(podOf(), factsOf()), undefined);
});
