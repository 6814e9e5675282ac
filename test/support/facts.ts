/**
 * Owns: a node for tests: cgroup v2, two CPUs, 8 GiB, no swap, nothing special.
 */
import type { NodeAmounts } from '../../src/runtime/node-amounts.ts';
import type { NodeFacts } from '../../src/runtime/node-facts.ts';

export const GIB = 2 ** 30;
export const MIB = 2 ** 20;

export function amountsOfNode(more: Partial<NodeAmounts> = {}): NodeAmounts {
  return {
    cpuMilli: 2000,
    memory: 8 * GIB,
    ephemeralStorage: 100 * GIB,
    pods: 110,
    pids: 32_768,
    hugepages: new Map([[2 * MIB, 0]]),
    ...more,
  };
}

export function factsOf(more: Partial<NodeFacts> = {}): NodeFacts {
  return {
    nodeName: 'edge1',
    nodeIps: ['10.0.0.2'],
    memoryCapacity: 8 * GIB,
    capacity: amountsOfNode(),
    allocatable: amountsOfNode(),
    podsLimit: amountsOfNode(),
    cgroupVersion: 2,
    hugepageSizes: [2 * MIB],
    swapController: false,
    swapCapacity: 0,
    limitedSwap: false,
    staticPodEviction: true,
    thermalThrottlePaths: [],
    selinuxEnabled: false,
    resolvConf: '/etc/resolv.conf',
    clusterDNS: [],
    clusterDomain: '',
    rootDir: '/var/lib/kubelet',
    podLogsDir: '/var/log/pods',
    seccompDefault: false,
    stopSignals: false,
    cpuCFSQuota: true,
    singleProcessOOMKill: false,
    podPidsLimit: -1,
    ...more,
  };
}
