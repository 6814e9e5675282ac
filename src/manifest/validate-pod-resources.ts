/**
 * Owns: validation of pod-level resources and overhead, alone and against the containers.
 */
import type { PodSpec } from '../api/pod.ts';
import { amountsOf, isPodLevelResource, podLimits, podRequests } from '../api/qos.ts';
import { compareQuantities, formatQuantity } from '../api/quantity.ts';
import { checkAmounts, checkResourceName, validateResources } from './validate-resources.ts';
import type { Findings } from './validation.ts';

export function validatePodResources(findings: Findings, spec: PodSpec): void {
  if (spec.overhead) checkAmounts(findings, 'spec.overhead', spec.overhead);
  const { resources } = spec;
  if (!resources) return;
  if ((resources.claims ?? []).length > 0) {
    const detail = 'claims may not be set for Resources at pod-level';
    findings.forbidden('spec.resources.claims', detail);
  }
  validateResources(findings, 'spec.resources', resources, spec, checkPodResource);
  checkSums(findings, spec);
  checkContainerLimits(findings, spec);
}

function checkPodResource(findings: Findings, path: string, name: string): void {
  const before = findings.list.length;
  checkResourceName(findings, path, name);
  if (findings.list.length === before && !isPodLevelResource(name)) {
    findings.invalid(path, name, 'must be cpu, memory or hugepages-* at pod-level');
  }
}

/** What the containers ask for has to fit into what the pod asks for. */
function checkSums(findings: Findings, spec: PodSpec): void {
  const options = { withoutOverhead: true, withoutPodLevel: true };
  const requests = amountsOf(spec.resources?.requests);
  for (const [name, sum] of podRequests({ spec }, options)) {
    const own = requests.get(name);
    if (!own || compareQuantities(sum, own) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container requests of ${formatQuantity(sum)}`;
    findings.invalid(`spec.resources.requests[${name}]`, formatQuantity(own), detail);
  }
  const limits = amountsOf(spec.resources?.limits);
  for (const [name, sum] of podLimits({ spec }, options)) {
    const own = limits.get(name);
    if (!name.startsWith('hugepages-') || !own || compareQuantities(sum, own) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container limits of ${formatQuantity(sum)}`;
    findings.invalid(`spec.resources.limits[${name}]`, formatQuantity(own), detail);
  }
}

function checkContainerLimits(findings: Findings, spec: PodSpec): void {
  const limits = amountsOf(spec.resources?.limits);
  for (const [index, { resources }] of spec.containers.entries()) {
    for (const [name, amount] of amountsOf(resources.limits)) {
      const own = limits.get(name);
      if (!own || compareQuantities(amount, own) <= 0) continue;
      const path = `spec.containers[${index}].resources.limits[${name}]`;
      const detail = `must be less than or equal to pod limits of ${formatQuantity(own)}`;
      findings.invalid(path, formatQuantity(amount), detail);
    }
  }
}
