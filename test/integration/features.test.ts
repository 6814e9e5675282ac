/**
 * What a pod gets by what the runtime can do, and what becomes of a pod that this node cannot take: the
 * whole agent against a runtime that says of itself what a test wants.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { status as Code } from '@grpc/grpc-js';
import type { Pod } from '../../src/api/pod.ts';
import { SupplementalGroupsPolicy } from '../../src/cri/gen/cri_pb.ts';
import type { CreateContainerRequest, RunPodSandboxRequest } from '../../src/cri/gen/cri_pb.ts';
import { Bench, IMAGE } from '../support/bench.ts';

const READY = {
  conditions: [
    { type: 'RuntimeReady', status: true },
    { type: 'NetworkReady', status: true },
  ],
};
const ABLE = { recursiveReadOnlyMounts: true, userNamespaces: true };
const CLASSES = [{ name: 'kata', handler: 'kata-qemu', overhead: { podFixed: { cpu: '250m' } } }];

/** An agent with more in its configuration; the runtime's handlers can what `handlers` says. */
async function node(
  t: TestContext,
  handlers: Record<string, object>,
  islet: object = {},
  kubelet: object = {},
): Promise<Bench> {
  const bench = await Bench.start(t);
  configure(bench, islet, kubelet);
  says(bench, handlers);
  return bench;
}

function configure(bench: Bench, islet: object, kubelet: object): void {
  const file = path.join(bench.dir, 'config.yaml');
  const [first = ''] = fs.readFileSync(file, 'utf8').split('\n---\n');
  const written = JSON.parse(first) as object;
  const head = { apiVersion: 'islet.dev/v1alpha1', kind: 'IsletConfiguration' };
  const documents = [
    { ...written, ...kubelet },
    { ...head, ...islet },
  ];
  fs.writeFileSync(file, documents.map((one) => JSON.stringify(one)).join('\n---\n'));
}

function says(bench: Bench, handlers: Record<string, object>): void {
  const runtimeHandlers = Object.entries(handlers).map(([name, features]) => ({ name, features }));
  bench.cri.on('status', () => ({ status: READY, runtimeHandlers }));
}

function sandboxes(bench: Bench): RunPodSandboxRequest[] {
  return bench.cri.callsOf('runPodSandbox').map(({ request }) => request as RunPodSandboxRequest);
}

function created(bench: Bench): CreateContainerRequest[] {
  return bench.cri
    .callsOf('createContainer')
    .map(({ request }) => request as CreateContainerRequest);
}

function messages(bench: Bench, reason: string): string[] {
  return bench.events().flatMap((e) => (e.reason === reason ? [e.message] : []));
}

const waiting = (pod: Pod | undefined) => pod?.status.containerStatuses?.[0]?.state.waiting;

const container = (more: object) => [
  { name: 'app', image: IMAGE, imagePullPolicy: 'IfNotPresent', ...more },
];

const SLOT = 65_536;

test('hostUsers: false: ids of its own for sandbox, container and every mount, kept over a restart', async (t) => {
  const bench = await node(t, { '': ABLE });
  const volumes = [{ name: 'v', emptyDir: {} }];
  const containers = container({ volumeMounts: [{ name: 'v', mountPath: '/v' }] });
  bench.apply('own', { hostUsers: false, volumes, containers });
  bench.apply('own2', { hostUsers: false });
  bench.apply('shared');
  await bench.startAgent();
  await bench.until('all run', () => ['own', 'own2', 'shared'].every((n) => bench.isRunning(n)));
  const mappingOf = (name: string) => {
    const request = sandboxes(bench).find(({ config }) => config?.metadata?.name === `${name}-f1`);
    const { usernsOptions } = request?.config?.linux?.securityContext?.namespaceOptions ?? {};
    return usernsOptions?.uids[0]?.hostId;
  };
  assert.deepEqual([mappingOf('own'), mappingOf('own2')].toSorted(), [2 * SLOT, SLOT].toSorted());
  assert.equal(mappingOf('shared'), undefined);
  const hostId = mappingOf('own');
  const { config } = created(bench).find((c) => c.sandboxConfig?.metadata?.name === 'own-f1') ?? {};
  const { uids, gids } =
    config?.linux?.securityContext?.namespaceOptions?.usernsOptions ?? assert.fail();
  const plain = (list: { hostId: number; containerId: number; length: number }[]) =>
    list.map((m) => [m.hostId, m.containerId, m.length]);
  assert.deepEqual([plain(uids), plain(gids)], [[[hostId, 0, SLOT]], [[hostId, 0, SLOT]]]);
  assert.equal(config?.mounts.length, 3); // the volume, /etc/hosts, the termination log
  for (const mount of config?.mounts ?? []) {
    assert.deepEqual(plain(mount.uidMappings), [[hostId, 0, SLOT]], mount.containerPath);
    assert.deepEqual(plain(mount.gidMappings), [[hostId, 0, SLOT]], mount.containerPath);
  }

  const uid = bench.pod('own')?.metadata.uid ?? '';
  const file = path.join(bench.dir, 'root/pods', uid, 'userns');
  const kept = fs.readFileSync(file, 'utf8');
  await bench.stopAgent();
  const record = [...bench.cri.runtime.containers].find(([, c]) =>
    c.status.labels['io.kubernetes.pod.name']?.startsWith('own-'),
  );
  bench.cri.runtime.exit(record?.[0] ?? '', 1);
  await bench.startAgent();
  await bench.until('it was restarted', () =>
    bench.containers('own').includes('CONTAINER_RUNNING#1'),
  );
  const again = created(bench).at(-1)?.config?.mounts[0];
  assert.deepEqual(plain(again?.uidMappings ?? []), [[hostId, 0, SLOT]]);
  assert.equal(fs.readFileSync(file, 'utf8'), kept);

  bench.remove('own');
  await bench.until('its directory is gone', () => !fs.existsSync(path.dirname(file)));
  bench.apply('next', { hostUsers: false });
  await bench.until('the next one runs', () => bench.isRunning('next'));
  assert.equal(mappingOf('next'), hostId);
});

