import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../../src/api/pod.ts';
import { loadManifest } from '../../../src/manifest/load.ts';
import { verdictOf } from '../../../src/pod/admission.ts';
import type { AdmissionNode } from '../../../src/pod/admission.ts';
import { admissionNodeOf } from '../../support/admission.ts';
import { containerOf, podOf } from '../../support/pods.ts';

function refuse(pod: Pod, node: Partial<AdmissionNode> = {}, others: Pod[] = []) {
  const verdict = verdictOf({ pod, node: admissionNodeOf(node), others });
  return verdict.kind === 'refuse' ? verdict.refusal : undefined;
}

function withSysctl(name: string, spec: Partial<PodSpec> = {}): Pod {
  return podOf({ ...spec, securityContext: { sysctls: [{ name, value: '1' }] } });
}

const message = (pod: Pod, node: Partial<AdmissionNode> = {}) => refuse(pod, node)?.message;

test('sysctls: the safe ones of this kernel, and those that the configuration allows', () => {
  assert.equal(message(withSysctl('net.ipv4.tcp_syncookies')), undefined);
  assert.equal(message(withSysctl('net/ipv4/ping_group_range')), undefined);
  assert.deepEqual(refuse(withSysctl('kernel.msgmax')), {
    reason: 'SysctlForbidden',
    message: 'forbidden sysctl: "kernel.msgmax" not allowlisted',
  });
  assert.equal(
    message(withSysctl('net.ipv4.tcp_rmem'), { kernel: '4.14.300' }),
    'forbidden sysctl: "net.ipv4.tcp_rmem" not allowlisted',
  );
  assert.equal(message(withSysctl('net.ipv4.tcp_rmem'), { kernel: '4.15.0-rc1' }), undefined);
  const allowedUnsafeSysctls = ['kernel.msg*', 'net.core.somaxconn'];
  assert.equal(message(withSysctl('kernel/msgmax'), { allowedUnsafeSysctls }), undefined);
  assert.equal(message(withSysctl('net.core.somaxconn'), { allowedUnsafeSysctls }), undefined);
  assert.equal(
    message(withSysctl('net.core.somaxconn2'), { allowedUnsafeSysctls }),
    'forbidden sysctl: "net.core.somaxconn2" not allowlisted',
  );
});

test('a sysctl of a namespace that is the host’s is refused, allowed or not', () => {
  assert.equal(
    message(withSysctl('net.ipv4.tcp_syncookies', { hostNetwork: true })),
    'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host net enabled',
  );
  assert.equal(
    message(withSysctl('kernel.msgmax', { hostIPC: true }), {
      allowedUnsafeSysctls: ['kernel.msg*'],
    }),
    'forbidden sysctl: "kernel.msgmax" not allowed with host ipc enabled',
  );
});

test('a pod for another operating system is refused by its label and by its field', () => {
  const labelled = podOf();
  labelled.metadata.labels = { 'kubernetes.io/os': 'windows' };
  assert.deepEqual(refuse(labelled), {
    reason: 'PodOSSelectorNodeLabelDoesNotMatch',
    message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
  });
  assert.deepEqual(refuse(podOf({ os: { name: 'windows' } })), {
    reason: 'PodOSNotSupported',
    message: "Failed to admit pod as the OS field doesn't match node OS",
  });
  labelled.metadata.labels = { 'kubernetes.io/os': 'linux' };
  labelled.spec.os = { name: 'linux' };
  assert.equal(refuse(labelled), undefined);
});

test('strict groups need a runtime that can', () => {
  const pod = podOf({ securityContext: { supplementalGroupsPolicy: 'Strict' } });
  assert.deepEqual(refuse(pod), {
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
  });
  assert.equal(refuse(pod, { supplementalGroupsPolicy: () => true }), undefined);
  assert.equal(
    refuse(podOf({ securityContext: { supplementalGroupsPolicy: 'Merge' } })),
    undefined,
  );
});

const AFFINITY = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
const labels = { zone: 'a', cores: '8' };

