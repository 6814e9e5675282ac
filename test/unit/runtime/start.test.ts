/** What the start of one container takes into account, with everything that it does left out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap } from '../../../src/api/config-object.ts';
import { Annotation } from '../../../src/api/reasons.ts';
import { objectHashes, objectsAnnotation } from '../../../src/runtime/object-hash.ts';
import type { StarterDeps } from '../../../src/runtime/start.ts';
import { ContainerStarter } from '../../../src/runtime/start.ts';
import { HashKey } from '../../../src/store/hash-key.ts';
import { containerOf, podOf, recordOf, runtimeOf, sandboxOf } from '../../support/pods.ts';

test('crashes with other objects do not hold up a container that is to have new ones', async () => {
  const key = HashKey.random();
  const app = containerOf('app', { envFrom: [{ configMapRef: { name: 'cm' } }] });
  const pod = podOf({ containers: [app] });
  pod.metadata.annotations = { [Annotation.restartOnChange]: 'true' };
  const hashesWith = (value: string) => {
    const names = { namespace: 'default', name: 'cm', immutable: false, binaryData: new Map() };
    const cm: ConfigMap = { ...names, data: new Map([['k', value]]) };
    const hashes = objectHashes(pod, { configMap: () => cm, secret: () => undefined }, key);
    assert.ok(hashes);
    return hashes;
  };
  const blamed: (string | undefined)[] = [];
  const starter = new ContainerStarter({
    backoff: {
      check: (_pod: unknown, _container: unknown, exited?: { id: string }) => {
        blamed.push(exited?.id);
        return { kind: 'wait', delayMs: 1, leftMs: 1 };
      },
    },
    events: { event: () => undefined },
  } as unknown as StarterDeps);
  const text = objectsAnnotation(hashesWith('bad'), 'app') ?? '';
  const annotations = { [Annotation.configObjects]: text };
  const records = [recordOf(app, 'exited', { at: 2, annotations }), recordOf(app, 'exited')];
  for (const value of ['bad', 'good']) {
    const context = {
      ...{ pod, status: runtimeOf([sandboxOf()], records), volumes: new Map() },
      objectHashes: hashesWith(value),
      slot: () => assert.fail('it is not to go on'),
    };
    await starter.start(context as never, app, new AbortController().signal);
  }
  assert.deepEqual(blamed, ['app-2', undefined]);
});