test('a runtime without user namespaces: the pod waits and says why, and starts once it can', async (t) => {
  const bench = await node(t, {});
  bench.apply('own', { hostUsers: false });
  bench.apply('other');
  await bench.startAgent();
  const text =
    "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces";
  await bench.until('it is told', () => messages(bench, 'FailedCreatePodSandBox').includes(text));
  await bench.until('the other one runs', () => bench.isRunning('other'));
  assert.equal(bench.pod('own')?.status.phase, 'Pending');
  assert.equal(sandboxes(bench).length, 1);
  // The runtime is replaced by one that can.
  bench.cri.kill();
  says(bench, { '': ABLE });
  await bench.cri.listen();
  await bench.until('it runs', () => bench.isRunning('own'));
});

test('recursiveReadOnly is what the runtime can, and an error where it must be and cannot', async (t) => {
  const bench = await node(
    t,
    { '': ABLE, weak: {} },
    { runtimeClasses: [{ name: 'weak', handler: 'weak' }] },
  );
  const volumes = [{ name: 'v', emptyDir: {} }];
  const containers = (recursiveReadOnly: string) =>
    container({
      volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly }],
    });
  bench.apply('able', { volumes, containers: containers('Enabled') });
  bench.apply('unable', { volumes, containers: containers('Enabled'), runtimeClassName: 'weak' });
  bench.apply('easy', { volumes, containers: containers('IfPossible'), runtimeClassName: 'weak' });
  await bench.startAgent();
  await bench.until('two run', () => bench.isRunning('able') && bench.isRunning('easy'));
  await bench.until('one waits', () => waiting(bench.pod('unable'))?.message !== undefined);
  assert.deepEqual(waiting(bench.pod('unable')), {
    reason: 'CreateContainerConfigError',
    message:
      'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but ' +
      'it is not supported by the runtime',
  });
  const asked = created(bench).map(({ config, sandboxConfig }) => [
    sandboxConfig?.metadata?.name,
    config?.mounts.find((m) => m.containerPath === '/v')?.recursiveReadOnly,
  ]);
  assert.deepEqual(Object.fromEntries(asked), { 'able-f1': true, 'easy-f1': false });
  const shown = (name: string) => bench.pod(name)?.status.containerStatuses?.[0]?.volumeMounts?.[0];
  await bench.until('the status says so', () => shown('able')?.recursiveReadOnly === 'Enabled');
  assert.equal(shown('easy')?.recursiveReadOnly, 'Disabled');
});

