import assert from 'node:assert/strict';
import { test } from 'node:test';
import { container, errorsOf, load, pod, podOf } from './helper.ts';

const simple = pod('  containers: [{name: c, image: busybox}]');
const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: b}\n';
const secret =
  'apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: ops}\nstringData: {pw: hunter2}\n';

test('pods, ConfigMaps and Secrets may share a file', () => {
  const { documents, errors, warnings } = load([configMap, simple, secret].join('---\n'));
  assert.deepEqual([errors, warnings], [[], []]);
  const view = documents.map((document) => {
    const { name, namespace } =
      document.kind === 'Pod' ? document.pod.metadata : document.object.metadata;
    return [document.kind, namespace, name, document.line];
  });
  assert.deepEqual(view, [
    ['ConfigMap', 'default', 'conf', 1],
    ['Pod', 'default', 'web-edge1', 6],
    ['Secret', 'ops', 'key', 12],
  ]);
});

test('one bad document makes the whole file count for nothing', () => {
  const { documents, errors } = load(`${simple}---\n${simple.replace('web', 'Bad_Name')}`);
  assert.deepEqual(documents, []);
  assert.deepEqual(
    errors.map(({ line, path, stage }) => [line, path, stage]),
    [[9, 'metadata.name', 'validate']],
  );
});

test('kinds that are not read, misspelt kinds and wrong versions', () => {
  assert.deepEqual(errorsOf('kind: Namespace\napiVersion: v1\nmetadata: {name: x}\n'), [
    '1 kind: kind "Namespace" is not read from files, only Pod, ConfigMap, Secret',
  ]);
  const { documents, warnings } = load(`${simple}---\nkind: Service\napiVersion: v1\n`);
  assert.equal(documents.length, 1);
  assert.match(warnings[0]?.message ?? '', /^document ignored: kind "Service"/);
  assert.match(
    errorsOf(`${simple}---\nkind: pod\napiVersion: v1\n`)[0] ?? '',
    /^7 kind: unknown kind "pod"; did you mean "Pod"\?/,
  );
  assert.match(
    errorsOf('kind: List\napiVersion: v1\nitems: []\n')[0] ?? '',
    /documents, separated by ---/,
  );
  assert.match(
    errorsOf('kind: Pod\napiVersion: core/v1\n')[0] ?? '',
    /^2 apiVersion: expected v1 for a Pod, but found the string "core\/v1"/,
  );
  assert.match(
    errorsOf('metadata: {name: x}\n')[0] ?? '',
    /^1 kind: expected Pod, ConfigMap, Secret, but it is missing/,
  );
  assert.match(errorsOf('# nothing\n')[0] ?? '', /the file is empty/);
  assert.match(
    errorsOf('just text\n')[0] ?? '',
    /expected a mapping with kind, found the string "just text"/,
  );
  assert.match(errorsOf('')[0] ?? '', /the file is empty/);
});

test('a pod or object that is twice in a file', () => {
  assert.match(
    errorsOf(`${simple}---\n${simple}`)[0] ?? '',
    /^9 metadata\.name: the Pod web-edge1_default is in this file already, on line 1$/,
  );
  assert.match(
    errorsOf(`${configMap}---\n${configMap}`)[0] ?? '',
    /the ConfigMap conf_default is in this file already/,
  );
});

test('no message shows a value of a Secret', () => {
  const wrong = [
    secret.replace('hunter2', '12345678'),
    secret.replace('stringData: {pw: hunter2}', 'data: {pw: "hunter2!"}'),
    secret.replace('stringData: {pw: hunter2}', 'data: [hunter2]'),
    JSON.stringify(secret.slice(-30)),
    secret.replace('{pw: hunter2}', '{"p w": hunter2}'),
    secret.replace('hunter2', '!!int hunter2'),
    secret.replace('kind: Secret', 'kind: Secret\n  hunter2'),
    secret.replace('apiVersion: v1', 'apiVersion: v1\n  hunter2'),
  ];
  for (const text of wrong) {
    const { errors } = load(text);
    assert.notEqual(errors.length, 0, text);
    assert.doesNotMatch(JSON.stringify(errors), /hunter2|12345678/);
  }
});

