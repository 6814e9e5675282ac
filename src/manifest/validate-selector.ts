/**
 * Owns: validation of selectors and affinity terms, which src/api keeps as plain records.
 */
import { validateLabels } from './validate-meta.ts';
import type { Findings } from './validation.ts';
import { labelProblems, labelValueProblems, qualifiedNameProblems } from './validation.ts';

interface Requirement {
  key?: string;
  operator?: string;
  values?: string[];
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: Requirement[];
}

interface NodeTerm {
  matchExpressions?: Requirement[];
  matchFields?: Requirement[];
}

export type NodeAffinity =
  | {
      requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms?: NodeTerm[] };
      preferredDuringSchedulingIgnoredDuringExecution?: {
        weight?: number;
        preference?: NodeTerm;
      }[];
    }
  | undefined;

interface PodTerm {
  labelSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  namespaces?: string[];
  topologyKey?: string;
}

export type PodAffinity =
  | {
      requiredDuringSchedulingIgnoredDuringExecution?: PodTerm[];
      preferredDuringSchedulingIgnoredDuringExecution?: {
        weight?: number;
        podAffinityTerm?: PodTerm;
      }[];
    }
  | undefined;

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

export function validateSelector(
  findings: Findings,
  path: string,
  selector: LabelSelector | undefined,
): void {
  if (!selector) return;
  validateLabels(findings, `${path}.matchLabels`, selector.matchLabels);
  for (const [index, { key = '', operator = '', values = [] }] of (
    selector.matchExpressions ?? []
  ).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    if (operator === 'In' || operator === 'NotIn') {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      if (values.length === 0) findings.required(`${at}.values`, detail);
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      if (values.length > 0) findings.forbidden(`${at}.values`, detail);
    } else {
      findings.invalid(`${at}.operator`, operator, 'not a valid selector operator');
    }
    findings.all(`${at}.key`, key, qualifiedNameProblems(key));
    for (const [which, value] of values.entries()) {
      findings.all(`${at}.values[${which}]`, value, labelValueProblems(value));
    }
  }
}

export function validateNodeAffinity(
  findings: Findings,
  path: string,
  affinity: NodeAffinity,
): void {
  const required = affinity?.[REQUIRED];
  if (required) {
    const at = `${path}.${REQUIRED}.nodeSelectorTerms`;
    const terms = required.nodeSelectorTerms ?? [];
    if (terms.length === 0) findings.required(at, 'must have at least one node selector term');
    for (const [index, term] of terms.entries())
      validateNodeTerm(findings, `${at}[${index}]`, term);
  }
  for (const [index, { weight, preference = {} }] of (affinity?.[PREFERRED] ?? []).entries()) {
    const at = `${path}.${PREFERRED}[${index}]`;
    validateWeight(findings, `${at}.weight`, weight);
    validateNodeTerm(findings, `${at}.preference`, preference);
  }
}

function validateNodeTerm(findings: Findings, path: string, term: NodeTerm): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    const { key = '', operator = '', values = [] } = requirement;
    validateNodeOperator(findings, at, operator, values);
    findings.all(`${at}.key`, key, qualifiedNameProblems(key));
  }
  for (const [index, requirement] of (term.matchFields ?? []).entries()) {
    const at = `${path}.matchFields[${index}]`;
    const { key = '', operator = '', values = [] } = requirement;
    if (operator !== 'In' && operator !== 'NotIn') {
      findings.invalid(`${at}.operator`, operator, 'not a valid selector operator');
    } else if (values.length !== 1) {
      const detail =
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
      findings.required(`${at}.values`, detail);
    }
    if (key !== 'metadata.name') {
      findings.invalid(`${at}.key`, key, 'not a valid field selector key');
    }
  }
}

function validateNodeOperator(
  findings: Findings,
  path: string,
  operator: string,
  values: string[],
): void {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) {
        findings.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      }
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        findings.forbidden(`${path}.values`, detail);
      }
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) {
        const detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
        findings.required(`${path}.values`, detail);
      }
      break;
    default:
      findings.invalid(`${path}.operator`, operator, 'not a valid selector operator');
  }
}

function validateWeight(findings: Findings, path: string, weight = 0): void {
  if (weight <= 0 || weight > 100) findings.invalid(path, weight, 'must be in the range 1-100');
}

export function validatePodAffinity(findings: Findings, path: string, affinity: PodAffinity): void {
  for (const [index, term] of (affinity?.[REQUIRED] ?? []).entries()) {
    validatePodTerm(findings, `${path}.${REQUIRED}[${index}]`, term);
  }
  for (const [index, { weight, podAffinityTerm = {} }] of (affinity?.[PREFERRED] ?? []).entries()) {
    const at = `${path}.${PREFERRED}[${index}]`;
    validateWeight(findings, `${at}.weight`, weight);
    validatePodTerm(findings, `${at}.podAffinityTerm`, podAffinityTerm);
  }
}

function validatePodTerm(findings: Findings, path: string, term: PodTerm): void {
  validateSelector(findings, `${path}.labelSelector`, term.labelSelector);
  validateSelector(findings, `${path}.namespaceSelector`, term.namespaceSelector);
  for (const [index, namespace] of (term.namespaces ?? []).entries()) {
    findings.all(`${path}.namespaces[${index}]`, namespace, labelProblems(namespace));
  }
  const { topologyKey = '' } = term;
  if (topologyKey === '') findings.required(`${path}.topologyKey`, 'can not be empty');
  else findings.all(`${path}.topologyKey`, topologyKey, qualifiedNameProblems(topologyKey));
}
