import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldValue, mapLines, resourceFieldValue } from '../../../src/api/downward.ts';
import type { ResourceFieldSelector, ResourceRequirements } from '../../../src/api/pod.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { GIB, MIB } from '../../support/facts.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const facts = {
  nodeName: 'edge1',
  nodeIps: ['10.0.0.2', 'fd00::2'],
  podIps: ['10.88.0.5', 'fd00::5'],
};

function pod(spec: Parameters<typeof podOf>[0] = {}) {
  const made = podOf({ serviceAccountName: 'sa', ...spec }, 'uid-1');
  made.metadata.labels = { b: 'two', 'a/x': 'one' };
  made.metadata.annotations = { note: "it's" };
  return made;
}

const rows: [string, string][] = [
  ['metadata.name', 'web-edge1'],
  ['metadata.namespace', 'default'],
  ['metadata.uid', 'uid-1'],
  ["metadata.labels['a/x']", 'one'],
  ["metadata.labels['none']", ''],
  ["metadata.annotations['note']", "it's"],
  ['metadata.labels', 'a/x="one"\nb="two"'],
  ['spec.nodeName', 'edge1'],
  ['spec.serviceAccountName', 'sa'],
  ['status.hostIP', '10.0.0.2'],
  ['status.hostIPs', '10.0.0.2,fd00::2'],
  ['status.podIP', '10.88.0.5'],
  ['status.podIPs', '10.88.0.5,fd00::5'],
];
for (const [fieldPath, want] of rows) {
  test(`fieldRef ${fieldPath}`, () => assert.equal(fieldValue(pod(), { fieldPath }, facts), want));
}

test('a hostNetwork pod has the addresses of the node', () => {
  const onHost = pod({ hostNetwork: true });
  assert.equal(
    fieldValue(onHost, { fieldPath: 'status.podIP' }, { ...facts, podIps: [] }),
    '10.0.0.2',
  );
});

test('a pod without an address yet has an empty one', () => {
  assert.equal(fieldValue(pod(), { fieldPath: 'status.podIP' }, { ...facts, podIps: [] }), '');
});

test('an unknown field is refused', () => {
  assert.throws(() => fieldValue(pod(), { fieldPath: 'spec.hostNetwork' }, facts), IsletError);
});

test('map lines are quoted as Go does', () => {
  const map = { k: 'tab\tnew\nquote"back\\slash\u0001\u007f\u200b é' };
  assert.equal(mapLines(map), 'k="tab\\tnew\\nquote\\"back\\\\slash\\x01\\x7f\\u200b é"');
  assert.equal(mapLines(undefined), '');
});

const allocatable = { cpuMilli: 1900, memory: 7 * GIB, ephemeralStorage: 5 * GIB };

function resource(
  resources: ResourceRequirements,
  selector: ResourceFieldSelector,
  podLevel?: ResourceRequirements,
): string {
  const container = containerOf('app', { resources });
  const made = podOf({ containers: [container], ...(podLevel && { resources: podLevel }) });
  return resourceFieldValue(made, selector, container, allocatable);
}

test('resourceFieldRef divides and rounds up', () => {
  const cpu = { limits: { cpu: '1500m' }, requests: { cpu: '250m' } };
  assert.equal(resource(cpu, { resource: 'limits.cpu', divisor: '1' }), '2');
  assert.equal(resource(cpu, { resource: 'limits.cpu', divisor: '0' }), '2');
  assert.equal(resource(cpu, { resource: 'limits.cpu', divisor: '1m' }), '1500');
  assert.equal(resource(cpu, { resource: 'requests.cpu' }), '1');
  const memory = { limits: { memory: '64Mi', 'hugepages-2Mi': '4Mi' } };
  assert.equal(resource(memory, { resource: 'limits.memory', divisor: '1Mi' }), '64');
  assert.equal(resource(memory, { resource: 'limits.memory' }), String(64 * MIB));
  assert.equal(resource(memory, { resource: 'limits.hugepages-2Mi', divisor: '1Mi' }), '4');
});

test('a limit that is not set is the pod’s, else what the node gives; a request is 0', () => {
  assert.equal(resource({}, { resource: 'limits.cpu', divisor: '1m' }), '1900');
  assert.equal(resource({}, { resource: 'limits.memory' }), String(7 * GIB));
  assert.equal(resource({}, { resource: 'limits.ephemeral-storage' }), String(5 * GIB));
  assert.equal(
    resource({}, { resource: 'limits.memory' }, { limits: { memory: '1Gi' } }),
    String(GIB),
  );
  assert.equal(resource({}, { resource: 'requests.memory' }), '0');
});

test('resources of another container, by name', () => {
  const other = containerOf('other', { resources: { limits: { cpu: '3' } } });
  const made = podOf({ containers: [containerOf('app'), other] });
  const selector = { containerName: 'other', resource: 'limits.cpu' };
  assert.equal(resourceFieldValue(made, selector, undefined, allocatable), '3');
  const none = { containerName: 'none', resource: 'limits.cpu' };
  assert.throws(() => resourceFieldValue(made, none, undefined, allocatable), IsletError);
  const gpu = { containerName: 'other', resource: 'limits.nvidia.com/gpu' };
  assert.throws(() => resourceFieldValue(made, gpu, undefined, allocatable), IsletError);
});
