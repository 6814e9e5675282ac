/**
 * Owns: errors of sockets in the words that the kubelet's events have, so that what searches for them
 * finds them. Nothing in them changes from attempt to attempt: equal events are counted as one.
 */
import { messageOf } from '../util/errors.ts';

const CONNECT: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ECONNRESET: 'connection reset by peer',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  ETIMEDOUT: 'connection timed out',
};

const RESET = 'read: connection reset by peer';

/** What failed while connecting to `address` (host:port); undefined: it was not the connecting. */
export function dialErrorText(error: unknown, address: string): string | undefined {
  const { code, syscall, hostname } = partsOf(error);
  if (syscall === 'getaddrinfo') {
    return `dial tcp: lookup ${hostname ?? address}: ${code === 'ENOTFOUND' ? 'no such host' : code}`;
  }
  if (syscall !== 'connect') return undefined;
  return `dial tcp ${address}: connect: ${CONNECT[code] ?? code}`;
}

export function dialTimeoutText(address: string): string {
  return `dial tcp ${address}: i/o timeout`;
}

/** What failed on a connection that was there. */
export function talkErrorText(error: unknown): string {
  const { code, syscall } = partsOf(error);
  // Node says reset for an end in the wrong place, too; only a true reset comes from a system call.
  if (code === 'ECONNRESET') return syscall === undefined ? 'EOF' : RESET;
  if (code === 'EPIPE') return 'write: broken pipe';
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO') {
    return 'http: server gave HTTP response to HTTPS client';
  }
  return code.startsWith('HPE_') ? 'malformed HTTP response' : messageOf(error);
}

interface Parts {
  readonly code: string;
  readonly syscall: string | undefined;
  readonly hostname: string | undefined;
}

/** The first error where several addresses were tried. */
function partsOf(error: unknown): Parts {
  const one: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const of = (field: string): string | undefined => {
    const value: unknown =
      typeof one === 'object' && one !== null ? Reflect.get(one, field) : undefined;
    return typeof value === 'string' ? value : undefined;
  };
  return { code: of('code') ?? 'unknown', syscall: of('syscall'), hostname: of('hostname') };
}
