/** Fields that are accepted and mean nothing here are named, and nothing but that happens to the pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCandidate } from '../../../src/manifest/candidate.ts';
import { loadManifest } from '../../../src/manifest/load.ts';
import { NODE, PATH, container, load, pod } from './helper.ts';

const warningsOf = (text: string): string[] =>
  load(text).warnings.map(({ line, path, message }) => `${line} ${path}: ${message}`);

test('a dump of a pod that was being deleted, or of a mirror, runs and says so', () => {
  const dump = pod(
    '  containers: [{name: c, image: busybox}]',
    `name: web, deletionTimestamp: "2020-01-01T00:00:00Z", deletionGracePeriodSeconds: 5,
    annotations: {kubernetes.io/config.mirror: abc, team: a}`,
  );
  assert.deepEqual(
    warningsOf(dump).map((text) => text.split(': ')[0]),
    ['3 metadata.deletionTimestamp', '4 metadata.annotations[kubernetes.io/config.mirror]'],
  );
  // `check` shows the pod as the file has it …
  const [document] = load(dump).documents;
  assert.ok(document?.kind === 'Pod' && document.pod.metadata.deletionTimestamp);
  // … and the agent gets the one that is to run.
  const content = Buffer.from(dump);
  const found = toCandidate(loadManifest, NODE, { file: PATH, digest: 'd', content });
  assert.ok(found.kind === 'valid');
  const { metadata, spec } = found.pods[0]?.pod ?? assert.fail();
  assert.equal(metadata.uid, document.pod.metadata.uid);
  assert.equal(metadata.deletionTimestamp, undefined);
  assert.equal(metadata.deletionGracePeriodSeconds, undefined);
  assert.deepEqual(Object.keys(metadata.annotations ?? {}).sort(), [
    'kubernetes.io/config.hash',
    'kubernetes.io/config.source',
    'team',
  ]);
  assert.equal(spec.containers.length, 1);
  assert.equal(found.pods[0]?.warnings.length, 2);
});

test('a stop signal has no effect unless its feature gate is on', () => {
  const text = container('lifecycle: {stopSignal: SIGUSR1}').replace(
    'spec:',
    'spec:\n  os: {name: linux}',
  );
  assert.match(
    warningsOf(text)[0] ?? '',
    /^9 spec\.containers\[0\]\.lifecycle\.stopSignal: has no effect/,
  );
  const featureGates = { ContainerStopSignals: true };
  const { errors, warnings } = loadManifest(Buffer.from(text), {
    ...{ path: PATH, nodeName: NODE, featureGates },
  });
  assert.deepEqual([errors, warnings], [[], []]);
});

test('a hook that cannot run is named before it fails', () => {
  const text = container(
    'lifecycle:',
    '  postStart: {tcpSocket: {port: 80}}',
    '  preStop: {tcpSocket: {port: 80}}',
  );
  assert.deepEqual(
    warningsOf(text).map((line) => line.split(': ')[0]),
    [
      '9 spec.containers[0].lifecycle.postStart.tcpSocket',
      '10 spec.containers[0].lifecycle.preStop.tcpSocket',
    ],
  );
});