test('objects have names, keys and base64 as the API wants them', () => {
  assert.match(
    errorsOf(configMap.replace('a: b', '"a/b": c'))[0] ?? '',
    /^4 data\[a\/b\]: Invalid value.*valid config key/,
  );
  assert.match(
    errorsOf(configMap.replace('conf', 'Conf_1'))[0] ?? '',
    /metadata\.name: Invalid value/,
  );
  assert.match(
    errorsOf(configMap.replace('\ndata:', '\nbinaryData:').replace('b}', '"*"}'))[0] ?? '',
    /not base64/,
  );
  assert.deepEqual(
    errorsOf(configMap.replace('\ndata:', '\nbinaryData:').replace('b}', 'aGVsbG8=}')),
    [],
  );
});

test('API objects that only a cluster has are refused, those from files are not', () => {
  const refused: [string, RegExp][] = [
    [
      pod('  serviceAccountName: me\n  containers: [{name: c, image: x}]'),
      /^5 spec\.serviceAccountName: static pods may not reference serviceaccounts$/,
    ],
    [
      pod(
        '  containers: [{name: c, image: x}]\n  volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {}}}}]',
      ),
      /persistentvolumeclaims \(via ephemeral volumes\)$/,
    ],
    [
      pod('  containers: [{name: c, image: x}]\n  volumes: [{name: v, csi: {driver: d}}]'),
      /csidrivers \(via CSI volumes\)$/,
    ],
    [
      pod(
        '  containers: [{name: c, image: x}]\n  resourceClaims: [{name: r, resourceClaimName: y1}]',
      ),
      /resourceclaims$/,
    ],
  ];
  for (const [text, expected] of refused) {
    const [error] = load(text).errors;
    assert.equal(error?.stage, 'api-reference');
    assert.match(errorsOf(text)[0] ?? '', expected);
  }
  const accepted = container('envFrom: [{configMapRef: {name: a}}, {secretRef: {name: b}}]');
  assert.deepEqual(load(accepted).errors, []);
});

test('defaults that a static pod gets', () => {
  const { spec, status } = podOf(
    pod(`  hostNetwork: true
  containers:
  - name: a
    image: registry.example/x:1.2
    ports: [{containerPort: 80}]
    resources: {limits: {cpu: "0.5", memory: 64Mi}, requests: {cpu: 100m}}
    readinessProbe: {httpGet: {port: 80}}
    livenessProbe: {grpc: {port: 81}, periodSeconds: 0}
  - {name: b, image: busybox}
  - {name: d, image: "busybox@sha256:${'0'.repeat(64)}"}
  terminationGracePeriodSeconds: -5
  volumes: [{name: v}, {name: h, hostPath: {path: /x}}]`),
  );
  const [a, b, d] = spec.containers;
  assert.deepEqual(
    [a?.imagePullPolicy, b?.imagePullPolicy, d?.imagePullPolicy],
    ['IfNotPresent', 'Always', 'IfNotPresent'],
  );
  assert.deepEqual(a?.ports, [{ containerPort: 80, protocol: 'TCP', hostPort: 80 }]);
  assert.deepEqual(a?.resources, {
    limits: { cpu: '500m', memory: '64Mi' },
    requests: { cpu: '100m', memory: '64Mi' },
  });
  assert.deepEqual(a?.readinessProbe, {
    httpGet: { port: 80, path: '/', scheme: 'HTTP' },
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  });
  assert.equal(a?.livenessProbe?.periodSeconds, 10);
  assert.equal(b?.terminationMessagePath, '/dev/termination-log');
  assert.deepEqual(spec.volumes, [
    { name: 'v', emptyDir: {} },
    { name: 'h', hostPath: { path: '/x', type: '' } },
  ]);
  const {
    restartPolicy,
    dnsPolicy,
    schedulerName,
    enableServiceLinks,
    terminationGracePeriodSeconds,
  } = spec;
  assert.deepEqual(
    [restartPolicy, dnsPolicy, schedulerName, enableServiceLinks, terminationGracePeriodSeconds],
    ['Always', 'ClusterFirst', 'default-scheduler', true, 1],
  );
  assert.deepEqual(status, { phase: 'Pending' });
});
