/**
 * Owns: a node for tests of admission: takes 110 pods, 8 CPUs, 32 GiB of memory, has no AppArmor, a kernel of today.
 */
import type { AdmissionNode } from '../../src/pod/admission.ts';
import { nodeLabels } from '../../src/pod/node-affinity.ts';

export function admissionNodeOf(more: Partial<AdmissionNode> = {}): AdmissionNode {
  return {
    name: 'edge1',
    labels: nodeLabels('edge1', {}, 'x64'),
    kernel: '6.1.0-13-amd64',
    maxPods: 110,
    allocatable: {
      cpuMilli: 8000,
      memory: 32 * 2 ** 30,
      ephemeralStorage: 100 * 2 ** 30,
      hugepages: new Map(),
    },
    pressure: () => [],
    staticPodEviction: true,
    allowedUnsafeSysctls: [],
    appArmor: { isEnabled: () => false, loaded: () => undefined },
    supplementalGroupsPolicy: () => false,
    isShuttingDown: () => false,
    ...more,
  };
}
