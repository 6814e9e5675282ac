/**
 * Statistics of a real pod: what is served agrees with the kernel's own files and with the runtime.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import type { Pod } from '../../src/api/pod.ts';
import { NODE_NAME, cgroupsOf, makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { LOOP, manifest, running, shell, statusOf } from './manifest.ts';
import { Runtime, idOf } from './runtime.ts';

interface Numbers {
  readonly [name: string]: number;
}

interface Usage {
  readonly name: string;
  readonly cpu: Numbers;
  readonly memory: Numbers;
  readonly rootfs: Numbers;
  readonly logs: Numbers;
}

interface PodUsage {
  readonly podRef: { readonly name: string };
  readonly containers: readonly Usage[];
  readonly cpu: Numbers;
  readonly memory: Numbers;
  readonly network: { readonly name: string; readonly rxBytes: number };
  readonly volume: readonly ({ readonly name: string } & Numbers)[];
  readonly 'ephemeral-storage': Numbers;
  readonly process_stats: { readonly process_count: number };
}

interface Summary {
  readonly node: Record<string, Record<string, number>> & { readonly nodeName: string };
  readonly pods: readonly PodUsage[];
}

const MIB = 2 ** 20;
/** 24 MiB of memory that is nobody's file cache, 2 MiB of volume, 3 of writable layer, some log. */
const SCRIPT = `dd if=/dev/zero of=/vol/two bs=1M count=2 2>/dev/null
dd if=/dev/zero of=/three bs=1M count=3 2>/dev/null
dd if=/dev/zero of=/mem/held bs=1M count=24 2>/dev/null
i=0; while [ $i -lt 2000 ]; do echo "line $i of a log that takes some room"; i=$((i+1)); done
sync; touch /vol/done; ${LOOP}`;

let containerd: TestContainerd;
let agent: TestAgent;
let runtime: Runtime;
let pod: Pod;

before(async () => {
  containerd = await startContainerd();
  runtime = new Runtime(containerd);
  agent = await makeAgent({ socket: containerd.socket, kubelet: { volumeStatsAggPeriod: '1s' } });
  const volumeMounts = [
    { name: 'vol', mountPath: '/vol' },
    { name: 'mem', mountPath: '/mem' },
  ];
  const resources = { limits: { memory: '96Mi', cpu: '500m' } };
  const container = shell(SCRIPT, { volumeMounts, resources });
  const volumes = [
    { name: 'vol', emptyDir: {} },
    { name: 'mem', emptyDir: { medium: 'Memory' } },
  ];
  agent.apply('used.yaml', manifest('used', container, { volumes }));
  await agent.start();
  pod = await running(agent, 'used');
  const vol = path.join(
    agent.root,
    'pods',
    pod.metadata.uid,
    'volumes/kubernetes.io~empty-dir/vol',
  );
  await until('the pod has taken what it takes', () => fs.existsSync(path.join(vol, 'done')));
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  await containerd?.stop();
});

async function summary(query = ''): Promise<Summary> {
  return JSON.parse(await agent.get(`/stats/summary${query}`)) as Summary;
}

async function podUsage(): Promise<PodUsage> {
  const { pods } = await summary();
  const found = pods.find(({ podRef }) => podRef.name === `used-${NODE_NAME}`);
  assert.ok(found, 'the pod is in the summary');
  return found;
}

/** A number of the kernel about the pod's or, with an id, the container's cgroup. */
function kernel(controller: string, file: string, id = ''): string {
  const v2 = fs.existsSync('/sys/fs/cgroup/cgroup.controllers');
  const top = v2 ? '/sys/fs/cgroup/' : `/sys/fs/cgroup/${controller}/`;
  const found = cgroupsOf(pod.metadata.uid).find((directory) => directory.startsWith(top));
  assert.ok(found, `a cgroup of the pod below ${top}`);
  return fs.readFileSync(path.join(found, id, file), 'utf8');
}

