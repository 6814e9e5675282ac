/**
 * Owns: the httpGet handler of a lifecycle hook (spec: pod-lifecycle.md §9.1): one GET whose answer, whatever
 * its status, is a success; redirects are followed on the same host.
 * Invariants: no time limit of its own, no proxy, nothing of a body is kept.
 */
import type { IncomingMessage, RequestOptions } from 'node:http';
import type { HttpGetAction } from '../api/pod.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import { givenHost, headerLines, requestTarget } from './http-get.ts';
import type { ProbeHeaders } from './http-get.ts';

export interface HttpHookTarget {
  /** Where the request goes without a host. */
  readonly podIp: string | undefined;
  /** Named ports of the container. */
  readonly ports: ReadonlyMap<string, number>;
}

const USER_AGENT = 'kube-lifecycle/1.36';
const MAX_REQUESTS = 10;
/** What TLS says when the first bytes of the other side are those of plain HTTP. */
const PLAIN_ANSWER = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'EPROTO']);

/**
 * @returns the host and port when a server that was asked over HTTPS answered over HTTP, which is tried then,
 *   without the Authorization header; else undefined
 * @throws IsletError `failed` or `invalid`
 */
export async function httpHook(
  action: HttpGetAction,
  target: HttpHookTarget,
  signal: AbortSignal,
): Promise<string | undefined> {
  const host = action.host || target.podIp;
  if (!host) throw new IsletError('failed', 'failed to find networking container: no pod IP');
  const port = portOf(action.port, target);
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const secure = action.scheme?.toUpperCase() === 'HTTPS';
  const url = new URL(`${secure ? 'https' : 'http'}://${authority}`);
  const path = requestTarget(action.path ?? '');
  const headers = action.httpHeaders;
  try {
    await follow(url, path, headers, signal);
    return undefined;
  } catch (error) {
    if (!secure || !PLAIN_ANSWER.has(codeOfCause(error))) throw error;
    const without = headers?.filter((h) => h.name.toLowerCase() !== 'authorization');
    await follow(new URL(`http://${authority}`), path, without, signal);
    return authority;
  }
}

async function follow(
  base: URL,
  path: string,
  headers: ProbeHeaders,
  signal: AbortSignal,
): Promise<void> {
  let [url, target, host] = [base, path, givenHost(headers)];
  for (let requests = 1; ; requests++) {
    const location = await get(url, target, host, headers, signal);
    if (location === undefined || !URL.canParse(location, url.href)) return;
    const next = new URL(location, url);
    if (next.hostname !== base.hostname || !/^https?:$/.test(next.protocol)) return;
    if (requests === MAX_REQUESTS) throw failure(url, target, 'stopped after 10 redirects');
    if (URL.canParse(location)) host = undefined;
    [url, target] = [next, next.pathname + next.search];
  }
}

/** Resolves to where the answer leads, if anywhere. */
async function get(
  url: URL,
  path: string,
  host: string | undefined,
  headers: ProbeHeaders,
  signal: AbortSignal,
): Promise<string | undefined> {
  const secure = url.protocol === 'https:';
  const { request } = secure ? await import('node:https') : await import('node:http');
  const lines = headerLines(headers, host ?? url.host, USER_AGENT);
  const options: RequestOptions & { rejectUnauthorized: boolean } = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : url.port,
    path,
    // As a flat list, so that repeated ones stay repeated.
    headers: lines.flatMap(({ name, value }) => [name, value]),
    rejectUnauthorized: false,
    agent: false,
    signal,
  };
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void => reject(failure(url, path, messageOf(cause), cause));
    try {
      const call = request(options, (response) => {
        resolve(redirectOf(response));
        response.destroy();
      });
      // Also after the answer, where it means nothing.
      call.on('error', fail).end();
    } catch (cause) {
      fail(cause); // a header that cannot be sent
    }
  });
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(statusCode) ? headers.location : undefined;
}

function failure(url: URL, path: string, why: string, cause?: unknown): IsletError {
  return new IsletError('failed', `Get "${url.protocol}//${url.host}${path}": ${why}`, { cause });
}

function codeOfCause(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
}

function portOf(port: number | string, target: HttpHookTarget): number {
  const found = typeof port === 'number' ? port : (target.ports.get(port) ?? Number(port));
  if (Number.isInteger(found) && found > 0 && found < 65536) return found;
  if (typeof port === 'number') throw new IsletError('invalid', `invalid port number: ${port}`);
  throw new IsletError('invalid', `couldn't find port: "${port}"`);
}
