/**
 * Owns: validation of the containers of a pod as lists: names, what only some kinds may have, ports
 * across containers. Leaves to others: what is inside one container (validate-container.ts).
 */
import { isSidecar } from '../api/pod.ts';
import type { Container, Pod } from '../api/pod.ts';
import { validateContainer } from './validate-container.ts';
import { validateLifecycle } from './validate-lifecycle.ts';
import { validateProbes } from './validate-probe.ts';
import type { Findings } from './validation.ts';

export function validateContainers(findings: Findings, pod: Pod): void {
  const { spec } = pod;
  const { containers, initContainers = [] } = spec;
  if (containers.length === 0) findings.required('spec.containers');
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const path = `spec.containers[${index}]`;
    validateContainer(findings, path, container, pod);
    validateHandling(findings, path, container, pod);
    checkUnique(findings, path, container, names);
  }
  for (const [index, container] of initContainers.entries()) {
    const path = `spec.initContainers[${index}]`;
    validateContainer(findings, path, container, pod);
    checkUnique(findings, path, container, names);
    if (isSidecar(container)) validateHandling(findings, path, container, pod);
    else forbidSidecarFields(findings, path, container);
  }
  if ((spec.ephemeralContainers ?? []).length > 0) {
    findings.forbidden('spec.ephemeralContainers', 'cannot be set on create');
  }
  checkHostPorts(findings, 'spec.containers', containers);
  checkHostPorts(findings, 'spec.initContainers', initContainers);
}

function validateHandling(findings: Findings, path: string, container: Container, pod: Pod): void {
  validateProbes(findings, path, container);
  validateLifecycle(findings, path, container, pod.spec);
}

function checkUnique(
  findings: Findings,
  path: string,
  { name }: Container,
  names: Set<string>,
): void {
  if (name === '') return;
  if (names.has(name)) findings.duplicate(`${path}.name`, name);
  names.add(name);
}

function forbidSidecarFields(findings: Findings, path: string, container: Container): void {
  const detail = 'may not be set for init containers without restartPolicy=Always';
  for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    if (container[field] !== undefined) findings.forbidden(`${path}.${field}`, detail);
  }
}

function checkHostPorts(findings: Findings, list: string, containers: Container[]): void {
  const taken = new Set<string>();
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [at, { hostPort = 0, protocol, hostIP = '' }] of ports.entries()) {
      if (hostPort === 0) continue;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) findings.duplicate(`${list}[${index}].ports[${at}].hostPort`, key);
      taken.add(key);
    }
  }
}
