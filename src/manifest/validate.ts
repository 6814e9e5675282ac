/**
 * Owns: the whole validation of a defaulted pod with its identity (spec static-pods §3.3): the order of
 * the parts, and what needs several of them. Everything that is wrong is collected.
 * Leaves to others: admission (sysctl allow-list, resources of the node), API references.
 */
import type { Pod } from '../api/pod.ts';
import { validateContainers } from './validate-container-list.ts';
import { validateMetadata } from './validate-meta.ts';
import { validatePodResources } from './validate-pod-resources.ts';
import { validateScheduling } from './validate-scheduling.ts';
import { validatePodSecurity } from './validate-security.ts';
import { validateSpec } from './validate-spec.ts';
import { validateVolumes } from './validate-volume.ts';
import type { Invalid } from './validation.ts';
import { Findings } from './validation.ts';

export function validatePod(pod: Pod): Invalid[] {
  const findings = new Findings();
  validateMetadata(findings, pod);
  validateVolumes(findings, pod);
  validateContainers(findings, pod);
  validatePodResources(findings, pod.spec);
  validateSpec(findings, pod);
  validatePodSecurity(findings, pod);
  validateScheduling(findings, pod.spec);
  return findings.list;
}
