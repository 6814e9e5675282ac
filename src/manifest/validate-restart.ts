/**
 * Owns: validation of a container's own restart policy and of its rules.
 */
import type { Container } from '../api/pod.ts';
import type { Findings } from './validation.ts';

const POLICIES = ['Always', 'Never', 'OnFailure'];
const ACTIONS = ['Restart', 'RestartAllContainers'];
const OPERATORS = ['In', 'NotIn'];
const MOST_RULES = 20;
const MOST_EXIT_CODES = 255;

export function validateRestartRules(
  findings: Findings,
  container: string,
  { restartPolicy, restartPolicyRules = [] }: Container,
): void {
  findings.oneOf(`${container}.restartPolicy`, restartPolicy, POLICIES);
  if (restartPolicyRules.length === 0) return;
  if (restartPolicy === undefined) {
    const detail = 'must specify restartPolicy when restart rules are used';
    findings.required(`${container}.restartPolicy`, detail);
  }
  const path = `${container}.restartPolicyRules`;
  if (restartPolicyRules.length > MOST_RULES) {
    findings.tooMany(path, restartPolicyRules.length, MOST_RULES);
  }
  for (const [index, { action, exitCodes }] of restartPolicyRules.entries()) {
    const at = `${path}[${index}]`;
    findings.oneOf(`${at}.action`, action, ACTIONS);
    if (!exitCodes) {
      findings.required(`${at}.exitCodes`, 'must be specified');
      continue;
    }
    findings.oneOf(`${at}.exitCodes.operator`, exitCodes.operator, OPERATORS);
    const count = exitCodes.values?.length ?? 0;
    if (count > MOST_EXIT_CODES) {
      findings.tooMany(`${at}.exitCodes.values`, count, MOST_EXIT_CODES);
    }
  }
}
