import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec } from '../../../src/api/pod.ts';
import { containerConfigJson } from '../../../src/cri/render.ts';
import { containerConfig, containerSubPaths } from '../../../src/runtime/container-config.ts';
import { podLogDirectory, sandboxConfig } from '../../../src/runtime/sandbox-config.ts';
import { factsOf } from '../../support/facts.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const context = {
  facts: factsOf(),
  cgroupParent: '/kubepods/besteffort/poduid-1',
  resolvConfText: 'nameserver 192.0.2.53\n',
};

function inputOf(more: Partial<Container> = {}, spec: Partial<PodSpec> = {}) {
  const container = containerOf('app', more);
  return {
    pod: podOf({ containers: [container], ...spec }),
    container,
    restartCount: 3,
    image: { ref: 'sha256:1', username: '' },
    podIps: ['10.88.0.5'],
    volumes: new Map(),
    subPaths: new Map(),
    terminationLogPath: '/pod/log',
    hostsPath: undefined,
    facts: factsOf(),
  };
}

test('the sandbox is named after the pod, which also decides its logs, cgroup and labels', () => {
  const pod = podOf();
  pod.metadata.labels = { app: 'x', 'io.kubernetes.pod.uid': 'forged' };
  pod.metadata.annotations = { 'kubernetes.io/config.hash': 'h' };
  const { config } = sandboxConfig(pod, 2, context);
  assert.deepEqual(config.metadata, {
    name: 'web-edge1',
    namespace: 'default',
    uid: 'uid-1',
    attempt: 2,
  });
  assert.equal(config.logDirectory, '/var/log/pods/default_web-edge1_uid-1');
  assert.equal(config.logDirectory, podLogDirectory(pod, '/var/log/pods'));
  assert.equal(config.cgroupParent, context.cgroupParent);
  assert.equal(config.hostname, 'web-edge1');
  assert.deepEqual(config.labels, {
    app: 'x',
    'io.kubernetes.pod.name': 'web-edge1',
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': 'uid-1',
  });
  assert.deepEqual(config.annotations, { 'kubernetes.io/config.hash': 'h' });
});

test('ports of regular containers, each once', () => {
  const ports = [
    { name: 'web', containerPort: 80, protocol: 'TCP' as const, hostPort: 8080 },
    { name: 'web', containerPort: 81, protocol: 'TCP' as const },
    { containerPort: 53, protocol: 'UDP' as const, hostIP: '::1' },
    { containerPort: 53, protocol: 'UDP' as const, hostIP: '::1' },
    { containerPort: 53, protocol: 'TCP' as const },
  ];
  const initContainers = [containerOf('init', { ports, restartPolicy: 'Always' })];
  const pod = podOf({ containers: [containerOf('app', { ports })], initContainers });
  assert.deepEqual(sandboxConfig(pod, 0, context).config.portMappings, [
    { protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '' },
    { protocol: 'UDP', containerPort: 53, hostPort: 0, hostIp: '::1' },
    { protocol: 'TCP', containerPort: 53, hostPort: 0, hostIp: '' },
  ]);
});

test('sysctls in either spelling reach the runtime with dots', () => {
  const sysctls = [
    { name: 'net.ipv4.tcp_syncookies', value: '1' },
    { name: 'net/ipv4/ip_local_port_range', value: '1024 65535' },
    { name: 'net.ipv4.conf.eth0/100.arp_filter', value: '1' },
    { name: 'net/ipv4/conf/eth0.100/arp_filter', value: '2' },
  ];
  const pod = podOf({ securityContext: { sysctls } });
  assert.deepEqual(sandboxConfig(pod, 0, context).config.sysctls, {
    'net.ipv4.tcp_syncookies': '1',
    'net.ipv4.ip_local_port_range': '1024 65535',
    'net.ipv4.conf.eth0/100.arp_filter': '2',
  });
});

test('the sandbox plan says what DNS it could not give', () => {
  assert.deepEqual(
    sandboxConfig(podOf(), 0, context).warnings.map((w) => w.reason),
    ['MissingClusterDNS'],
  );
});

test('command and args are expanded with the whole environment', () => {
  const config = containerConfig(
    inputOf({
      command: ['sh', '$(B)', '$(NONE)', '$$(B)'],
      args: ['$(A)'],
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '$(A)2' },
      ],
    }),
  );
  assert.deepEqual(config.command, ['sh', '12', '$(NONE)', '$(B)']);
  assert.deepEqual(config.args, ['1']);
  assert.deepEqual(config.envs, [
    { key: 'A', value: '1' },
    { key: 'B', value: '12' },
  ]);
});

test('a container carries what a later agent must know of it', () => {
  const input = inputOf({
    lifecycle: { preStop: { exec: { command: ['sh', '-c', 'a && b'] } } },
    ports: [{ containerPort: 80, protocol: 'TCP', hostPort: 8080, hostIP: '::1', name: 'web' }],
  });
  input.pod.metadata.deletionGracePeriodSeconds = 5;
  input.pod.metadata.labels = { app: 'not copied' };
  const config = containerConfig(input);
  assert.equal(config.attempt, 3);
  assert.equal(config.logPath, 'app/3.log');
  assert.deepEqual(config.labels, {
    'io.kubernetes.pod.name': 'web-edge1',
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': 'uid-1',
    'io.kubernetes.container.name': 'app',
  });
  const { 'io.kubernetes.container.hash': hash, ...rest } = config.annotations;
  assert.match(hash ?? '', /^[0-9a-f]+$/);
  assert.deepEqual(rest, {
    'io.kubernetes.container.restartCount': '3',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.pod.terminationGracePeriod': '30',
    'io.kubernetes.pod.deletionGracePeriod': '5',
    'io.kubernetes.container.preStopHandler':
      '{"exec":{"command":["sh","-c","a \\u0026\\u0026 b"]}}',
    'io.kubernetes.container.ports':
      '[{"name":"web","hostPort":8080,"containerPort":80,"protocol":"TCP","hostIP":"::1"}]',
  });
});

test('sub paths to prepare use the container’s environment', () => {
  const input = {
    ...inputOf({
      env: [{ name: 'P', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      volumeMounts: [{ name: 'v', mountPath: '/x', subPathExpr: '$(P)/d' }],
    }),
    volumes: new Map([
      ['v', { kind: 'path', hostPath: '/vol', readOnly: false, selinuxRelabel: true } as const],
    ]),
  };
  assert.deepEqual(containerSubPaths(input), [
    { index: 0, volumeName: 'v', hostPath: '/vol', subPath: 'web-edge1/d' },
  ]);
  assert.deepEqual(containerSubPaths(inputOf()), []);
});

test('the stop signal is asked for only where the node lets containers choose it', () => {
  const input = inputOf({ lifecycle: { stopSignal: 'SIGRTMIN+3' } });
  assert.equal(containerConfigJson(containerConfig(input))['stop_signal'], undefined);
  const asked = containerConfig({ ...input, facts: factsOf({ stopSignals: true }) });
  assert.equal(containerConfigJson(asked)['stop_signal'], 'SIGRTMINPLUS3');
});
