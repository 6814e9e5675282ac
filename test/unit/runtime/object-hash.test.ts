/** When a container of a pod that asks for it is restarted because of an object. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigMap, ConfigObjects, Secret } from '../../../src/api/config-object.ts';
import { Annotation } from '../../../src/api/reasons.ts';
import {
  changedObject,
  objectHashes,
  objectsAnnotation,
} from '../../../src/runtime/object-hash.ts';
import { computePodActions } from '../../../src/runtime/plan.ts';
import { HashKey } from '../../../src/store/hash-key.ts';
import { containerOf, podOf, recordOf, runtimeOf, sandboxOf } from '../../support/pods.ts';

const key = HashKey.random();

function configMap(data: Record<string, string>, binary: Record<string, string> = {}): ConfigMap {
  const bytes = Object.entries(binary).map(([k, v]): [string, Buffer] => [k, Buffer.from(v)]);
  return {
    ...{ namespace: 'default', name: 'cm', immutable: false },
    data: new Map(Object.entries(data)),
    binaryData: new Map(bytes),
  };
}

function objectsOf(cm: ConfigMap | undefined, password?: string): ConfigObjects {
  const secret: Secret = {
    ...{ namespace: 'default', name: 's', type: 'Opaque', immutable: false },
    data: new Map([['password', Buffer.from(password ?? '')]]),
  };
  return {
    configMap: (_, name) => (name === 'cm' ? cm : undefined),
    secret: (_, name) => (name === 's' && password !== undefined ? secret : undefined),
  };
}

const uses = containerOf('app', { envFrom: [{ configMapRef: { name: 'cm', optional: true } }] });
const mounts = containerOf('side', {
  restartPolicy: 'Always',
  volumeMounts: [{ name: 'v', mountPath: '/v' }],
});
const pod = podOf({
  initContainers: [mounts],
  containers: [uses, containerOf('log')],
  volumes: [{ name: 'v', secret: { secretName: 's' } }],
});
pod.metadata.annotations = { [Annotation.restartOnChange]: 'true' };

/** What is planned now for containers that were made with `before`. */
function plan(before: ConfigObjects, now: ConfigObjects, keyBefore = key): string[] {
  const old = objectHashes(pod, before, keyBefore);
  assert.ok(old);
  const records = [mounts, uses, containerOf('log')].map((c) => {
    const record = recordOf(c, 'running');
    const text = objectsAnnotation(old, c.name);
    const annotations = {
      ...record.annotations,
      ...(text && { [Annotation.configObjects]: text }),
    };
    return { ...record, annotations };
  });
  return computePodActions({
    pod,
    status: runtimeOf([sandboxOf()], records),
    probes: {
      livenessFailed: () => false,
      startupFailed: () => false,
      startupSucceeded: () => undefined,
    },
    objectHashes: objectHashes(pod, now, key),
    lastTriedAttempt: undefined,
  }).map((s) =>
    s.kind === 'killContainer' ? s.message : `${s.kind} ${'name' in s ? s.name : ''}`,
  );
}

const morning = configMap({ greeting: 'morning', other: 'x' });

describe('restart on change', () => {
  it('restarts only what refers to the object, and names it', () => {
    const evening = configMap({ greeting: 'evening', other: 'x' });
    assert.deepEqual(plan(objectsOf(morning, 'a'), objectsOf(evening, 'a')), [
      'Container app uses ConfigMap default/cm, which changed, will be restarted',
      'startContainer app',
    ]);
    assert.deepEqual(plan(objectsOf(morning, 'a'), objectsOf(morning, 'b')), [
      'Init container side uses Secret default/s, which changed, will be restarted',
      'startContainer side',
    ]);
  });

  const same: [string, ConfigObjects, ConfigObjects][] = [
    [
      'the same content in another order',
      objectsOf(morning, 'a'),
      objectsOf(configMap({ other: 'x', greeting: 'morning' }), 'a'),
    ],
    ['an object that is missing now', objectsOf(morning, 'a'), objectsOf(undefined)],
    ['an object that stayed missing', objectsOf(undefined, 'a'), objectsOf(undefined, 'a')],
  ];
  for (const [what, before, now] of same) {
    it(`leaves alone: ${what}`, () => assert.deepEqual(plan(before, now), []));
  }

  it('counts an optional object that appeared, and text that became binary', () => {
    assert.equal(plan(objectsOf(undefined, 'a'), objectsOf(morning, 'a')).length, 2);
    const binary = configMap({ other: 'x' }, { greeting: 'morning' });
    assert.equal(plan(objectsOf(morning, 'a'), objectsOf(binary, 'a')).length, 2);
  });

  it('a lost key restarts nothing', () => {
    const evening = objectsOf(configMap({ greeting: 'evening' }), 'b');
    assert.deepEqual(plan(objectsOf(morning, 'a'), evening, HashKey.random()), []);
  });

  it('a pod that does not ask for it has no memory and no restarts', () => {
    const quiet = podOf(pod.spec);
    assert.equal(objectHashes(quiet, objectsOf(morning, 'a'), key), undefined);
    quiet.metadata.annotations = { [Annotation.restartOnChange]: 'yes' };
    assert.equal(objectHashes(quiet, objectsOf(morning, 'a'), key), undefined);
  });

  it('an annotation that is no memory is none', () => {
    const hashes = objectHashes(pod, objectsOf(morning, 'a'), key);
    for (const text of ['', 'x', 'null', '[]', '{"key":1}', `{"key":"${key.id}","objects":null}`]) {
      const annotations = { [Annotation.configObjects]: text };
      assert.equal(changedObject(hashes, { name: 'app', annotations }), undefined, text);
    }
  });

  it('what is kept does not tell the value to one who can guess', () => {
    const [one, two] = [key, HashKey.random()].map((k) => {
      const hashes = objectHashes(pod, objectsOf(morning, 'a'), k);
      return hashes && objectsAnnotation(hashes, 'side');
    });
    assert.match(one ?? '', /"Secret default\/s":"[0-9a-f]{16}"/);
    assert.notEqual(one, two);
  });
});
