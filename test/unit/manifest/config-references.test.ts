/** Which objects a pod and its containers refer to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_CONFIG_OBJECTS, objectText } from '../../../src/api/config-object.ts';
import {
  configReferences,
  containerReferences,
  missingObjects,
} from '../../../src/manifest/config-references.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const app = containerOf('app', {
  env: [
    { name: 'A', valueFrom: { configMapKeyRef: { name: 'both', key: 'k', optional: true } } },
    { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
  ],
  envFrom: [{ configMapRef: { name: 'both' } }, { secretRef: { name: 'maybe', optional: true } }],
  volumeMounts: [{ name: 'cfg', mountPath: '/cfg' }],
});
const init = containerOf('init', { volumeMounts: [{ name: 'all', mountPath: '/all' }] });
const pod = podOf({
  imagePullSecrets: [{ name: 'pull' }],
  initContainers: [init],
  containers: [app, containerOf('none')],
  volumes: [
    { name: 'cfg', configMap: { name: 'both' } },
    { name: 'unused', secret: { secretName: 'unused' } },
    {
      name: 'all',
      projected: {
        sources: [
          { secret: { name: 's2' } },
          { configMap: { name: 'c2', optional: true } },
          { downwardAPI: { items: [] } },
        ],
      },
    },
  ],
});

const shown = (
  one: { use: string; optional: boolean } & Parameters<typeof objectText>[0],
): string => `${one.use} ${objectText(one)}${one.optional ? '?' : ''}`;

test('of a container: its variables and the volumes that it mounts', () => {
  assert.deepEqual(containerReferences(pod, app).map(shown).sort(), [
    'env ConfigMap default/both',
    'env Secret default/maybe?',
    'env Secret default/s',
    'volume ConfigMap default/both',
  ]);
  assert.deepEqual(containerReferences(pod, containerOf('none')), []);
});

test('of a pod: those of all its containers, and of its images', () => {
  assert.deepEqual(configReferences(pod).map(shown).sort(), [
    'env ConfigMap default/both',
    'env Secret default/maybe?',
    'env Secret default/s',
    'pull Secret default/pull?',
    'volume ConfigMap default/both',
    'volume ConfigMap default/c2?',
    'volume Secret default/s2',
  ]);
});

test('missing is what is needed and not there, each once', () => {
  const missing = missingObjects(configReferences(pod), NO_CONFIG_OBJECTS);
  assert.deepEqual(missing.map(objectText).sort(), [
    'ConfigMap default/both',
    'Secret default/s',
    'Secret default/s2',
  ]);
});
