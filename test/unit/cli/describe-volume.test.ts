import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../src/api/volume.ts';
import { volumeEntry } from '../../../src/cli/describe-volume.ts';
import { outline } from '../../../src/cli/outline.ts';

const shown = (volume: Omit<Volume, 'name'>): string[] =>
  [...outline([volumeEntry({ name: 'v', ...volume })])].join('\n').split('\n');

test('volumes are described by where their files come from', () => {
  const items = [
    { key: 'a', path: 'x' },
    { key: 'b', path: 'y/z' },
  ];
  assert.deepEqual(shown({ configMap: { name: 'conf', items } }), [
    'v:',
    '  Type:      ConfigMap (a volume populated by a ConfigMap)',
    '  Name:      conf',
    '  Items:     a -> x, b -> y/z',
    '  Optional:  false',
  ]);
  assert.deepEqual(shown({ secret: { secretName: 'key', optional: true } }), [
    'v:',
    '  Type:        Secret (a volume populated by a Secret)',
    '  SecretName:  key',
    '  Optional:    true',
  ]);
  const fields = [
    { path: 'n', fieldRef: { fieldPath: 'metadata.name' } },
    { path: 'c', resourceFieldRef: { containerName: 'app', resource: 'limits.cpu' } },
  ];
  const sources = [
    { configMap: { name: 'conf', optional: true } },
    { secret: { name: 'key', items } },
    { downwardAPI: { items: fields } },
    { serviceAccountToken: { path: 't' } },
  ];
  assert.deepEqual(shown({ projected: { sources } }), [
    'v:',
    '  Type:                 Projected (a volume that contains injected data from multiple sources)',
    '  ConfigMapName:        conf (optional)',
    '  SecretName:           key',
    '  Items:                a -> x, b -> y/z',
    '  DownwardAPI:          metadata.name -> n, app: limits.cpu -> c',
    '  serviceAccountToken:  true',
  ]);
});

test('claims are described, and what islet does not set up is named', () => {
  assert.deepEqual(shown({ persistentVolumeClaim: { claimName: 'data', readOnly: true } }), [
    'v:',
    '  Type:       PersistentVolumeClaim (a directory or device of this node)',
    '  ClaimName:  data',
    '  ReadOnly:   true',
  ]);
  assert.deepEqual(shown({ nfs: { server: 's' } }), ['v:', '  Type:  nfs']);
  assert.match(shown({})[1] ?? '', /EmptyDir/);
});
