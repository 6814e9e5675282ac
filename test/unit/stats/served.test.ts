import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cadvisorMetrics } from '../../../src/stats/cadvisor-metrics.ts';
import type { ContainerStats, NodeStats, PodStats } from '../../../src/stats/model.ts';
import { resourceMetrics } from '../../../src/stats/resource-metrics.ts';
import { summary } from '../../../src/stats/summary.ts';

const TIME_MS = Date.UTC(2026, 0, 1, 10, 0, 0) + 700;
const TIME = '2026-01-01T10:00:00Z';
const at = { timeMs: TIME_MS };
const LINE = { total: 1_500_000, avg10: 1.5, avg60: 0.5, avg300: 0.1 };
const GIB = 2 ** 30;

const CONTAINER: ContainerStats = {
  name: 'app',
  id: 'c1',
  image: 'reg.test/app:1',
  cgroup: '/kubepods/podu1/c1',
  startTimeMs: TIME_MS - 1000,
  cpu: {
    ...at,
    usageCoreNanoSeconds: 2_500_000_000,
    usageNanoCores: 3_000_000,
    psi: { some: LINE },
  },
  memory: { ...at, usage: 300, workingSet: 200, available: 800, capacity: 1000, rss: 150 },
  swap: { ...at, usage: 5, available: 10 },
  rootfs: { ...at, used: 70, inodesUsed: 7, available: 1, capacity: 2, inodes: 3, inodesFree: 4 },
  logs: { ...at, used: 80, inodesUsed: 8 },
};

const POD: PodStats = {
  ref: { name: 'web-edge1', namespace: 'default', uid: 'u1' },
  cgroup: '/kubepods/podu1',
  startTimeMs: TIME_MS,
  cpu: { ...at, usageCoreNanoSeconds: 3_000_000_000 },
  memory: { ...at, usage: 400, workingSet: 250, pageFaults: 9, majorPageFaults: 1 },
  io: { ...at, psi: { some: LINE, full: LINE } },
  network: {
    ...at,
    default: {
      ...{ name: 'eth0', rxBytes: 1, rxPackets: 2, rxErrors: 3, rxDropped: 4 },
      ...{ txBytes: 5, txPackets: 6, txErrors: 7, txDropped: 8 },
    },
    interfaces: [
      {
        ...{ name: 'eth0', rxBytes: 1, rxPackets: 2, rxErrors: 3, rxDropped: 4 },
        ...{ txBytes: 5, txPackets: 6, txErrors: 7, txDropped: 8 },
      },
    ],
  },
  processCount: 12,
  ephemeralStorage: { ...at, used: 150, inodesUsed: 15 },
  volumes: [
    { ...at, name: 'data', local: true, used: 40, inodesUsed: 4 },
    { ...at, name: 'big', local: false, claim: 'disk', used: 50 },
  ],
  containers: [CONTAINER],
};

const FS = {
  ...{ ...at, available: 10, capacity: 20, used: 9, inodes: 100, inodesFree: 60, inodesUsed: 40 },
  ...{ device: 1, mountpoint: '/' },
};

const NODE: NodeStats = {
  startTimeMs: TIME_MS - 500,
  cpu: { ...at, usageCoreNanoSeconds: 9_000_000_000 },
  memory: { ...at, usage: GIB, workingSet: GIB, capacity: 4 * GIB, available: 3 * GIB },
  swap: { ...at, usage: 1, available: 2 },
  fs: FS,
  imageFs: FS,
  pid: { ...at, max: 1000, current: 100 },
  systemContainers: [{ name: 'pods', memory: { ...at, usage: 3, workingSet: 2 } }],
};

const FS_JSON = {
  time: TIME,
  availableBytes: 10,
  capacityBytes: 20,
  usedBytes: 9,
  inodesFree: 60,
  inodes: 100,
  inodesUsed: 40,
};

