/**
 * What a manifest says and islet does not do is named, with its line; an ordinary manifest has no warning.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { loadManifest } from '../../../src/manifest/load.ts';
import type { LoadedFile } from '../../../src/manifest/model.ts';
import { container, load, pod } from './helper.ts';

/** `line path: message` of each warning of an accepted text. */
function warningsOf(text: string): string[] {
  const { errors, warnings, documents } = load(text);
  assert.deepEqual(errors, []);
  const own = documents.flatMap((document) => (document.kind === 'Pod' ? document.warnings : []));
  assert.deepEqual(own, warnings, 'the warnings are on the pod');
  return warnings.map(({ line, path: at, message }) => `${line} ${at}: ${message}`);
}

const C = '  containers: [{name: c, image: x}]';

test('fields that need a control plane', () => {
  const cases: [spec: string, warning: string][] = [
    [
      '  priorityClassName: important',
      '5 spec.priorityClassName: a PriorityClass cannot be looked up here: set spec.priority too, or use ' +
        'system-node-critical or system-cluster-critical',
    ],
    [
      '  readinessGates: [{conditionType: example.com/lb}]',
      '5 spec.readinessGates[0]: nobody sets the condition example.com/lb here: the pod never becomes ready',
    ],
    [
      '  enableServiceLinks: true',
      '5 spec.enableServiceLinks: there are no Services here, and no variables for them',
    ],
    [
      '  automountServiceAccountToken: true',
      '5 spec.automountServiceAccountToken: there are no service accounts here: no token is mounted',
    ],
    [
      '  schedulerName: mine',
      '5 spec.schedulerName: no scheduler is asked: the pod runs on the node that has its file',
    ],
    ['  nodeName: far', '5 spec.nodeName: the pod runs on the node that has its file, edge1'],
    [
      '  affinity:\n    podAntiAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n' +
        '      - {topologyKey: host, labelSelector: {matchLabels: {a: b}}}',
      '6 spec.affinity.podAntiAffinity: not checked: what else runs on the node keeps no pod from it',
    ],
    [
      '  topologySpreadConstraints:\n' +
        '  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}\n' +
        '  - {maxSkew: 1, topologyKey: host, whenUnsatisfiable: DoNotSchedule}',
      '7 spec.topologySpreadConstraints[1]: not checked: the pod runs on the node that has its file',
    ],
    [
      '  securityContext: {windowsOptions: {runAsUserName: Bob}}',
      '5 spec.securityContext.windowsOptions: for Windows only, it has no effect',
    ],
  ];
  for (const [spec, warning] of cases)
    assert.deepEqual(warningsOf(pod(`${spec}\n${C}`)), [warning]);
});

test('what containers ask for', () => {
  assert.deepEqual(
    warningsOf(
      container(
        'resources:',
        '  limits: {cpu: 1, example.com/gpu: 1, ephemeral-storage: 1Gi}',
        '  requests: {example.com/gpu: 1}',
        'resizePolicy:',
        '- {resourceName: cpu, restartPolicy: NotRequired}',
        '- {resourceName: memory, restartPolicy: RestartContainer}',
        'securityContext: {windowsOptions: {hostProcess: false}}',
      ),
    ),
    [
      '9 spec.containers[0].resources.limits[example.com/gpu]: this node has no example.com/gpu: the ' +
        'container starts without it',
      '12 spec.containers[0].resizePolicy[0]: not possible here: a changed file is a new pod, whatever ' +
        'changed in it',
      '14 spec.containers[0].securityContext.windowsOptions: for Windows only, it has no effect',
    ],
  );
});

test('volumes that cannot be, and those that nobody uses', () => {
  const mount = 'volumeMounts: [{name: v, mountPath: /v}]';
  const volume = (source: string): string =>
    `${container(mount)}  volumes:\n  - name: v\n    ${source}\n`;
  assert.deepEqual(warningsOf(volume('nfs: {server: box, path: /x}')), [
    '11 spec.volumes[0].nfs: volumes of type nfs are not supported: who mounts it does not start',
  ]);
  assert.deepEqual(warningsOf(volume('emptyDir: {sizeLimit: 1Gi}')), []);
  assert.deepEqual(warningsOf(volume('emptyDir: {sizeLimit: 1Gi, medium: Memory}')), []);
  assert.deepEqual(
    warningsOf(`${container()}  volumes:\n  - name: v\n    nfs: {server: b, path: /x}\n`),
    ['9 spec.volumes[0]: no container mounts this volume: it is not set up'],
  );
});

test('what only a server sets, and what a server would do at the end', () => {
  assert.deepEqual(
    warningsOf(
      pod(
        C,
        'name: a, creationTimestamp: "2026-01-01T00:00:00Z", resourceVersion: "7", generation: 2',
      ),
    ),
    [
      '3 metadata.generation: an API server sets this, in a file it has no effect; nor have resourceVersion',
    ],
  );
  assert.deepEqual(
    warningsOf(
      pod(
        C,
        'name: a, finalizers: [a.b/c], ownerReferences: [{apiVersion: v1, kind: Node, name: box, uid: u}]',
      ),
    ),
    [
      '3 metadata.ownerReferences: nobody looks for an owner: the pod goes when its file goes',
      '3 metadata.finalizers: nobody waits for finalizers: the pod goes when its file goes',
    ],
  );
  assert.deepEqual(warningsOf(`${pod(C)}status: {phase: Running}\n`), [
    '6 status: what a file says about the status is not used',
  ]);
});

