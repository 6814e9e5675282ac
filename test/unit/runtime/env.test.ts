import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { ConfigMap, ConfigObjects, Secret } from '../../../src/api/config-object.ts';
import type { Container } from '../../../src/api/pod.ts';
import { ConfigError } from '../../../src/runtime/config-error.ts';
import { parseEnvFile, readEnvFileBelow } from '../../../src/runtime/env-file.ts';
import type { EnvInput } from '../../../src/runtime/env.ts';
import { containerEnv } from '../../../src/runtime/env.ts';
import { bytesOfText } from '../../../src/util/byte-text.ts';
import { factsOf } from '../../support/facts.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const cm: ConfigMap = {
  ...{ namespace: 'default', name: 'cm', immutable: false },
  data: new Map([
    ['K', 'from-map'],
    ['not.a-name', 'x'],
  ]),
  binaryData: new Map([['B', Buffer.from('binary')]]),
};
const secret: Secret = {
  ...{ namespace: 'default', name: 's', type: 'Opaque', immutable: false },
  data: new Map([
    ['K', Buffer.from('from-secret')],
    ['UMLAUT', Buffer.from('schön')],
  ]),
};
const nul: Secret = {
  ...secret,
  name: 'nul',
  data: new Map([['K', Buffer.from('hunter\u00002')]]),
};
const objects: ConfigObjects = {
  configMap: (namespace, name) => (namespace === 'default' && name === 'cm' ? cm : undefined),
  secret: (namespace, name) => (namespace === 'default' ? { s: secret, nul }[name] : undefined),
};

function envOf(more: Partial<Container>, input: Partial<EnvInput> = {}): Record<string, string> {
  const container = containerOf('app', more);
  const pod = podOf({ containers: [container] });
  const volumes: EnvInput['volumes'] = new Map();
  const env = containerEnv({ pod, container, podIps: [], facts: factsOf(), volumes, ...input });
  return Object.fromEntries(env);
}

const fails = (message: string) => (error: unknown) =>
  error instanceof ConfigError && error.message === message;

test('a value uses what stands before it, and only that', () => {
  const env = [
    { name: 'A', value: 'a' },
    { name: 'B', value: 'x$(A)y' },
    { name: 'C', value: '$(LATER)' },
    { name: 'LATER', value: 'l' },
    { name: 'A', value: '$(A)$(A)' },
    { name: 'EMPTY' },
  ];
  assert.deepEqual(envOf({ env }), { A: 'aa', B: 'xay', C: '$(LATER)', LATER: 'l', EMPTY: '' });
});

test('envFrom comes first, a later source over an earlier one, and env over both', () => {
  const envFrom = [
    { configMapRef: { name: 'cm' } },
    { prefix: 'P_', secretRef: { name: 's' } },
    { secretRef: { name: 's' } },
    { configMapRef: { name: 'none', optional: true } },
  ];
  assert.deepEqual(envOf({ envFrom, env: [{ name: 'SUM', value: '$(K)!' }] }, { objects }), {
    K: 'from-secret',
    'not.a-name': 'x',
    P_K: 'from-secret',
    P_UMLAUT: 'schön',
    UMLAUT: 'schön',
    SUM: 'from-secret!',
  });
});

test('single keys; optional ones that are missing are not set at all', () => {
  const key = (kind: 'configMapKeyRef' | 'secretKeyRef', ref: object) => ({ [kind]: ref });
  const env = [
    { name: 'M', valueFrom: key('configMapKeyRef', { name: 'cm', key: 'K' }) },
    { name: 'S', valueFrom: key('secretKeyRef', { name: 's', key: 'K' }) },
    { name: 'O', valueFrom: key('secretKeyRef', { name: 's', key: 'none', optional: true }) },
    { name: 'P', valueFrom: key('configMapKeyRef', { name: 'none', key: 'K', optional: true }) },
  ];
  assert.deepEqual(envOf({ env }, { objects }), { M: 'from-map', S: 'from-secret' });
});

test('what is missing and needed is named', () => {
  const key = { name: 'cm', key: 'none' };
  assert.throws(
    () => envOf({ env: [{ name: 'A', valueFrom: { configMapKeyRef: key } }] }, { objects }),
    fails("couldn't find key none in ConfigMap default/cm"),
  );
  assert.throws(
    () => envOf({ envFrom: [{ secretRef: { name: 'none' } }] }, { objects }),
    fails('secret "none" not found'),
  );
  assert.throws(
    () => envOf({ env: [{ name: 'A', valueFrom: { configMapKeyRef: key } }] }),
    fails('configmap "cm" not found'),
  );
  const none = { name: 's', key: 'none' };
  assert.throws(
    () => envOf({ env: [{ name: 'A', valueFrom: { secretKeyRef: none } }] }, { objects }),
    fails("couldn't find key none in Secret default/s"),
  );
});

