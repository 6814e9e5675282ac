/**
 * Owns: validation of one container: name, image, ports, policies, mounts, devices.
 */
import type { Container, ContainerPort, Pod } from '../api/pod.ts';
import { validateEnv, validateEnvFrom } from './validate-env.ts';
import { validateMounts } from './validate-mount.ts';
import { validateResizePolicy, validateResources } from './validate-resources.ts';
import { validateRestartRules } from './validate-restart.ts';
import { validateContainerSecurity } from './validate-security.ts';
import type { Findings } from './validation.ts';
import { MAX_PORT, labelProblems, portNameProblems } from './validation.ts';

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const TERMINATION_POLICIES = ['File', 'FallbackToLogsOnError'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

/** `path` is that of the container, e.g. `spec.containers[0]`. */
export function validateContainer(
  findings: Findings,
  path: string,
  container: Container,
  pod: Pod,
): void {
  const { name, image = '' } = container;
  // Upstream does not look at the ports of init containers.
  const onHostNetwork = pod.spec.containers.includes(container) && (pod.spec.hostNetwork ?? false);
  if (name === '') findings.required(`${path}.name`);
  else findings.all(`${path}.name`, name, labelProblems(name));
  checkImage(findings, `${path}.image`, image);
  findings.oneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, PULL_POLICIES);
  const messages = container.terminationMessagePolicy;
  findings.oneOf(`${path}.terminationMessagePolicy`, messages, TERMINATION_POLICIES);
  validatePorts(findings, path, container.ports ?? [], onHostNetwork);
  validateEnv(findings, path, container, pod.spec);
  validateEnvFrom(findings, path, container);
  validateMounts(findings, path, container, pod.spec);
  validateResources(findings, `${path}.resources`, container.resources, pod.spec);
  validateResizePolicy(findings, path, container, pod.spec);
  validateRestartRules(findings, path, container);
  validateContainerSecurity(
    findings,
    `${path}.securityContext`,
    container.securityContext,
    pod.spec,
  );
}

function checkImage(findings: Findings, path: string, image: string): void {
  if (image === '') findings.required(path);
  else if (image.trim() !== image) {
    findings.invalid(path, image, 'must not have leading or trailing whitespace');
  }
}

function validatePorts(
  findings: Findings,
  container: string,
  ports: ContainerPort[],
  hostNetwork: boolean,
): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const path = `${container}.ports[${index}]`;
    const { name, containerPort, hostPort = 0, protocol } = port;
    if (name !== undefined) {
      const problems = portNameProblems(name);
      findings.all(`${path}.name`, name, problems);
      if (problems.length === 0 && names.has(name)) findings.duplicate(`${path}.name`, name);
      names.add(name);
    }
    if (containerPort === 0) findings.required(`${path}.containerPort`);
    else findings.between(`${path}.containerPort`, containerPort, 1, MAX_PORT);
    if (hostPort !== 0) findings.between(`${path}.hostPort`, hostPort, 1, MAX_PORT);
    if (hostNetwork && hostPort !== containerPort) {
      const detail = 'must match `containerPort` when `hostNetwork` is true';
      findings.invalid(`${path}.hostPort`, hostPort, detail);
    }
    findings.oneOf(`${path}.protocol`, protocol, PROTOCOLS);
  }
}
