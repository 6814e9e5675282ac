import assert from 'node:assert/strict';
import test from 'node:test';
import { normalizeArgv } from '../../../src/config/flags.ts';
import { HEAD, ISLET_HEAD, faults, load } from './support.ts';

test('a manifest directory is enough', () => {
  const config = load(undefined, { podManifestPath: '/etc/pods' });
  assert.equal(config.kubelet.staticPodPath, '/etc/pods');
  assert.equal(config.nodeName, 'edge-7');
  assert.equal(config.rootDir, '/var/lib/islet');
  assert.equal(config.islet.socketPath, '/var/lib/islet/islet.sock');
  assert.equal(config.islet.maxParallelStarts, 8); // of four cores
  assert.equal(config.kubelet.readOnlyPort, 10_255);
  assert.equal(config.kubelet.failCgroupV1, false);
  assert.equal(config.kubelet.containerRuntimeEndpointSet, false);
});

test('with a file the secure defaults apply', () => {
  const { kubelet } = load(HEAD);
  assert.equal(kubelet.readOnlyPort, 0);
  assert.equal(kubelet.failCgroupV1, true);
  assert.equal(kubelet.failSwapOn, true);
  assert.deepEqual(kubelet.enforceNodeAllocatable, ['pods']);
});

test('the file wins over defaults, a flag over the file', () => {
  const text = `${HEAD}staticPodPath: /file\ncontainerRuntimeEndpoint: unix:///file.sock\nlogging: {verbosity: 2}\n---\n${ISLET_HEAD}containerd: external\nsocketPath: /file.sock`;
  const file = load(text);
  assert.equal(file.kubelet.staticPodPath, '/file');
  assert.equal(file.kubelet.containerRuntimeEndpointSet, true);
  assert.equal(file.verbosity, 2);
  assert.equal(file.islet.containerd, 'external');
  const flags = load(text, {
    podManifestPath: 'flag',
    containerRuntimeEndpoint: '/flag.sock',
    v: '5',
    containerd: 'managed',
    socket: '/flag.sock',
    hostnameOverride: ' NODE.example ',
    nodeIp: '192.0.2.7,2001:db8::1',
  });
  assert.match(flags.kubelet.staticPodPath, /^\/.*\/flag$/);
  assert.equal(flags.kubelet.containerRuntimeEndpoint, 'unix:///flag.sock');
  assert.equal(flags.verbosity, 5);
  assert.equal(flags.islet.containerd, 'managed');
  assert.equal(flags.islet.socketPath, '/flag.sock');
  assert.equal(flags.nodeName, 'node.example');
  assert.deepEqual(flags.nodeIps, ['192.0.2.7', '2001:db8::1']);
});

test('relative paths are relative to the file; an empty resolvConf stays empty', () => {
  const { kubelet } = load(
    `${HEAD}staticPodPath: pods\nresolvConf: ""\nauthentication: {x509: {clientCAFile: ca.pem}}`,
  );
  assert.match(kubelet.staticPodPath, /\/islet-config-[^/]+\/pods$/);
  assert.equal(kubelet.resolvConf, '');
  assert.match(JSON.stringify(kubelet.rest['authentication']), /islet-config-[^/]+\/ca\.pem/);
});

test('zero and empty stand for the default where Go cannot tell them from absent', () => {
  const { kubelet } = load(
    `${HEAD}syncFrequency: 0s\nfileCheckFrequency: 0s\nmaxPods: 0\naddress: ""\ncgroupDriver: ""\npodPidsLimit: -7\nhealthzPort: 0\nregistryPullQPS: 0`,
  );
  assert.equal(kubelet.syncFrequencyMs, 60_000);
  assert.equal(kubelet.fileCheckFrequencyMs, 20_000);
  assert.equal(kubelet.maxPods, 110);
  assert.equal(kubelet.address, '0.0.0.0');
  assert.equal(kubelet.cgroupDriver, 'cgroupfs');
  assert.equal(kubelet.podPidsLimit, -1);
  assert.equal(kubelet.healthzPort, 0);
  assert.equal(kubelet.registryPullQPS, 0);
});