function memoryNow(id = ''): { usage: number; workingSet: number } {
  if (fs.existsSync('/sys/fs/cgroup/cgroup.controllers')) {
    const inactive = /^inactive_file (\d+)$/m.exec(kernel('', 'memory.stat', id))?.[1];
    const usage = Number(kernel('', 'memory.current', id));
    return { usage, workingSet: usage - Number(inactive) };
  }
  const inactive = /^total_inactive_file (\d+)$/m.exec(kernel('memory', 'memory.stat', id))?.[1];
  const usage = Number(kernel('memory', 'memory.usage_in_bytes', id));
  return { usage, workingSet: usage - Number(inactive) };
}

function cpuNow(id = ''): number {
  if (fs.existsSync('/sys/fs/cgroup/cgroup.controllers'))
    return Number(/^usage_usec (\d+)$/m.exec(kernel('', 'cpu.stat', id))?.[1]) * 1000;
  return Number(kernel('cpuacct', 'cpuacct.usage', id));
}

function close(shown: number | undefined, truth: number, what: string): void {
  assert.ok(shown !== undefined, `${what} is told`);
  const off = Math.abs(shown - truth) / truth;
  assert.ok(off <= 0.05, `${what}: ${shown} is told, ${truth} is true`);
}

test('CPU and memory of the pod and its container are what the kernel says', async () => {
  const { memory, cpu, containers } = await podUsage();
  const id = idOf(statusOf(pod).containerID);
  const [container] = containers;
  assert.deepEqual(
    containers.map(({ name }) => name),
    ['main'],
  );
  close(memory.usageBytes, memoryNow().usage, 'memory of the pod');
  close(memory.workingSetBytes, memoryNow().workingSet, 'working set of the pod');
  close(cpu.usageCoreNanoSeconds, cpuNow(), 'CPU of the pod');
  close(container?.memory.usageBytes, memoryNow(id).usage, 'memory');
  close(container?.memory.workingSetBytes, memoryNow(id).workingSet, 'working set');
  close(container?.cpu.usageCoreNanoSeconds, cpuNow(id), 'CPU');
  assert.ok((container?.memory.workingSetBytes ?? 0) > 24 * MIB, 'what it holds is in it');
  close(
    container?.memory.availableBytes,
    96 * MIB - memoryNow(id).workingSet,
    'memory that is left below the limit',
  );
  assert.ok((cpu.usageNanoCores ?? -1) >= 0, 'a rate is told with the first answer');
});

test('they agree with what the runtime says', async () => {
  const id = idOf(statusOf(pod).containerID);
  // containerd looks at writable layers every ten seconds.
  const told = await until('the runtime knows of the files', async () => {
    const stats = await runtime.stats(id);
    return (stats.writableLayer?.usedBytes ?? 0) >= 3 * MIB && stats;
  });
  const [container] = (await podUsage()).containers;
  close(container?.memory.workingSetBytes, told.memory?.workingSetBytes ?? 0, 'working set');
  close(container?.cpu.usageCoreNanoSeconds, told.cpu?.usageCoreNanoSeconds ?? 0, 'CPU');
  assert.equal(container?.rootfs.usedBytes, told.writableLayer?.usedBytes);
  assert.equal(container?.rootfs.inodesUsed, told.writableLayer?.inodesUsed);
});

test('disks: logs, volumes and their sum', async () => {
  const usage = await podUsage();
  const [container] = usage.containers;
  const logs = container?.logs.usedBytes ?? 0;
  const file = path.join(agent.podLogs, `default_used-${NODE_NAME}_${pod.metadata.uid}/main/0.log`);
  const { blocks } = fs.statSync(file);
  assert.ok(logs >= blocks * 512 && logs <= blocks * 512 + 16_384, `${logs} of ${blocks} blocks`);
  const volumes = new Map(usage.volume.map((volume) => [volume.name, volume]));
  close(volumes.get('vol')?.usedBytes, 2 * MIB, 'volume on the disk');
  assert.equal(volumes.get('vol')?.inodesUsed, 3, 'the directory and two files');
  close(volumes.get('mem')?.usedBytes, 24 * MIB, 'volume in memory');
  const sum = (container?.rootfs.usedBytes ?? 0) + logs + (volumes.get('vol')?.usedBytes ?? 0);
  close(usage['ephemeral-storage'].usedBytes, sum, 'the sum');
  assert.equal(usage.network.name, 'eth0');
  assert.ok(usage.process_stats.process_count >= 2, 'the shell and the sandbox at least');
});