test('binaryData is for volumes only', () => {
  const ref = { name: 'cm', key: 'B' };
  assert.throws(
    () => envOf({ env: [{ name: 'A', valueFrom: { configMapKeyRef: ref } }] }, { objects }),
    fails("couldn't find key B in ConfigMap default/cm"),
  );
  assert.equal('B' in envOf({ envFrom: [{ configMapRef: { name: 'cm' } }] }, { objects }), false);
});

test('a value that no variable can have is refused without being told', () => {
  const message =
    'key K in Secret default/nul has a NUL byte, which no environment variable can have';
  const ref = { name: 'nul', key: 'K' };
  for (const more of [
    { env: [{ name: 'A', valueFrom: { secretKeyRef: ref } }] },
    { envFrom: [{ secretRef: { name: 'nul' } }] },
  ]) {
    assert.throws(() => envOf(more, { objects }), fails(message));
  }
});

test('bytes that are no text reach the runtime as they are', () => {
  const raw: Secret = { ...secret, data: new Map([['K', Buffer.from([0x61, 0xff])]]) };
  const objects: ConfigObjects = { configMap: () => undefined, secret: () => raw };
  const env = [
    { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'K' } } },
    { name: 'B', value: '<$(A)>' },
  ];
  const { A = '', B = '' } = envOf({ env }, { objects });
  assert.equal(Buffer.from(bytesOfText(A)).toString('hex'), '61ff');
  assert.equal(Buffer.from(bytesOfText(B)).toString('hex'), '3c61ff3e');
});

test('a prefix that makes a name impossible leaves the variable out', () => {
  const envFrom = [{ prefix: 'A=', secretRef: { name: 's' } }];
  assert.deepEqual(envOf({ envFrom }, { objects }), {});
});

test('fields and resources of the pod', () => {
  const env = [
    { name: 'N', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'C', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
    { name: 'D', value: '$(N)/$(C)' },
  ];
  const found = envOf({ env, resources: { limits: { cpu: '150m' } } });
  assert.deepEqual(found, { N: 'web-edge1', C: '150', D: 'web-edge1/150' });
  const bad = [{ name: 'N', valueFrom: { fieldRef: { fieldPath: 'spec.hostNetwork' } } }];
  assert.throws(() => envOf({ env: bad }), ConfigError);
});

test('env files: quoted values, comments, values over several lines', () => {
  const text = "# comment\n\nA='1'\n  B='two words'  # why\nC='x\ny=z'\nD=''\r\n";
  assert.deepEqual(Object.fromEntries(parseEnvFile(text) ?? []), {
    A: '1',
    B: 'two words',
    C: 'x\ny=z',
    D: '',
  });
  for (const bad of ['A=1', "A='1", 'A="1"', "A='1'b", 'A', "='1'"]) {
    assert.equal(parseEnvFile(bad), undefined, bad);
  }
});

test('a variable from a file in a volume', (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-env-'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  fs.mkdirSync(path.join(dir, 'vol'));
  fs.writeFileSync(path.join(dir, 'vol', 'a.env'), "K='v'\n");
  fs.writeFileSync(path.join(dir, 'secret.env'), "K='stolen'\n");
  fs.symlinkSync(path.join(dir, 'secret.env'), path.join(dir, 'vol', 'link.env'));
  const hostPath = path.join(dir, 'vol');
  const mounted = { kind: 'path', hostPath, readOnly: false, selinuxRelabel: true } as const;
  const volumes = new Map([['v', mounted]]);
  const from = (file: string, key: string, optional = false) => {
    const fileKeyRef = { volumeName: 'v', path: file, key, optional };
    const input = { volumes, readEnvFile: readEnvFileBelow };
    return envOf({ env: [{ name: 'A', valueFrom: { fileKeyRef } }] }, input);
  };
  assert.deepEqual(from('a.env', 'K'), { A: 'v' });
  assert.deepEqual(from('a.env', 'none', true), {});
  assert.throws(
    () => from('a.env', 'none'),
    fails('environment variable key "none" not found in file "a.env"'),
  );
  for (const file of ['none.env', 'link.env', '../secret.env', '.']) {
    assert.throws(() => from(file, 'K'), fails("couldn't parse env file"), file);
  }
});