test('a runtime class is a handler and a price; an unknown one is named and harms nobody', async (t) => {
  const bench = await node(t, {}, { runtimeClasses: CLASSES });
  bench.apply('kata', { runtimeClassName: 'kata' });
  bench.apply('lost', { runtimeClassName: 'gvisor' });
  bench.apply('plain');
  await bench.startAgent();
  await bench.until('two run', () => bench.isRunning('kata') && bench.isRunning('plain'));
  const text =
    'Failed to create pod sandbox: RuntimeClass "gvisor" not found: runtimeClasses of the ' +
    'IsletConfiguration has kata';
  await bench.until('it is told', () => messages(bench, 'FailedCreatePodSandBox').includes(text));
  assert.equal(bench.pod('lost')?.status.phase, 'Pending');
  const asked = sandboxes(bench).map(({ config, runtimeHandler }) => [
    config?.metadata?.name,
    [runtimeHandler, Number(config?.linux?.overhead?.cpuShares ?? 0)],
  ]);
  assert.deepEqual(Object.fromEntries(asked), {
    'kata-f1': ['kata-qemu', 256],
    'plain-f1': ['', 0],
  });
  assert.deepEqual(bench.pod('kata')?.spec.overhead, { cpu: '250m' });
});

test('what the node cannot take is refused, never touched, and judged anew after a restart', async (t) => {
  const bench = await node(t, {}, {}, { maxPods: 2 });
  const port = (name: string) => {
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    bench.apply(name, { containers: container({ ports }) });
  };
  port('a');
  await bench.startAgent();
  await bench.until('the first runs', () => bench.isRunning('a'));
  port('b');
  bench.apply('windows', { os: { name: 'windows' } });
  const reason = (name: string) => bench.pod(name)?.status.reason;
  await bench.until('two are refused', () => Boolean(reason('b') && reason('windows')));
  assert.deepEqual([reason('b'), reason('windows')], ['NodePorts', 'PodOSNotSupported']);
  const { startTime, ...status } = bench.pod('windows')?.status ?? {};
  assert.ok(startTime);
  assert.deepEqual(status, {
    phase: 'Failed',
    reason: 'PodOSNotSupported',
    message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
    qosClass: 'BestEffort',
  });
  assert.match(bench.metrics(), /^kubelet_admission_rejections_total\{reason="NodePorts"\} 1$/m);
  await bench.stopAgent();
  await bench.startAgent();
  await bench.until('it is judged anew', () => messages(bench, 'NodePorts').length > 0);
  await bench.until('the first is known', () => bench.isRunning('a'));
  assert.deepEqual([reason('b'), bench.containers('a')], ['NodePorts', ['CONTAINER_RUNNING#0']]);
  assert.equal(sandboxes(bench).length, 1);
  bench.remove('a');
  await bench.until('the port is free and taken', () => bench.isRunning('b'));
  assert.equal(reason('b'), undefined);
});

test('a pod that runs is not asked again, whatever the configuration has become', async (t) => {
  const bench = await node(t, {}, {}, { allowedUnsafeSysctls: ['kernel.msg*'] });
  const securityContext = { sysctls: [{ name: 'kernel.msgmax', value: '9000' }] };
  bench.apply('runs', { securityContext });
  await bench.startAgent();
  await bench.until('it runs', () => bench.isRunning('runs'));
  await bench.stopAgent();
  configure(bench, {}, { allowedUnsafeSysctls: [] });
  bench.apply('new', { securityContext });
  await bench.startAgent();
  await bench.until('the new one is refused', () => Boolean(bench.pod('new')?.status.reason));
  await bench.until('the old one is known', () => bench.isRunning('runs'));
  assert.equal(bench.pod('new')?.status.reason, 'SysctlForbidden');
  assert.equal(bench.pod('runs')?.status.reason, undefined);
  assert.deepEqual(bench.containers('runs'), ['CONTAINER_RUNNING#0']);
  assert.equal(sandboxes(bench).length, 1);
});

test('strict groups wait for a runtime that can, and start as soon as it says so', async (t) => {
  const bench = await node(t, {});
  bench.cri.fail('status', Code.UNKNOWN);
  bench.apply('strict', {
    hostNetwork: true,
    securityContext: { supplementalGroups: [7], supplementalGroupsPolicy: 'Strict' },
  });
  await bench.startAgent();
  const refused = 'SupplementalGroupsPolicyNotSupported';
  await bench.until('it is refused', () => bench.pod('strict')?.status.reason === refused);
  bench.cri.on('status', () => ({ status: READY, features: { supplementalGroupsPolicy: true } }));
  await bench.until('it runs', () => bench.isRunning('strict'));
  const { supplementalGroups, supplementalGroupsPolicy } =
    created(bench)[0]?.config?.linux?.securityContext ?? assert.fail();
  assert.deepEqual(supplementalGroups, [7n]);
  assert.equal(supplementalGroupsPolicy, SupplementalGroupsPolicy.Strict);
});
