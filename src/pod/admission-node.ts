/**
 * Owns: this node as admission sees it, put together from the configuration and the running system.
 */
import os from 'node:os';
import type { Config } from '../config/model.ts';
import type { RuntimeFeatures } from '../runtime/features.ts';
import { systemAppArmor } from './admission-apparmor.ts';
import type { AdmissionNode } from './admission.ts';
import { nodeLabels } from './node-affinity.ts';

export function systemAdmissionNode(
  { nodeName, nodeLabels: given, kubelet, islet }: Config,
  features: Pick<RuntimeFeatures, 'supplementalGroupsPolicy'>,
  pressure: () => readonly string[],
): AdmissionNode {
  return {
    name: nodeName,
    labels: nodeLabels(nodeName, given),
    kernel: os.release(),
    maxPods: kubelet.maxPods,
    pressure,
    staticPodEviction: islet.staticPodEviction,
    allowedUnsafeSysctls: kubelet.allowedUnsafeSysctls,
    appArmor: systemAppArmor,
    supplementalGroupsPolicy: () => features.supplementalGroupsPolicy,
  };
}
