import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { setSeen } from '../../../src/manifest/identity.ts';
import { PATH, load, pod, podOf } from './helper.ts';

const text = pod(`  containers:
  - name: c
    image: busybox
    args: ["", x]
    resources: {limits: {cpu: 100m, memory: 1Gi}}`);
const uid = (manifest: string, path?: string, node?: string): string =>
  podOf(manifest, path, node).metadata.uid;

test('what a static pod is called and where it belongs', () => {
  const { metadata, spec } = podOf(text);
  assert.match(metadata.uid, /^[0-9a-f]{32}$/);
  assert.equal(metadata.name, 'web-edge1');
  assert.equal(metadata.namespace, 'default');
  assert.deepEqual(metadata.annotations, {
    'kubernetes.io/config.hash': metadata.uid,
    'kubernetes.io/config.source': 'file',
  });
  assert.equal(spec.nodeName, 'Edge1');
  assert.deepEqual(spec.tolerations, [{ operator: 'Exists', effect: 'NoExecute' }]);
});

test('a toleration of the same kind is replaced, others stay in order', () => {
  const tolerations = (list: string): unknown =>
    podOf(pod(`  containers: [{name: c, image: x}]\n  tolerations: [${list}]`)).spec.tolerations;
  const own = { operator: 'Exists', effect: 'NoExecute' };
  const other = { key: 'a', operator: 'Exists' };
  assert.deepEqual(
    tolerations(
      '{operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {key: a, operator: Exists}',
    ),
    [own, other],
  );
  assert.deepEqual(tolerations('{key: a, operator: Exists}'), [other, own]);
});

test('what changes nothing about a pod does not change its uid', () => {
  const same = [
    `# a comment\n\n${text}`,
    text.replace('100m', '"0.1"').replace('1Gi', '1048576Ki'),
    text.replace('memory: 1Gi', 'memory: "1073741824"'),
    `${text}  restartPolicy: Always\n  dnsPolicy: ClusterFirst\n`,
    `${text}  hostNetwork: false\n  volumes: []\n`,
    text.replace(
      'metadata: {name: web}',
      'metadata: {name: web, labels: {}, creationTimestamp: null}',
    ),
    text.replace('image: busybox', 'image: busybox\n    imagePullPolicy: Always'),
    `${text}status: {phase: Running}\n`,
    JSON.stringify({
      kind: 'Pod',
      spec: {
        containers: [
          {
            resources: { limits: { memory: '1Gi', cpu: '100m' } },
            args: ['', 'x'],
            image: 'busybox',
            name: 'c',
          },
        ],
      },
      metadata: { name: 'web' },
      apiVersion: 'v1',
    }),
  ];
  for (const manifest of same) assert.equal(uid(manifest), uid(text), manifest);
});

test('what changes the pod, its file or its node changes the uid', () => {
  const others = [
    uid(text.replace('name: web', 'name: web, labels: {a: b}')),
    uid(text.replace('100m', '101m')),
    uid(text.replace('["", x]', '[x]')),
    uid(`${text}  securityContext: {runAsUser: 0}\n`),
    uid(`${text}  automountServiceAccountToken: false\n`),
    uid(text.replace('name: web', 'name: web, annotations: {limits: "1"}')),
    uid(text.replace('name: web', 'name: web, annotations: {limits: "1000m"}')),
    uid(text, '/etc/manifests/other.yaml'),
    uid(text, PATH, 'edge2'),
    uid(text),
  ];
  assert.equal(new Set(others).size, others.length);
});

test('a uid in the manifest is kept, unless it could leave a directory', () => {
  assert.equal(uid(text.replace('name: web', 'name: web, uid: my-uid')), 'my-uid');
  for (const bad of ['../../etc', 'a/b', '.', '-x', 'ü']) {
    const { errors } = load(text.replace('name: web', `name: web, uid: "${bad}"`));
    assert.equal(errors[0]?.path, 'metadata.uid', bad);
  }
});

test('when a pod was first seen is written into it', () => {
  const given = podOf(text);
  setSeen(given, '2024-01-02T03:04:05.000000000Z');
  assert.equal(
    given.metadata.annotations?.['kubernetes.io/config.seen'],
    '2024-01-02T03:04:05.000000000Z',
  );
  assert.equal(given.metadata.annotations['kubernetes.io/config.source'], 'file');
});

test('the uid is the same in any key order', () => {
  const shuffled = (value: unknown, random: () => number): unknown => {
    if (Array.isArray(value)) return value.map((item) => shuffled(item, random));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(
      ([key, inner]) => [key, shuffled(inner, random)] as const,
    );
    return Object.fromEntries(
      entries
        .map((entry) => ({ entry, at: random() }))
        .sort((a, b) => a.at - b.at)
        .map(({ entry }) => entry),
    );
  };
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels: { a: '1', b: '2', c: '3' }, annotations: { z: 'x', q: 'w' } },
    spec: {
      hostNetwork: true,
      nodeSelector: { a: 'b', c: 'd' },
      containers: [
        {
          name: 'c',
          image: 'x',
          env: [{ name: 'A', value: 'b' }],
          securityContext: { privileged: true, runAsUser: 5 },
        },
      ],
    },
  };
  const expected = uid(JSON.stringify(manifest));
  fc.assert(
    fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (stream) => {
      const next = (): number => stream.next().value as number;
      assert.equal(uid(JSON.stringify(shuffled(manifest, next), null, 1)), expected);
    }),
    { numRuns: 50 },
  );
});
