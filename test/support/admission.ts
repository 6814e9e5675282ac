/**
 * Owns: a node for tests of admission: takes 110 pods, has no AppArmor, a kernel of today.
 */
import type { AdmissionNode } from '../../src/pod/admission.ts';
import { nodeLabels } from '../../src/pod/node-affinity.ts';

export function admissionNodeOf(more: Partial<AdmissionNode> = {}): AdmissionNode {
  return {
    name: 'edge1',
    labels: nodeLabels('edge1', {}, 'x64'),
    kernel: '6.1.0-13-amd64',
    maxPods: 110,
    pressure: () => [],
    staticPodEviction: true,
    allowedUnsafeSysctls: [],
    appArmor: { isEnabled: () => false, loaded: () => undefined },
    supplementalGroupsPolicy: () => false,
    ...more,
  };
}