test('nodeSelector: every label has to match', () => {
  assert.equal(message(podOf({ nodeSelector: { zone: 'a', cores: '8' } }), { labels }), undefined);
  assert.equal(message(podOf({ nodeSelector: { zone: 'a', cores: '9' } }), { labels }), AFFINITY);
  assert.equal(message(podOf({ nodeSelector: { 'kubernetes.io/arch': 'amd64' } })), undefined);
  assert.equal(message(podOf({ nodeSelector: { toString: 'x' } }), { labels }), AFFINITY);
});

const terms: [object[], boolean][] = [
  [[{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['b', 'a'] }] }], true],
  [[{ matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }], false],
  [[{ matchExpressions: [{ key: 'none', operator: 'NotIn', values: ['a'] }] }], true],
  [[{ matchExpressions: [{ key: 'none', operator: 'Exists' }] }], false],
  [[{ matchExpressions: [{ key: 'none', operator: 'DoesNotExist' }] }], true],
  [[{ matchExpressions: [{ key: 'cores', operator: 'Gt', values: ['7'] }] }], true],
  [[{ matchExpressions: [{ key: 'cores', operator: 'Gt', values: ['8'] }] }], false],
  [[{ matchExpressions: [{ key: 'cores', operator: 'Lt', values: ['10'] }] }], true],
  [[{ matchExpressions: [{ key: 'zone', operator: 'Lt', values: ['10'] }] }], false],
  [[{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['edge1'] }] }], true],
  [[{ matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['edge1'] }] }], false],
  [[{}], false],
  [
    [
      { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] },
      { matchExpressions: [{ key: 'zone', operator: 'Exists' }] },
    ],
    true,
  ],
  [
    [
      {
        matchExpressions: [
          { key: 'zone', operator: 'Exists' },
          { key: 'cores', operator: 'In', values: ['4'] },
        ],
      },
    ],
    false,
  ],
];
for (const [nodeSelectorTerms, matches] of terms) {
  test(`required node affinity ${JSON.stringify(nodeSelectorTerms)}`, () => {
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    const pod = podOf({ affinity: { nodeAffinity: required } });
    assert.equal(message(pod, { labels }), matches ? undefined : AFFINITY);
  });
}

test('preferred affinity and another node’s name', () => {
  const preference = { matchExpressions: [{ key: 'none', operator: 'Exists' }] };
  const preferred = {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }],
  };
  assert.equal(message(podOf({ affinity: { nodeAffinity: preferred } })), undefined);
  assert.deepEqual(refuse(podOf({ nodeName: 'edge2' })), {
    reason: 'NodeName',
    message: "Predicate NodeName failed: node(s) didn't match the requested node name",
  });
});

function withPort(port: object, more: Partial<PodSpec> = {}): Pod {
  const ports = [{ containerPort: 1, protocol: 'TCP' as const, ...port }];
  return podOf({ containers: [containerOf('c', { ports })], ...more }, 'other', 'other');
}

test('host ports clash by address, protocol and number', () => {
  const taken = [withPort({ hostPort: 80 }), withPort({ hostPort: 53, hostIP: '10.0.0.1' })];
  const reasonOf = (pod: Pod) => refuse(pod, {}, taken)?.reason;
  assert.equal(reasonOf(withPort({ hostPort: 80 })), 'NodePorts');
  assert.equal(reasonOf(withPort({ hostPort: 80, hostIP: '10.0.0.9' })), 'NodePorts');
  assert.equal(reasonOf(withPort({ hostPort: 80, protocol: 'UDP' })), undefined);
  assert.equal(reasonOf(withPort({ hostPort: 53 })), 'NodePorts');
  assert.equal(reasonOf(withPort({ hostPort: 53, hostIP: '10.0.0.2' })), undefined);
  assert.equal(reasonOf(withPort({ containerPort: 80 })), undefined);
  const inInit = (restartPolicy?: 'Always') => {
    const ports = [{ containerPort: 1, hostPort: 80, protocol: 'TCP' as const }];
    const init = containerOf('i', { ports, ...(restartPolicy && { restartPolicy }) });
    return podOf({ initContainers: [init] });
  };
  assert.equal(reasonOf(inInit()), undefined);
  assert.equal(reasonOf(inInit('Always')), 'NodePorts');
});