test('the summary has the names of the kubelet, and only what is known', () => {
  const psi = { full: { total: 0, avg10: 0, avg60: 0, avg300: 0 }, some: LINE };
  const eth0 = { name: 'eth0', rxBytes: 1, rxErrors: 3, txBytes: 5, txErrors: 7 };
  const body = summary({ nodeName: 'edge1', node: NODE, pods: [POD], onlyCpuAndMemory: false });
  assert.deepEqual(JSON.parse(JSON.stringify(body)), {
    node: {
      nodeName: 'edge1',
      systemContainers: [
        { name: 'pods', memory: { time: TIME, usageBytes: 3, workingSetBytes: 2 } },
      ],
      startTime: TIME,
      cpu: { time: TIME, usageCoreNanoSeconds: 9_000_000_000 },
      memory: {
        time: TIME,
        availableBytes: 3 * GIB,
        usageBytes: GIB,
        workingSetBytes: GIB,
      },
      swap: { time: TIME, swapAvailableBytes: 2, swapUsageBytes: 1 },
      fs: FS_JSON,
      runtime: { imageFs: FS_JSON },
      rlimit: { time: TIME, maxpid: 1000, curproc: 100 },
    },
    pods: [
      {
        podRef: { name: 'web-edge1', namespace: 'default', uid: 'u1' },
        startTime: TIME,
        containers: [
          {
            name: 'app',
            startTime: '2026-01-01T09:59:59Z',
            cpu: {
              time: TIME,
              usageNanoCores: 3_000_000,
              usageCoreNanoSeconds: 2_500_000_000,
              psi,
            },
            memory: {
              ...{ time: TIME, availableBytes: 800, usageBytes: 300, workingSetBytes: 200 },
              rssBytes: 150,
            },
            swap: { time: TIME, swapAvailableBytes: 10, swapUsageBytes: 5 },
            rootfs: {
              ...{ time: TIME, availableBytes: 1, capacityBytes: 2, usedBytes: 70 },
              ...{ inodesFree: 4, inodes: 3, inodesUsed: 7 },
            },
            logs: { time: TIME, usedBytes: 80, inodesUsed: 8 },
          },
        ],
        cpu: { time: TIME, usageCoreNanoSeconds: 3_000_000_000 },
        memory: {
          ...{ time: TIME, usageBytes: 400, workingSetBytes: 250 },
          ...{ pageFaults: 9, majorPageFaults: 1 },
        },
        io: { time: TIME, psi: { some: LINE, full: LINE } },
        network: { time: TIME, ...eth0, interfaces: [eth0] },
        volume: [
          { time: TIME, usedBytes: 40, inodesUsed: 4, name: 'data' },
          {
            time: TIME,
            usedBytes: 50,
            name: 'big',
            pvcRef: { name: 'disk', namespace: 'default' },
          },
        ],
        'ephemeral-storage': { time: TIME, usedBytes: 150, inodesUsed: 15 },
        process_stats: { process_count: 12 },
      },
    ],
  });
});

test('only_cpu_and_memory: nothing of disks, networks, processes and pressure of IO', () => {
  const body = summary({ nodeName: 'edge1', node: NODE, pods: [POD], onlyCpuAndMemory: true });
  const { node, pods } = JSON.parse(JSON.stringify(body)) as {
    node: object;
    pods: { containers: object[] }[];
  };
  assert.deepEqual(Object.keys(node), [
    ...['nodeName', 'systemContainers', 'startTime', 'cpu', 'memory', 'swap'],
  ]);
  assert.deepEqual(Object.keys(pods[0] ?? {}), [
    ...['podRef', 'startTime', 'containers', 'cpu', 'memory'],
  ]);
  assert.deepEqual(Object.keys(pods[0]?.containers[0] ?? {}), [
    ...['name', 'startTime', 'cpu', 'memory', 'swap'],
  ]);
});