test('grace periods of a shutdown, however they are written', () => {
  const periods = (text: string) => load(HEAD + text).kubelet.shutdownGracePeriods;
  assert.deepEqual(periods('maxPods: 3'), []);
  assert.deepEqual(periods('shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s'), [
    { priority: 0, periodMs: 20_000 },
    { priority: 2_000_000_000, periodMs: 10_000 },
  ]);
  const list =
    'shutdownGracePeriodByPodPriority:\n' +
    '- {priority: 1000, shutdownGracePeriodSeconds: 5}\n- {priority: 0, shutdownGracePeriodSeconds: 60}';
  assert.deepEqual(periods(list), [
    { priority: 0, periodMs: 60_000 },
    { priority: 1000, periodMs: 5000 },
  ]);
});

test('parallel pulls switch off serial ones only when nobody chose', () => {
  assert.equal(load(`${HEAD}maxParallelImagePulls: 3`).kubelet.serializeImagePulls, false);
  assert.equal(load(`${HEAD}maxParallelImagePulls: 1`).kubelet.serializeImagePulls, true);
  assert.match(
    faults(`${HEAD}maxParallelImagePulls: 3\nserializeImagePulls: true`)[0] ?? '',
    /^3: maxParallelImagePulls: found 3/,
  );
});

test('a field that is not read is kept as written', () => {
  const { rest } = load(`${HEAD}oomScoreAdj: -500\nmaxOpenFiles: 5\nmaxPods: 3`).kubelet;
  assert.deepEqual(rest, { oomScoreAdj: -500, maxOpenFiles: 5 });
});

test('a managed pod network follows podCIDR unless it has its own', () => {
  assert.equal(load(`${HEAD}podCIDR: fd00::/64,10.9.0.0/24`).islet.podSubnet, '10.9.0.0/24');
  assert.equal(
    load(`${HEAD}podCIDR: 10.9.0.0/24\n---\n${ISLET_HEAD}podSubnet: 10.8.0.0/24`).islet.podSubnet,
    '10.8.0.0/24',
  );
});

test('claims are kept below the root directory unless they have a place of their own', () => {
  const dirOf = (text: string): string => load(text, { rootDir: '/r' }).islet.persistentVolumeDir;
  assert.equal(dirOf(HEAD), '/r/persistent-volumes');
  assert.equal(dirOf(`${ISLET_HEAD}persistentVolumeDir: /data/claims/`), '/data/claims');
  assert.match(dirOf(`${ISLET_HEAD}persistentVolumeDir: claims`), /^\/.+\/claims$/);
});

test('images: the node asks as a kubelet does unless told otherwise', () => {
  const { kubelet, islet } = load(HEAD);
  assert.equal(islet.imagePolicy, 'always-ask');
  assert.equal(kubelet.imagePullCredentialsVerificationPolicy, 'NeverVerifyPreloadedImages');
  assert.deepEqual(kubelet.preloadedImagesVerificationAllowlist, []);
  const text = `${HEAD}imagePullCredentialsVerificationPolicy: AlwaysVerify\n---\n${ISLET_HEAD}imagePolicy: newest-else-cached`;
  const other = load(text);
  assert.equal(other.islet.imagePolicy, 'newest-else-cached');
  assert.equal(other.kubelet.imagePullCredentialsVerificationPolicy, 'AlwaysVerify');
  assert.deepEqual(faults(`${ISLET_HEAD}imagePolicy: cached`), [
    '3: imagePolicy: found "cached", expected always-ask or newest-else-cached',
  ]);
});

test('credential plugins: what is wrong with them ends the start', () => {
  const flags = { podManifestPath: '/p', imageCredentialProviderConfig: 'none.yaml' };
  assert.deepEqual(faults(undefined, flags), [
    '--image-credential-provider-bin-dir: found nothing, expected a directory, because --image-credential-provider-config is set',
  ]);
  assert.deepEqual(load(HEAD).credentialProviders, []);
});

test('nothing of the configuration can be changed', () => {
  const config = load(`${HEAD}evictionHard: {memory.available: 5%}`);
  const parts = [config, config.kubelet, config.islet, config.kubelet.eviction.hard];
  for (const part of parts) assert.ok(Object.isFrozen(part));
});

test('wrong flags are reported by their name', () => {
  const lines = faults(undefined, {
    rootDir: 'relative',
    nodeIp: '192.0.2.1,192.0.2.2',
    v: 'loud',
    containerd: 'own',
    containerRuntimeEndpoint: 'tcp://x',
    hostnameOverride: 'under_score',
  });
  const flags = [
    '--root-dir',
    '--node-ip',
    '-v',
    '--containerd',
    '--container-runtime-endpoint',
    '--hostname-override',
  ];
  for (const flag of flags)
    assert.ok(
      lines.some((line) => line.startsWith(`${flag}: found "`)),
      flag,
    );
  assert.match(
    faults(undefined, { config: 'none.yaml' })[0] ?? '',
    /^--config: found an unreadable/,
  );
});