test('the node: memory, file systems, process ids', async () => {
  const { node } = await summary();
  assert.equal(node.nodeName, NODE_NAME);
  const statfs = fs.statfsSync(agent.root);
  assert.equal(node['fs']?.['capacityBytes'], statfs.blocks * statfs.bsize);
  close(node['fs']?.['availableBytes'], statfs.bavail * statfs.bsize, 'room for pods');
  const meminfo = fs.readFileSync('/proc/meminfo', 'utf8');
  const total = Number(/^MemTotal:\s+(\d+)/m.exec(meminfo)?.[1]) * 1024;
  const { availableBytes, workingSetBytes } = node['memory'] ?? {};
  assert.equal((availableBytes ?? 0) + (workingSetBytes ?? 0), total);
  const rlimit = node['rlimit'] ?? {};
  const max = Number(fs.readFileSync('/proc/sys/kernel/pid_max', 'utf8'));
  const threads = Number(fs.readFileSync('/proc/sys/kernel/threads-max', 'utf8'));
  assert.equal(rlimit['maxpid'], Math.min(max, threads));
  assert.ok((rlimit['curproc'] ?? 0) > 10);
});

test('only_cpu_and_memory leaves the rest out', async () => {
  const { node, pods } = await summary('?only_cpu_and_memory=true');
  assert.deepEqual(
    Object.keys(node).sort(),
    ['cpu', 'memory', 'nodeName', 'startTime', 'swap', 'systemContainers'].sort(),
  );
  assert.deepEqual(
    Object.keys(pods[0] ?? {}).filter((key) => key !== 'swap'),
    ['podRef', 'startTime', 'containers', 'cpu', 'memory'],
  );
});

test('metrics name the pod and agree with the kernel', async () => {
  const labels = `container="main",namespace="default",pod="used-${NODE_NAME}"`;
  const resource = await agent.get('/metrics/resource');
  const sample = new RegExp(
    `^container_memory_working_set_bytes\\{${labels}\\} (\\S+) \\d{13}$`,
    'm',
  );
  const id = idOf(statusOf(pod).containerID);
  close(Number(sample.exec(resource)?.[1]), memoryNow(id).workingSet, 'working set');
  assert.match(resource, /^resource_scrape_error 0$/m);
  const cadvisor = await agent.get('/metrics/cadvisor');
  const image = 'docker.io/library/busybox:latest';
  const row = `container="main",id="/kubepods/[^"]*${id}",image="${image}",name="${id}",namespace="default",pod="used-${NODE_NAME}"`;
  assert.match(
    cadvisor,
    new RegExp(`^container_spec_memory_limit_bytes\\{${row}\\} ${96 * MIB}$`, 'm'),
  );
  assert.match(
    cadvisor,
    new RegExp(`^container_cpu_usage_seconds_total\\{${row},cpu="total"\\}`, 'm'),
  );
  assert.match(
    cadvisor,
    new RegExp(`^container_network_receive_bytes_total\\{[^}]*interface="eth0"\\}`, 'm'),
  );
});

test('islet top shows kubectl columns', async () => {
  const pods = await agent.cli('top', 'pods');
  assert.equal(pods.code, 0, pods.stderr);
  assert.match(pods.stdout, /^NAME +CPU\(cores\) +MEMORY\(bytes\)\nused-e2e1 +\d+m +\d+Mi\n$/);
  const memory = Number(/(\d+)Mi/.exec(pods.stdout)?.[1]);
  assert.ok(memory >= 24 && memory <= 96, pods.stdout);
  const { stdout } = await agent.cli('top', 'pods', '--containers');
  assert.match(
    stdout,
    /^POD +NAME +CPU\(cores\) +MEMORY\(bytes\)\nused-e2e1 +main +\d+m +\d+Mi\n$/,
  );
  const node = await agent.cli('top', 'node');
  assert.match(
    node.stdout,
    /^NAME +CPU\(cores\) +CPU\(%\) +MEMORY\(bytes\) +MEMORY\(%\)\ne2e1 +\d+m +\d+% +\d+Mi +\d+%\n$/,
  );
});