function lines(text: string, name: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

test('/metrics/resource: samples with the time at which they were read', () => {
  const text = resourceMetrics({ node: NODE, pods: [POD] });
  const stamp = String(TIME_MS);
  const pod = 'namespace="default",pod="web-edge1"';
  const container = `container="app",${pod}`;
  for (const line of [
    `node_cpu_usage_seconds_total 9 ${stamp}`,
    `node_memory_working_set_bytes ${GIB} ${stamp}`,
    `node_swap_usage_bytes 1 ${stamp}`,
    `pod_cpu_usage_seconds_total{${pod}} 3 ${stamp}`,
    `pod_memory_working_set_bytes{${pod}} 250 ${stamp}`,
    `container_cpu_usage_seconds_total{${container}} 2.5 ${stamp}`,
    `container_memory_working_set_bytes{${container}} 200 ${stamp}`,
    `container_swap_usage_bytes{${container}} 5 ${stamp}`,
    `container_swap_limit_bytes{${container}} 15 ${stamp}`,
    `container_start_time_seconds{${container}} ${(TIME_MS - 1000) / 1000}`,
    'resource_scrape_error 0',
    '# TYPE container_cpu_usage_seconds_total counter',
    '# TYPE container_memory_working_set_bytes gauge',
  ])
    assert.ok(text.split('\n').includes(line), `${line}\nis not in\n${text}`);
  assert.deepEqual(lines(text, 'pod_swap_usage_bytes'), [], 'not known, not shown');
  assert.match(resourceMetrics(undefined), /^# HELP [^\n]+\n[^\n]+\nresource_scrape_error 1\n$/);
});

test('/metrics/cadvisor: rows of the node, the pod and the container', () => {
  const cgroups = { limits: () => ({ cpuShares: 102, memory: 1000 }), tasks: () => 12 };
  const text = cadvisorMetrics({ node: NODE, pods: [POD], cpus: 4, cgroups });
  const row = (container: string, id: string, image: string, name: string, pod: string): string =>
    `container="${container}",id="${id}",image="${image}",name="${name}",` +
    `namespace="${pod === '' ? '' : 'default'}",pod="${pod}"`;
  const node = row('', '/', '', '', '');
  const pod = row('', '/kubepods/podu1', '', '', 'web-edge1');
  const container = row('app', '/kubepods/podu1/c1', 'reg.test/app:1', 'c1', 'web-edge1');
  assert.deepEqual(lines(text, 'container_memory_working_set_bytes'), [
    `container_memory_working_set_bytes{${node}} ${GIB} ${TIME_MS}`,
    `container_memory_working_set_bytes{${pod}} 250 ${TIME_MS}`,
    `container_memory_working_set_bytes{${container}} 200 ${TIME_MS}`,
  ]);
  assert.deepEqual(lines(text, 'container_fs_usage_bytes').slice(-1), [
    `container_fs_usage_bytes{${container},device=""} 70 ${TIME_MS}`,
  ]);
  assert.deepEqual(lines(text, 'container_network_transmit_bytes_total'), [
    `container_network_transmit_bytes_total{${pod},interface="eth0"} 5 ${TIME_MS}`,
  ]);
  assert.ok(
    text.includes(`container_cpu_usage_seconds_total{${container},cpu="total"} 2.5 ${TIME_MS}\n`),
  );
  assert.ok(text.includes(`container_spec_memory_limit_bytes{${container}} 1000\n`));
  assert.ok(
    text.includes(`container_pressure_cpu_waiting_seconds_total{${container}} 1.5 ${TIME_MS}\n`),
  );
  assert.ok(text.includes(`machine_memory_bytes ${4 * GIB}\n`));
  assert.ok(text.includes('machine_cpu_cores 4\n'));
});

test('every sample belongs to a family that is declared once', () => {
  const cgroups = { limits: () => ({}), tasks: () => 1 };
  const text = cadvisorMetrics({ node: NODE, pods: [POD], cpus: 4, cgroups });
  const declared = [...text.matchAll(/^# TYPE (\S+) (counter|gauge)$/gm)].map((m) => m[1]);
  assert.equal(new Set(declared).size, declared.length);
  for (const [, name] of text.matchAll(/^(\w+)[{ ]/gm)) assert.ok(declared.includes(name), name);
});
