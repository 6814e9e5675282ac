/**
 * Owns: where a network probe goes (spec: probes.md §3.1, §3.2).
 */
import type { Container, IntOrString } from '../api/pod.ts';
import { IsletError } from '../util/errors.ts';
import type { ProbeSubject } from './model.ts';

/**
 * The host of the handler, else the pod's address.
 * Unlike the kubelet: a pod without an address is an error, instead of a probe of the node's own ports.
 * @throws IsletError `unavailable`
 */
export function probeHost(subject: ProbeSubject, host: string | undefined): string {
  const found = host === undefined || host === '' ? subject.podIp : host;
  if (found === undefined || found === '') {
    throw new IsletError('unavailable', 'the pod has no IP address');
  }
  return found;
}

/**
 * A number, the name of a port of the container, or a number in a string.
 * @throws IsletError `invalid`
 */
export function probePort(container: Container, port: IntOrString): number {
  const number = typeof port === 'number' ? port : namedPort(container, port);
  if (Number.isInteger(number) && number > 0 && number < 65536) return number;
  throw new IsletError('invalid', `invalid port number: ${port}`);
}

function namedPort(container: Container, name: string): number {
  const found = container.ports?.find((port) => port.name === name)?.containerPort;
  if (found !== undefined) return found;
  if (/^[+-]?\d+$/.test(name)) return Number(name);
  throw new IsletError('invalid', `couldn't find port: "${name}"`);
}

/** `10.0.0.1:80`, `[fd00::1]:80`. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