test('one pod too many is told only where nothing else is wrong', () => {
  const others = [podOf(), podOf()];
  assert.deepEqual(refuse(podOf(), { maxPods: 2 }, others), {
    reason: 'OutOfpods',
    message: "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2",
  });
  assert.equal(refuse(podOf(), { maxPods: 3 }, others), undefined);
  assert.equal(refuse(podOf({ nodeName: 'edge2' }), { maxPods: 2 }, others)?.reason, 'NodeName');
});

const asking = (requests: Record<string, string>, spec: Partial<PodSpec> = {}, uid = 'other') =>
  podOf({ containers: [containerOf('c', { resources: { requests } })], ...spec }, uid, uid);

test('amounts: what is requested must fit into allocatable beside the other pods', () => {
  const others = [asking({ cpu: '3500m', memory: '1Gi' }), asking({ cpu: '4' })];
  assert.equal(refuse(asking({ cpu: '500m' }), {}, others), undefined);
  assert.deepEqual(refuse(asking({ cpu: '501m' }), {}, others), {
    reason: 'OutOfcpu',
    message: "Node didn't have enough resource: cpu, requested: 501, used: 7500, capacity: 8000",
  });
  assert.deepEqual(refuse(asking({ memory: '32Gi' }), {}, others), {
    reason: 'OutOfmemory',
    message:
      "Node didn't have enough resource: memory, requested: 34359738368, used: 1073741824, capacity: 34359738368",
  });
  const reasonOf = (requests: Record<string, string>, node: Partial<AdmissionNode> = {}) =>
    refuse(asking(requests), node)?.reason;
  assert.equal(reasonOf({ 'ephemeral-storage': '101Gi' }), 'OutOfephemeral-storage');
  assert.equal(reasonOf({ 'hugepages-2Mi': '2Mi' }), 'OutOfhugepages-2Mi');
  assert.equal(reasonOf({ 'vendor.example/gpu': '1' }), undefined);
  const { allocatable } = admissionNodeOf();
  const paged = { ...allocatable, hugepages: new Map([[2 * 2 ** 20, 4 * 2 ** 20]]) };
  assert.equal(reasonOf({ 'hugepages-2Mi': '4Mi' }, { allocatable: paged }), undefined);
  assert.equal(reasonOf({ 'hugepages-2Mi': '6Mi' }, { allocatable: paged }), 'OutOfhugepages-2Mi');
  // Where local storage is not accounted, nobody is short of it.
  const plain = { ...allocatable, ephemeralStorage: 0 };
  assert.equal(reasonOf({ 'ephemeral-storage': '101Gi' }, { allocatable: plain }), undefined);
});

test('amounts: init peaks, sidecars, overhead and pod-level requests count; nothing requested always fits', () => {
  const full = [asking({ cpu: '8' })];
  assert.equal(refuse(podOf(), {}, full), undefined);
  const cpu = (amount: string, more: object = {}) =>
    containerOf('i', { resources: { requests: { cpu: amount } }, ...more });
  const requested = (spec: Partial<PodSpec>) =>
    /requested: (\d+)/.exec(refuse(podOf(spec), {}, full)?.message ?? '')?.[1];
  const containers = [cpu('1')];
  assert.equal(requested({ containers, initContainers: [cpu('3')] }), '3000');
  assert.equal(
    requested({ containers, initContainers: [cpu('2', { restartPolicy: 'Always' })] }),
    '3000',
  );
  assert.equal(requested({ containers, overhead: { cpu: '250m' } }), '1250');
  assert.equal(requested({ containers, resources: { requests: { cpu: '5' } } }), '5000');
});