test('annotations of the past', () => {
  const annotations = (key: string): string => pod(C, `name: a, annotations: {${key}: x}`);
  assert.deepEqual(warningsOf(annotations('seccomp.security.alpha.kubernetes.io/pod')), [
    '3 metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: this annotation has no effect any ' +
      'more: use spec.securityContext.seccompProfile',
  ]);
  assert.equal(warningsOf(annotations('pod.beta.kubernetes.io/init-containers')).length, 1);
  assert.deepEqual(warningsOf(annotations('scheduler.alpha.kubernetes.io/critical-pod')), []);
});

test('what is empty, a default, or has its effect is not mentioned', () => {
  const spec = [
    '  priorityClassName: system-node-critical',
    '  schedulerName: default-scheduler',
    '  nodeName: EDGE1',
    '  enableServiceLinks: false',
    '  automountServiceAccountToken: false',
    '  affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}',
    '  containers: [{name: c, image: x, resources: {limits: {cpu: 1, memory: 1Gi}}, volumeMounts: ' +
      '[{name: v, mountPath: /v}]}]',
    '  volumes: [{name: v, hostPath: {path: /v}}]',
  ];
  const text = pod(spec.join('\n'), 'name: a, creationTimestamp: null, ownerReferences: []');
  assert.deepEqual(warningsOf(`${text}status: {}\n`), []);
  assert.deepEqual(warningsOf(pod(`  priorityClassName: mine\n  priority: 5\n${C}`)), []);
});

test('a hostile file gets a bounded number of warnings', () => {
  const volumes = Array.from({ length: 5000 }, (_, i) => `  - name: v${i}\n    emptyDir: {}`);
  const { warnings } = load(`${pod(C)}  volumes:\n${volumes.join('\n')}\n`);
  assert.equal(warnings.length, 100);
});

const corpus = path.resolve(import.meta.dirname, '../../../../../shared/corpus');
const skip = existsSync(corpus) ? false : '../shared/corpus is not there';

interface Case {
  readonly name: string;
  /** What the upstream's strict decoder, which it never asks, would say. */
  readonly strict: readonly string[];
  readonly loaded: LoadedFile;
}

function corpusCases(): Case[] {
  return readdirSync(path.join(corpus, 'manifests')).map((name) => {
    const stem = name.replace(/\.(yaml|json)$/, '');
    const truth = JSON.parse(readFileSync(path.join(corpus, 'decode', `${stem}.json`), 'utf8')) as {
      strictDecodingWarnings?: string[];
    };
    const content = readFileSync(path.join(corpus, 'manifests', name));
    const loaded = loadManifest(content, { path: `/m/${name}`, nodeName: 'edge1' });
    return { name, strict: truth.strictDecodingWarnings ?? [], loaded };
  });
}

test('every unknown and repeated field that a strict decoder sees has a warning', { skip }, (t) => {
  let seen = 0;
  for (const { name, strict, loaded } of corpusCases()) {
    if (loaded.errors.length > 0) continue;
    const said = (at: (path: string) => boolean, words: RegExp): boolean =>
      loaded.warnings.some((warning) => at(warning.path) && words.test(warning.message));
    const text = strict.join('\n');
    for (const [, field] of text.matchAll(/unknown field "([^"]+)"/g)) {
      seen += 1;
      assert.ok(
        said((at) => at === field, /^unknown field/),
        `${name}: ${field}`,
      );
    }
    for (const [, field] of text.matchAll(/duplicate field "([^"]+)"/g)) {
      seen += 1;
      assert.ok(
        said((at) => at === field, /given more than once/),
        `${name}: ${field}`,
      );
    }
    // 600: a key that replaces one of a merge key before it is what merge keys are for.
    if (name.startsWith('600-')) continue;
    for (const [, key] of text.matchAll(/key "?([^"\s]+)"? already set in map/g)) {
      seen += 1;
      const last = (at: string): boolean => at === key || at.endsWith(`.${key}`);
      assert.ok(said(last, /given more than once/), `${name}: ${key}`);
    }
  }
  t.diagnostic(`${seen} fields`);
  assert.ok(seen > 20);
});

test('manifests of control planes have no other warning than for real mistakes', { skip }, () => {
  const other = corpusCases()
    .filter(({ name }) => name < '051')
    .flatMap(({ name, loaded }) =>
      loaded.warnings
        .filter(({ message }) => !message.startsWith('unknown field'))
        .map((warning) => `${name.slice(0, 3)} ${warning.path}`),
    );
  assert.deepEqual(other, ['024 metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]']);
});
