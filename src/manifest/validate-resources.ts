/**
 * Owns: validation of requests, limits and claims of a container, and of resource names and amounts
 * wherever they stand. Leaves to others: pod-level resources (validate-pod-resources.ts).
 */
import type { Container, PodSpec, Quantity, ResourceRequirements } from '../api/pod.ts';
import { compareQuantities, formatQuantity, parseQuantity } from '../api/quantity.ts';
import type { ParsedQuantity } from '../api/quantity.ts';
import type { Findings } from './validation.ts';
import { labelProblems, qualifiedNameProblems } from './validation.ts';

const HUGE = 'hugepages-';
const NANO = 1_000_000_000n;
const CONTAINER_RESOURCES = ['cpu', 'memory', 'ephemeral-storage'];
/** Names that are known somewhere in the API, though not on containers. */
const OTHER_RESOURCES = [
  ...['storage', 'pods', 'services', 'replicationcontrollers', 'resourcequotas', 'secrets'],
  ...['configmaps', 'persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'],
  ...['limits', 'requests'].flatMap((kind) => CONTAINER_RESOURCES.map((name) => `${kind}.${name}`)),
];

type NameCheck = (findings: Findings, path: string, name: string) => void;

/** `path` is that of the resources. */
export function validateResources(
  findings: Findings,
  path: string,
  resources: ResourceRequirements,
  spec: PodSpec,
  checkName: NameCheck = checkContainerResource,
): void {
  const { limits = {}, requests = {} } = resources;
  checkAmounts(findings, `${path}.limits`, limits, checkName);
  checkAmounts(findings, `${path}.requests`, requests, checkName);
  for (const [name, text] of Object.entries(requests)) {
    checkAgainstLimit(findings, path, name, text, limits[name]);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  const compute = names.includes('cpu') || names.includes('memory');
  if (names.some((name) => name.startsWith(HUGE)) && !compute) {
    findings.forbidden(path, 'HugePages require cpu or memory');
  }
  validateClaims(findings, `${path}.claims`, resources, spec);
}

export function checkAmounts(
  findings: Findings,
  path: string,
  list: Record<string, Quantity>,
  checkName: NameCheck = checkContainerResource,
): void {
  for (const [name, text] of Object.entries(list)) {
    const at = `${path}[${name}]`;
    checkName(findings, at, name);
    const amount = parseQuantity(text);
    if (amount) checkAmount(findings, at, name, amount);
  }
}

function checkAmount(findings: Findings, path: string, name: string, amount: ParsedQuantity): void {
  const text = formatQuantity(amount);
  if (amount.nano < 0n) findings.invalid(path, text, 'must be greater than or equal to 0');
  if (isExtended(name) && amount.nano % NANO !== 0n) {
    findings.invalid(path, text, 'must be an integer');
  }
  if (!name.startsWith(HUGE)) return;
  const size = parseQuantity(name.slice(HUGE.length));
  if (!size || size.nano <= 0n || amount.nano % size.nano !== 0n) {
    findings.invalid(path, text, `${text} is not positive integer multiple of ${name}`);
  }
}

function checkAgainstLimit(
  findings: Findings,
  path: string,
  name: string,
  text: Quantity,
  limitText: Quantity | undefined,
): void {
  const amount = parseQuantity(text);
  const limit = limitText === undefined ? undefined : parseQuantity(limitText);
  if (!amount) return;
  const exact = !mayOvercommit(name);
  const at = `${path}.requests[${name}]`;
  if (limit === undefined) {
    const detail = 'Limit must be set for non overcommitable resources';
    if (exact) findings.required(`${path}.limits[${name}]`, detail);
    return;
  }
  const order = compareQuantities(amount, limit);
  const of = `${name} limit of ${formatQuantity(limit)}`;
  if (exact && order !== 0) findings.invalid(at, formatQuantity(amount), `must be equal to ${of}`);
  else if (order > 0) {
    findings.invalid(at, formatQuantity(amount), `must be less than or equal to ${of}`);
  }
}

export function checkContainerResource(findings: Findings, path: string, name: string): void {
  if (!checkResourceName(findings, path, name)) return;
  if (!name.includes('/')) {
    if (!CONTAINER_RESOURCES.includes(name) && !name.startsWith(HUGE)) {
      findings.invalid(path, name, 'must be a standard resource for containers');
    }
  } else if (!isNative(name) && !isExtended(name)) {
    findings.invalid(path, name, "doesn't follow extended resource name standard");
  }
}

/** False when the name is not even a name; then nothing else is said about it. */
export function checkResourceName(findings: Findings, path: string, name: string): boolean {
  const problems = qualifiedNameProblems(name);
  findings.all(path, name, problems);
  if (problems.length > 0) return false;
  const known =
    [...CONTAINER_RESOURCES, ...OTHER_RESOURCES].includes(name) || name.startsWith(HUGE);
  if (!name.includes('/') && !known) {
    findings.invalid(path, name, 'must be a standard resource type or fully qualified');
  }
  return true;
}

function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

function isExtended(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.');
}

function mayOvercommit(name: string): boolean {
  return isNative(name) && !name.startsWith(HUGE);
}

function validateClaims(
  findings: Findings,
  path: string,
  { claims = [] }: ResourceRequirements,
  spec: PodSpec,
): void {
  const seen = new Set<string>();
  for (const [index, { name, request }] of claims.entries()) {
    const at = `${path}[${index}]`;
    const key = request === undefined ? name : `${name}/${request}`;
    if (name === '') findings.required(at);
    else if (seen.has(key)) findings.duplicate(at, key);
    seen.add(key);
    if (request !== undefined) findings.all(`${at}.request`, request, labelProblems(request));
    if (name !== '' && !spec.resourceClaims?.some((claim) => claim.name === name)) {
      findings.notFound(at, name);
    }
  }
}

export function validateResizePolicy(
  findings: Findings,
  container: string,
  { resizePolicy = [] }: Container,
  spec: PodSpec,
): void {
  const seen = new Set<string>();
  for (const [index, { resourceName, restartPolicy }] of resizePolicy.entries()) {
    const path = `${container}.resizePolicy[${index}]`;
    if (seen.has(resourceName)) findings.duplicate(path, resourceName);
    seen.add(resourceName);
    if (resourceName === '') findings.required(path);
    else findings.oneOf(path, resourceName, ['cpu', 'memory']);
    if (restartPolicy === '') findings.required(path);
    else findings.oneOf(path, restartPolicy, ['NotRequired', 'RestartContainer']);
    if (spec.restartPolicy === 'Never' && restartPolicy === 'RestartContainer') {
      findings.invalid(
        path,
        restartPolicy,
        "must be 'NotRequired' when `restartPolicy` is 'Never'",
      );
    }
  }
}