test('a critical pod takes places from others, and says so where all of them are not enough', () => {
  const critical = { priorityClassName: 'system-cluster-critical' };
  const low = asking({ cpu: '2' }, {}, 'low');
  const others = [low, asking({ cpu: '6' }, critical, 'high')];
  const judge = (cpu: string, spec: Partial<PodSpec>, leaving: string[] = []) =>
    verdictOf({
      pod: asking({ cpu }, spec, 'new'),
      node: admissionNodeOf(),
      others,
      leaving: new Set(leaving),
    });
  assert.deepEqual(judge('1', critical), { kind: 'preempt', victims: [low], signal: 'cpu' });
  assert.deepEqual(judge('1', critical, ['low']), { kind: 'preempt', victims: [], signal: 'cpu' });
  assert.deepEqual(judge('2500m', critical), {
    kind: 'refuse',
    refusal: {
      reason: 'UnexpectedAdmissionError',
      message:
        'Unexpected error while attempting to recover from admission failure: preemption: error finding a set ' +
        'of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 500), ]',
    },
  });
  assert.equal(judge('1', {}).kind, 'refuse');
  // Nobody is ended for a pod that would not start all the same.
  assert.equal(judge('1', { ...critical, nodeName: 'edge2' }).kind, 'refuse');
  assert.equal(
    judge('1', { ...critical, securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } })
      .kind,
    'refuse',
  );
});

test('a node that shuts down takes nobody', () => {
  assert.deepEqual(refuse(podOf(), { isShuttingDown: () => true }), {
    reason: 'NodeShutdown',
    message: 'Pod was rejected as the node is shutting down.',
  });
});

test('AppArmor: a profile needs a host that enforces it, and one of the node has to be loaded', () => {
  const annotated = podOf();
  const key = 'container.apparmor.security.beta.kubernetes.io/app';
  annotated.metadata.annotations = { [key]: 'runtime/default' };
  const shared = (type: 'Localhost' | 'Unconfined' | 'RuntimeDefault', localhostProfile?: string) =>
    podOf({
      securityContext: { appArmorProfile: { type, ...(localhostProfile && { localhostProfile }) } },
    });
  const off = {
    reason: 'AppArmor',
    message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
  };
  assert.deepEqual(refuse(annotated), off);
  assert.deepEqual(refuse(shared('RuntimeDefault')), off);
  assert.equal(refuse(shared('Unconfined')), undefined);
  const appArmor = { isEnabled: () => true, loaded: () => new Set(['mine']) };
  assert.equal(refuse(annotated, { appArmor }), undefined);
  assert.equal(refuse(shared('Localhost', 'mine'), { appArmor }), undefined);
  assert.equal(
    refuse(shared('Localhost', 'yours'), { appArmor })?.message,
    'Cannot enforce AppArmor: profile "yours" is not loaded',
  );
  const silent = { isEnabled: () => true, loaded: () => undefined };
  assert.equal(refuse(shared('Localhost', 'yours'), { appArmor: silent }), undefined);
});

const CORPUS = join(import.meta.dirname, '../../../../../shared/corpus');
const missing = existsSync(CORPUS) ? false : 'the shared corpus is not there';

/** Upstream's sums wrap beyond 2^63 bytes, and so it admits what no machine has. */
const WRAPPED = new Set(['686-qty-12345678901234567890.yaml']);

test('an empty node admits what the upstream kubelet admits', { skip: missing }, () => {
  let judged = 0;
  for (const file of readdirSync(join(CORPUS, 'manifests'))) {
    const base = file.replace(/\.(yaml|json)$/, '');
    const { admission } = JSON.parse(
      readFileSync(join(CORPUS, 'decode', `${base}.json`), 'utf8'),
    ) as { admission?: { admit: boolean; reason?: string; message?: string } };
    if (!admission || WRAPPED.has(file)) continue;
    const content = readFileSync(join(CORPUS, 'manifests', file));
    const path = `/etc/kubernetes/manifests/${file}`;
    const { documents, errors } = loadManifest(content, { path, nodeName: 'edge1' });
    if (errors.length > 0) continue; // islet reads all of a file, and here finds more than the upstream
    const pod = documents.find((document) => document.kind === 'Pod')?.pod;
    assert.ok(pod, file);
    // The upstream's answers were made with a runtime that can limit groups, and without AppArmor; to it
    // every static pod is critical.
    const node = { supplementalGroupsPolicy: () => true, staticPodEviction: false };
    const refusal = refuse(pod, node);
    assert.deepEqual(
      [refusal?.reason, refusal && `Pod was rejected: ${refusal.message}`],
      [admission.reason, admission.message],
      file,
    );
    judged += 1;
  }
  assert.ok(judged > 200, `${judged} were judged`);
});