test("the kubelet's spellings of flags", () => {
  assert.deepEqual(
    normalizeArgv([
      'run',
      '--root_dir=/a_b',
      '-v=4',
      '-v',
      '2',
      '--v=3',
      '--node_ip',
      '1_2',
      '--',
      '--a_b',
      '-v=1',
    ]),
    [
      'run',
      '--root-dir=/a_b',
      '--v=4',
      '-v',
      '2',
      '--v=3',
      '--node-ip',
      '1_2',
      '--',
      '--a_b',
      '-v=1',
    ],
  );
});

test('what the acceptance suite and the specification use is accepted', () => {
  const suite = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: '/tmp/x/manifests',
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    cgroupDriver: 'cgroupfs',
    failCgroupV1: false,
    failSwapOn: false,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    port: 21250,
    readOnlyPort: 21255,
    healthzPort: 21248,
    podLogsDir: '/tmp/x/podlogs',
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    evictionHard: { 'memory.available': '10Mi' },
    memorySwap: { swapBehavior: 'NoSwap' },
    clusterDNS: [],
    podCIDR: '10.88.0.0/24',
  };
  const { kubelet } = load(JSON.stringify(suite, null, 1), {
    rootDir: '/tmp/x/root',
    hostnameOverride: 'edge1',
  });
  assert.equal(kubelet.readOnlyPort, 21255);
  assert.deepEqual(kubelet.enforceNodeAllocatable, []);
});

test('runtime classes: as written, each fault by its place', () => {
  const classes = (text: string) => `${ISLET_HEAD}runtimeClasses:\n${text}`;
  const { islet } = load(
    classes(
      '- {name: kata, handler: kata-qemu, overhead: {podFixed: {memory: 160Mi}}}\n- {name: a.b, handler: runc}',
    ),
  );
  assert.deepEqual(islet.runtimeClasses, [
    { name: 'kata', handler: 'kata-qemu', overhead: { podFixed: { memory: '160Mi' } } },
    { name: 'a.b', handler: 'runc' },
  ]);
  assert.deepEqual(load(undefined).islet.runtimeClasses, []);
  assert.deepEqual(
    faults(
      classes('- {name: Kata, handler: x}\n- {name: a}\n- {name: a, handler: "/usr/bin/runc"}'),
    ),
    [
      '4: runtimeClasses[0].name: found "Kata", expected a DNS name, as a runtimeClassName is',
      '5: runtimeClasses[1].handler: found null, expected the name of a handler of the runtime, such as "runc" or "kata"',
      '6: runtimeClasses[2].name: found "a", expected each class once',
      '6: runtimeClasses[2].handler: found "/usr/bin/runc", expected the name of a handler of the runtime, such as "runc" or "kata"',
    ],
  );
  assert.deepEqual(faults(classes('- {name: a, handler: b, overhead: {podFixed: {cpu: lots}}}')), [
    '4: runtimeClasses[0].overhead.podFixed.cpu: found "lots", expected a quantity such as "500m" or "100Mi", not negative',
  ]);
});

test('labels of the node are read, and those that are not the node’s to give refused', () => {
  const given = 'zone=a, example.com/disk=ssd,node.kubernetes.io/x=1,empty=';
  assert.deepEqual(load(undefined, { nodeLabels: given }).nodeLabels, {
    zone: 'a',
    'example.com/disk': 'ssd',
    'node.kubernetes.io/x': '1',
    empty: '',
  });
  assert.deepEqual(load(undefined).nodeLabels, {});
  for (const wrong of [
    'zone',
    'a=b=c',
    '=x',
    'a b=c',
    'x/y/z=1',
    'zone=a/b',
    `${'k'.repeat(64)}=1`,
  ]) {
    assert.match(
      faults(undefined, { nodeLabels: wrong }).join(),
      /^--node-labels: found .*KEY=VALUE/,
    );
  }
  assert.match(
    faults(undefined, { nodeLabels: 'node-role.kubernetes.io/master=' }).join(),
    /^--node-labels: found .* not node-role\.kubernetes\.io\/master$/,
  );
});
