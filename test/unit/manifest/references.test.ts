import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiReferences } from '../../../src/manifest/references.ts';
import { podOf, pod } from './helper.ts';

test('every ConfigMap, Secret and claim that a pod needs is listed with its place', () => {
  const given = podOf(
    pod(`  imagePullSecrets: [{name: pull}]
  initContainers: [{name: i, image: x, envFrom: [{secretRef: {name: init, optional: true}}]}]
  containers:
  - name: c
    image: x
    env:
    - {name: A, valueFrom: {configMapKeyRef: {name: conf, key: k}}}
    - {name: B, valueFrom: {secretKeyRef: {name: key, key: k}}}
    - {name: D, value: plain}
  volumes:
  - {name: a, configMap: {name: files}}
  - {name: b, projected: {sources: [{secret: {name: part}}, {configMap: {name: rest}}]}}
  - {name: d, secret: {secretName: tls}}
  - {name: e, persistentVolumeClaim: {claimName: data}}`),
  );
  const found = apiReferences(given).map(({ resource, name, path, allowed }) => {
    assert.ok(allowed);
    return `${resource} ${name} ${path}`;
  });
  assert.deepEqual(found, [
    'secrets pull spec.imagePullSecrets[0]',
    'secrets init spec.initContainers[0].envFrom[0].secretRef',
    'secrets key spec.containers[0].env[1].valueFrom.secretKeyRef',
    'secrets part spec.volumes[1].projected.sources[0].secret',
    'secrets tls spec.volumes[2].secret',
    'configmaps conf spec.containers[0].env[0].valueFrom.configMapKeyRef',
    'configmaps files spec.volumes[0].configMap',
    'configmaps rest spec.volumes[1].projected.sources[1].configMap',
    'persistentvolumeclaims data spec.volumes[3].persistentVolumeClaim',
  ]);
});

test('a pod without references needs nothing', () => {
  assert.deepEqual(
    apiReferences(podOf(pod('  containers: [{name: c, image: x}]\n  imagePullSecrets: []'))),
    [],
  );
});
