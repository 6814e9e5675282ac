/**
 * Owns: this node as admission sees it, put together from the configuration and the running system.
 */
import os from 'node:os';
import type { Config } from '../config/model.ts';
import type { RuntimeFeatures } from '../runtime/features.ts';
import type { NodeFacts } from '../runtime/node-facts.ts';
import { systemAppArmor } from './admission-apparmor.ts';
import type { AdmissionNode } from './admission.ts';
import { nodeLabels } from './node-affinity.ts';

export function systemAdmissionNode(
  { nodeName, nodeLabels: given, kubelet, islet }: Config,
  parts: {
    readonly facts: Pick<NodeFacts, 'allocatable'>;
    readonly features: Pick<RuntimeFeatures, 'supplementalGroupsPolicy'>;
    readonly pressure: () => readonly string[];
    readonly isShuttingDown: () => boolean;
  },
): AdmissionNode {
  return {
    name: nodeName,
    labels: nodeLabels(nodeName, given),
    kernel: os.release(),
    maxPods: parts.facts.allocatable.pods,
    allocatable: parts.facts.allocatable,
    pressure: parts.pressure,
    isShuttingDown: parts.isShuttingDown,
    staticPodEviction: islet.staticPodEviction,
    allowedUnsafeSysctls: kubelet.allowedUnsafeSysctls,
    appArmor: systemAppArmor,
    supplementalGroupsPolicy: () => parts.features.supplementalGroupsPolicy,
  };
}
