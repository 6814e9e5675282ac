import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { evictionSettings } from '../../../src/config/eviction.ts';
import type { Config, KubeletSettings } from '../../../src/config/model.ts';
import { cgroupVersion } from '../../../src/runtime/cgroup-version.ts';
import type { NodeRoots } from '../../../src/runtime/node-facts.ts';
import { readNodeFacts, systemRoots } from '../../../src/runtime/node-facts.ts';
import type { NodeInterfaces } from '../../../src/runtime/node-ip.ts';
import { detectNodeIps } from '../../../src/runtime/node-ip.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { GIB, MIB } from '../../support/facts.ts';

const base = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-facts-'));
after(() => fs.rmSync(base, { recursive: true }));
let trees = 0;

/** A recorded node: file names below proc/ and sys/ with their text. */
function rootsOf(files: Record<string, string>, interfaces: NodeInterfaces = {}): NodeRoots {
  const dir = path.join(base, String((trees += 1)));
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(dir, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
  const at = (name: string) => path.join(dir, name);
  return { proc: at('proc'), sys: at('sys'), cgroup: at('cg'), interfaces: () => interfaces };
}

function configOf(kubelet: Partial<KubeletSettings> = {}, nodeIps: string[] = []): Config {
  const settings = {
    maxPods: 110,
    podPidsLimit: -1,
    podLogsDir: '/var/log/pods',
    cpuCFSQuota: true,
    singleProcessOOMKill: undefined,
    clusterDNS: [],
    clusterDomain: '',
    resolvConf: '/etc/resolv.conf',
    seccompDefault: false,
    featureGates: {},
    systemReserved: {},
    kubeReserved: {},
    localStorageCapacityIsolation: false,
    eviction: evictionSettings({}, true),
    rest: {},
    ...kubelet,
  };
  const config: Partial<Config> = {
    nodeName: 'edge1',
    rootDir: path.join(base, 'not', 'yet', 'there'),
    nodeIps,
    kubelet: settings as KubeletSettings,
    islet: { staticPodEviction: true } as Config['islet'],
  };
  return config as Config;
}

const ROUTES =
  'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n' +
  'wlan0\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n' +
  'eth1\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n' +
  'down0\t00000000\t010200C0\t0002\t0\t0\t0\t00000000\t0\t0\t0\n' +
  'eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n';

const address = (text: string, internal = false) => ({
  address: text,
  family: text.includes(':') ? 'IPv6' : 'IPv4',
  internal,
});
const lo = [address('127.0.0.1', true), address('::1', true)];

test('the node’s address is that of the default route with the lowest metric', () => {
  const interfaces = {
    lo,
    eth0: [address('192.0.2.9')],
    eth1: [address('fe80::1'), address('192.0.2.2'), address('192.0.2.3'), address('fd00::2')],
    wlan0: [address('192.0.2.7')],
  };
  const roots = rootsOf({ 'proc/net/route': ROUTES }, interfaces);
  assert.deepEqual(detectNodeIps(roots), ['192.0.2.2', 'fd00::2']);
});

test('without a default route it is the first global one of an interface that is not for pods', () => {
  const interfaces = {
    lo,
    cni0: [address('10.88.0.1')],
    mybridge: [address('10.99.0.1')],
    veth12: [address('10.88.0.9')],
    eth0: [address('169.254.3.4')],
    eth1: [address('10.0.0.2')],
  };
  const roots = rootsOf({ 'sys/class/net/mybridge/bridge/stp_state': '0' }, interfaces);
  assert.deepEqual(detectNodeIps(roots), ['10.0.0.2']);
});

test('a node without a network still has an address', () => {
  assert.deepEqual(detectNodeIps(rootsOf({}, { lo })), ['127.0.0.1']);
});

const V1 = {
  'proc/meminfo': 'MemTotal:       8388608 kB\nMemFree: 1 kB\n',
  'proc/sys/kernel/pid_max': '4194304\n',
  'proc/sys/kernel/threads-max': '32000\n',
  'sys/devices/system/cpu/online': '0-2,5\n',
  'sys/devices/system/cpu/cpu10/thermal_throttle/count': '0',
  'sys/devices/system/cpu/cpu2/thermal_throttle/count': '0',
  'sys/devices/system/cpu/cpu0/topology/id': '0',
  'sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '0\n',
  'sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '8\n',
  'cg/memory/memory.memsw.limit_in_bytes': '0',
  'cg/unified/cgroup.controllers': '',
};

test('a cgroup v1 node', () => {
  const facts = readNodeFacts(configOf(), rootsOf(V1, { lo }));
  assert.equal(facts.cgroupVersion, 1);
  assert.equal(facts.swapController, true);
  assert.equal(facts.singleProcessOOMKill, true);
  assert.equal(facts.memoryCapacity, 8 * GIB);
  assert.equal(facts.capacity.cpuMilli, 4000);
  assert.equal(facts.capacity.pids, 32_000);
  assert.deepEqual(facts.hugepageSizes, [2 * MIB, GIB]);
  assert.equal(facts.capacity.hugepages.get(2 * MIB), 16 * MIB);
  assert.deepEqual(facts.thermalThrottlePaths, [
    '/sys/devices/system/cpu/cpu2/thermal_throttle',
    '/sys/devices/system/cpu/cpu10/thermal_throttle',
  ]);
  assert.equal(facts.selinuxEnabled, false);
});

test('a cgroup v2 node', () => {
  const files = {
    'cg/cgroup.controllers': 'cpu memory pids\n',
    'cg/system.slice/islet.service/memory.swap.max': 'max\n',
    'proc/self/cgroup': '0::/system.slice/islet.service\n',
    'sys/fs/selinux/enforce': '1',
  };
  const facts = readNodeFacts(
    configOf({ singleProcessOOMKill: undefined }),
    rootsOf(files, { lo }),
  );
  assert.equal(facts.cgroupVersion, 2);
  assert.equal(facts.swapController, true);
  assert.equal(facts.singleProcessOOMKill, false);
  assert.equal(facts.selinuxEnabled, true);
  const chosen = readNodeFacts(
    configOf({ singleProcessOOMKill: true }, ['10.0.0.9']),
    rootsOf(files),
  );
  assert.equal(chosen.singleProcessOOMKill, true);
  assert.deepEqual(chosen.nodeIps, ['10.0.0.9']);
});

test('reservations and eviction thresholds come off what pods are told and given', () => {
  const facts = readNodeFacts(
    configOf({
      systemReserved: { cpu: '500m', memory: '1Gi', pid: '1000' },
      kubeReserved: { memory: '1Gi' },
      eviction: evictionSettings({ evictionHard: { 'memory.available': '10%' } }, true),
    }),
    rootsOf(V1, { lo }),
  );
  assert.equal(facts.podsLimit.cpuMilli, 3500);
  assert.equal(facts.podsLimit.memory, 6 * GIB);
  assert.equal(facts.podsLimit.pids, 31_000);
  assert.equal(
    facts.allocatable.memory,
    6 * GIB - Math.floor(8 * GIB * Math.fround(0.1)) - 16 * MIB,
  );
});

test('the thresholds of an empty configuration count', () => {
  const facts = readNodeFacts(
    configOf({ localStorageCapacityIsolation: true }),
    rootsOf(V1, { lo }),
  );
  assert.equal(facts.allocatable.memory, 8 * GIB - 100 * MIB - 16 * MIB);
  const disk = facts.capacity.ephemeralStorage;
  assert.ok(disk > 0, 'the disk that the data will be on is measured');
  assert.equal(facts.allocatable.ephemeralStorage, disk - Math.floor(disk * Math.fround(0.1)));
});

test('a reservation that the node cannot keep is refused', () => {
  assert.throws(
    () => readNodeFacts(configOf({ kubeReserved: { memory: '9Gi' } }), rootsOf(V1, { lo })),
    (error) => error instanceof IsletError && error.code === 'invalid',
  );
});

test('this machine has facts too', () => {
  const facts = readNodeFacts(configOf(), systemRoots);
  assert.ok(facts.capacity.memory > 64 * MIB);
  assert.ok(facts.capacity.cpuMilli >= 1000);
  assert.equal(facts.nodeIps.length > 0, true);
  assert.equal(facts.cgroupVersion, fs.existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1);
  assert.equal(cgroupVersion(path.join(base, 'nowhere')), 1);
});
