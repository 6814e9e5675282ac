/**
 * Owns: validation of probes, and of the handlers that lifecycle hooks share with them.
 */
import type { Container, HttpGetAction, IntOrString, Probe } from '../api/pod.ts';
import type { Findings } from './validation.ts';
import { MAX_PORT, portNameProblems } from './validation.ts';

/** All handlers that any place knows; each place passes those that it has. */
export interface Handlers {
  exec?: { command?: string[] };
  httpGet?: HttpGetAction;
  tcpSocket?: { port: IntOrString };
  grpc?: { port: number };
  sleep?: { seconds: number };
}

const SCHEMES = ['HTTP', 'HTTPS'];
const HEADER_NAME = /^[-A-Za-z0-9]+$/;
const NUMBERS = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

export function validateProbes(findings: Findings, container: string, spec: Container): void {
  const { livenessProbe, readinessProbe, startupProbe } = spec;
  if (livenessProbe) validateProbe(findings, `${container}.livenessProbe`, livenessProbe);
  if (startupProbe) validateProbe(findings, `${container}.startupProbe`, startupProbe);
  if (readinessProbe) validateProbe(findings, `${container}.readinessProbe`, readinessProbe);
  for (const [name, probe] of Object.entries({ livenessProbe, startupProbe })) {
    if (probe && probe.successThreshold !== 1) {
      const path = `${container}.${name}.successThreshold`;
      findings.invalid(path, probe.successThreshold, 'must be 1');
    }
  }
  const grace = readinessProbe?.terminationGracePeriodSeconds;
  if (grace !== undefined) {
    const path = `${container}.readinessProbe.terminationGracePeriodSeconds`;
    findings.invalid(path, grace, 'must not be set for readinessProbes');
  }
}

function validateProbe(findings: Findings, path: string, probe: Probe): void {
  const { exec, httpGet, tcpSocket, grpc, terminationGracePeriodSeconds: grace } = probe;
  validateHandlers(findings, path, { exec, httpGet, tcpSocket, grpc });
  for (const field of NUMBERS) findings.nonNegative(`${path}.${field}`, probe[field]);
  if (grace !== undefined && grace <= 0) {
    findings.invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0');
  }
}

/** Exactly one handler; the first counts, the others are too many. */
export function validateHandlers(
  findings: Findings,
  path: string,
  handlers: { [K in keyof Handlers]: Handlers[K] | undefined },
): void {
  const given = Object.entries(handlers).filter(([, handler]) => handler !== undefined);
  const [first, ...others] = given;
  if (!first) return findings.required(path, 'must specify a handler type');
  for (const [name] of others) {
    findings.forbidden(`${path}.${name}`, 'may not specify more than 1 handler type');
  }
  const at = `${path}.${first[0]}`;
  switch (first[0] as keyof Handlers) {
    case 'exec':
      if ((handlers.exec?.command ?? []).length === 0) findings.required(`${at}.command`);
      break;
    case 'httpGet':
      if (handlers.httpGet) validateHttp(findings, at, handlers.httpGet);
      break;
    case 'tcpSocket':
      validatePort(findings, `${at}.port`, handlers.tcpSocket?.port ?? 0);
      break;
    case 'grpc':
      validatePort(findings, `${at}.port`, handlers.grpc?.port ?? 0);
      break;
    case 'sleep':
      break;
  }
}

function validateHttp(findings: Findings, path: string, action: HttpGetAction): void {
  if ((action.path ?? '') === '') findings.required(`${path}.path`);
  validatePort(findings, `${path}.port`, action.port);
  findings.oneOf(`${path}.scheme`, action.scheme, SCHEMES);
  for (const [index, { name }] of (action.httpHeaders ?? []).entries()) {
    if (HEADER_NAME.test(name)) continue;
    const detail =
      "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
    findings.invalid(`${path}.httpHeaders[${index}].name`, name, detail);
  }
}

function validatePort(findings: Findings, path: string, port: IntOrString): void {
  if (typeof port === 'number') findings.between(path, port, 1, MAX_PORT);
  else findings.all(path, port, portNameProblems(port));
}
