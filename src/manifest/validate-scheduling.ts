/**
 * Owns: validation of what a scheduler reads: tolerations, affinity, spreading, gates, claims. A static
 * pod is never scheduled, but what is wrong here is wrong in the manifest.
 */
import type { PodSpec, Toleration } from '../api/pod.ts';
import type { LabelSelector } from './validate-selector.ts';
import {
  validateNodeAffinity,
  validatePodAffinity,
  validateSelector,
} from './validate-selector.ts';
import type { Findings } from './validation.ts';
import {
  labelProblems,
  labelValueProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from './validation.ts';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const HONOR = ['Honor', 'Ignore'];

interface SpreadConstraint {
  maxSkew?: number;
  topologyKey?: string;
  whenUnsatisfiable?: string;
  minDomains?: number;
  nodeAffinityPolicy?: string;
  nodeTaintsPolicy?: string;
  labelSelector?: LabelSelector;
}

interface Claim {
  name?: string;
  resourceClaimName?: string;
  resourceClaimTemplateName?: string;
}

export function validateScheduling(findings: Findings, spec: PodSpec): void {
  for (const [index, toleration] of (spec.tolerations ?? []).entries()) {
    validateToleration(findings, `spec.tolerations[${index}]`, toleration);
  }
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const path = 'spec.affinity';
  validateNodeAffinity(findings, `${path}.nodeAffinity`, nodeAffinity);
  validatePodAffinity(findings, `${path}.podAffinity`, podAffinity);
  validatePodAffinity(findings, `${path}.podAntiAffinity`, podAntiAffinity);
  const constraints = (spec.topologySpreadConstraints ?? []) as SpreadConstraint[];
  for (const [index, constraint] of constraints.entries()) {
    validateSpread(findings, `spec.topologySpreadConstraints[${index}]`, constraint);
  }
  const preemption = spec.preemptionPolicy;
  findings.oneOf('spec.preemptionPolicy', preemption, ['PreemptLowerPriority', 'Never']);
  validateGates(findings, spec);
  validateClaims(findings, spec.resourceClaims ?? []);
  const group = spec.schedulingGroup?.podGroupName;
  if (typeof group === 'string') {
    findings.all('spec.schedulingGroup.podGroupName', group, subdomainProblems(group));
  }
}

function validateToleration(findings: Findings, path: string, toleration: Toleration): void {
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration;
  if (key !== '') findings.all(`${path}.key`, key, qualifiedNameProblems(key));
  if (key === '' && operator !== 'Exists') {
    const detail =
      'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    findings.invalid(`${path}.operator`, operator, detail);
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    findings.invalid(`${path}.effect`, effect, detail);
  }
  if (operator === '' || operator === 'Equal') {
    findings.all(`${path}.operator`, value, labelValueProblems(value));
  } else if (operator === 'Exists') {
    const detail = "value must be empty when `operator` is 'Exists'";
    if (value !== '') findings.invalid(`${path}.operator`, value, detail);
  } else {
    findings.unsupported(`${path}.operator`, operator, ['Equal', 'Exists']);
  }
  if (effect !== '') findings.oneOf(`${path}.effect`, effect, EFFECTS);
}

function validateSpread(findings: Findings, path: string, constraint: SpreadConstraint): void {
  const { maxSkew = 0, topologyKey = '', whenUnsatisfiable = '', minDomains } = constraint;
  if (maxSkew <= 0) findings.invalid(`${path}.maxSkew`, maxSkew, 'must be greater than zero');
  if (topologyKey === '') findings.required(`${path}.topologyKey`, 'can not be empty');
  const at = `${path}.whenUnsatisfiable`;
  findings.oneOf(at, whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
  if (minDomains !== undefined && minDomains <= 0) {
    findings.invalid(`${path}.minDomains`, minDomains, 'must be greater than zero');
  }
  if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') {
    const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
    findings.invalid(`${path}.minDomains`, minDomains, detail);
  }
  findings.oneOf(`${path}.nodeAffinityPolicy`, constraint.nodeAffinityPolicy, HONOR);
  findings.oneOf(`${path}.nodeTaintsPolicy`, constraint.nodeTaintsPolicy, HONOR);
  validateSelector(findings, `${path}.labelSelector`, constraint.labelSelector);
}

function validateGates(findings: Findings, spec: PodSpec): void {
  const gates = spec.schedulingGates ?? [];
  for (const [index, { name }] of gates.entries()) {
    findings.all(`spec.schedulingGates[${index}].name`, name, qualifiedNameProblems(name));
  }
  if (gates.length > 0) {
    // A static pod has a node from the start, so nothing will ever clear a gate.
    const detail = 'cannot be set until all schedulingGates have been cleared';
    findings.forbidden('spec.nodeName', detail);
  }
}

function validateClaims(findings: Findings, claims: Claim[]): void {
  const names = new Set<string>();
  for (const [index, claim] of claims.entries()) {
    const path = `spec.resourceClaims[${index}]`;
    const { name = '', resourceClaimName: own, resourceClaimTemplateName: template } = claim;
    if (name === '') findings.required(`${path}.name`);
    else if (names.has(name)) findings.duplicate(`${path}.name`, name);
    else findings.all(`${path}.name`, name, labelProblems(name));
    names.add(name);
    const choice = '`resourceClaimName` or `resourceClaimTemplateName`';
    if (own !== undefined && template !== undefined) {
      findings.invalid(path, name, `at most one of ${choice} may be specified`);
    }
    if (own === undefined && template === undefined) {
      findings.invalid(path, name, `must specify one of: ${choice}`);
    }
    for (const [field, value] of Object.entries({
      resourceClaimName: own,
      resourceClaimTemplateName: template,
    })) {
      if (value !== undefined) findings.all(`${path}.${field}`, value, subdomainProblems(value));
    }
  }
}
