import assert from 'node:assert/strict';
import { test } from 'node:test';
import { container, errorsOf, load, pod, podOf } from './helper.ts';

test('a wrong type says where, what was found and what was expected', () => {
  const cases: [string, RegExp][] = [
    [
      container('args: [a, 5]'),
      /^8 spec\.containers\[0\]\.args\[1\]: expected a string, found the number 5; put it in quotes$/,
    ],
    [
      container('args: x'),
      /^8 spec\.containers\[0\]\.args: expected a list, found the string "x"$/,
    ],
    [container('tty: 1'), /^8 .*tty: expected true or false, found the number 1$/],
    [container('tty: "yes"'), /tty: expected true or false, found the string "yes"$/],
    [
      container('env: [{name: A, value: no}]'),
      /^8 .*env\[0\]\.value: expected a string, found false \(written no\); put it in quotes$/,
    ],
    [
      container('ports: [{containerPort: "80"}]'),
      /containerPort: expected a whole number, found the string "80"$/,
    ],
    [
      container('ports: [{containerPort: 80.5}]'),
      /containerPort: expected a whole number between .*, found the number 80.5$/,
    ],
    [
      container('ports: [{containerPort: 3000000000}]'),
      /containerPort: expected a whole number between -2147483648 and 2147483647/,
    ],
    [
      container('resources: {limits: {memory: 1K}}'),
      /limits\[memory\]: unable to parse quantity's suffix, found the string "1K"$/,
    ],
    [
      container('resources: {limits: {memory: yes}}'),
      /limits\[memory\]: expected a quantity such as 500m or 64Mi, found true \(written yes\)$/,
    ],
    [container('securityContext: []'), /securityContext: expected a mapping, found a list$/],
    [pod('  containers: {}'), /^5 spec\.containers: expected a list, found a mapping$/],
    [
      pod('  containers: []', 'name: 5'),
      /^3 metadata\.name: expected a string, found the number 5/,
    ],
    [
      pod('  containers: []', 'name: a, labels: {x: 1}'),
      /metadata\.labels\[x\]: expected a string, found the number 1/,
    ],
    [
      pod('  containers: []', 'name: a, creationTimestamp: today'),
      /creationTimestamp: expected a time such as/,
    ],
  ];
  for (const [text, expected] of cases) {
    const [first = ''] = errorsOf(text);
    assert.match(first, expected);
  }
});

test('all wrong types of a document are told at once', () => {
  const text = container('tty: 1', 'stdin: 2', 'args: 3');
  const lines = errorsOf(text).map((error) => Number(error.split(' ')[0]));
  assert.deepEqual(lines.sort(), [10, 8, 9]);
});

test('unknown, misspelt and repeated fields are warned about and have no effect', () => {
  const text = container(
    'imagepullpolicy: Always',
    'comand: [x]',
    'nonsense: 1',
    'tty: true',
    'tty: false',
  );
  const { warnings, errors } = load(text);
  assert.deepEqual(errors, []);
  const messages = warnings.map(({ line, path, message }) => `${line} ${path}: ${message}`);
  assert.deepEqual(messages, [
    '8 spec.containers[0].imagepullpolicy: unknown field, it has no effect; did you mean "imagePullPolicy"?',
    '9 spec.containers[0].comand: unknown field, it has no effect; did you mean "command"?',
    '10 spec.containers[0].nonsense: unknown field, it has no effect',
    '12 spec.containers[0].tty: given more than once, the last one counts',
  ]);
  const decoded = podOf(text).spec.containers[0];
  assert.equal(decoded?.tty, undefined);
  assert.ok(decoded && !('comand' in decoded) && decoded.command === undefined);
});

test('null is the same as absent, and empty inside lists and maps', () => {
  const text = container(
    'command: ~',
    'args: [~, a]',
    'env: [{name: A, value: }]',
    'securityContext: null',
    'resources:',
  );
  const [decoded] = podOf(text).spec.containers;
  assert.equal(decoded?.command, undefined);
  assert.deepEqual(decoded?.args, ['', 'a']);
  assert.deepEqual(decoded?.env, [{ name: 'A' }]);
  assert.equal(decoded?.securityContext, undefined);
  assert.deepEqual(decoded?.resources, {});
  assert.match(errorsOf(pod('  containers:'))[0] ?? '', /spec.containers: Required value/);
});

test('false and zero differ from absent only where upstream has a pointer', () => {
  const given = podOf(
    container('tty: false', 'securityContext: {privileged: false, runAsUser: 0}'),
  );
  const [decoded] = given.spec.containers;
  assert.ok(decoded && !('tty' in decoded));
  assert.deepEqual(decoded.securityContext, { privileged: false, runAsUser: 0 });
});

test('octal modes, as a kubelet reads them', () => {
  const mode = (text: string): number | undefined =>
    podOf(
      pod(
        `  containers: [{name: c, image: x}]\n  volumes: [{name: v, downwardAPI: {defaultMode: ${text}}}]`,
      ),
    ).spec.volumes?.[0]?.downwardAPI?.defaultMode;
  assert.equal(mode('0400'), 256);
  assert.equal(mode('0o400'), 256);
  assert.equal(mode('256'), 256);
});

test('a key named like a property of every object is a key like any other', () => {
  const text =
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {__proto__: a, constructor: b}\n';
  const [document] = load(text).documents;
  assert.ok(document?.kind === 'ConfigMap');
  assert.deepEqual(Object.entries(document.object.data ?? {}), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
});
