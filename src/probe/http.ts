/**
 * Owns: the httpGet handler (spec: probes.md §3.1): one GET, redirects within the same host name.
 * Invariants: every request has a connection of its own, closed after it, made here and by no agent: no
 * keep-alive, no proxy of the environment; nothing is decompressed; no more than 10 KiB are read.
 * Unlike the kubelet: no SO_LINGER, which Node cannot set.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls, createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { joinHostPort, probeHost, probePort } from './address.ts';
import { givenHost, headerLines, requestTarget } from '../runtime/http-get.ts';
import type { ProbeHeaders } from '../runtime/http-get.ts';
import { BadAnswer, HttpAnswer } from './http-response.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import { SUCCESS, errored, failure } from './model.ts';
import { dialErrorText, talkErrorText } from './net-error.ts';
import type { TimeLimit } from './time-limit.ts';
import { TimeIsUp } from './time-limit.ts';

interface Target {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
  /** The Host header; undefined: host and port. */
  readonly hostHeader: string | undefined;
}

const READ_BYTES = 16 * 1024;
const MAX_REQUESTS = 10;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_BREAK = /[\x00-\x08\x0a-\x1f\x7f]/;
const TIMEOUT = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
const BODY_TIMEOUT =
  'context deadline exceeded (Client.Timeout or context cancellation while reading body)';

export class HttpProber {
  readonly #userAgent: string;
  /** Made once: each costs more than the request. It checks nothing, so it holds nothing of a pod. */
  #tls: SecureContext | undefined;
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BYTES);

  constructor(userAgent: string) {
    this.#userAgent = userAgent;
  }

  /** @throws IsletError for a host or port that cannot be probed */
  async probe(subject: ProbeSubject, limit: TimeLimit): Promise<Outcome> {
    const { probe, container } = subject;
    const get = probe.httpGet;
    const target: Target = {
      secure: get?.scheme?.toLowerCase() === 'https',
      host: probeHost(subject, get?.host),
      port: probePort(container, get?.port ?? 0),
      path: requestTarget(get?.path ?? ''),
      hostHeader: givenHost(get?.httpHeaders),
    };
    const progress: Progress = { target, reading: false };
    try {
      return await limit.within(probe.timeoutSeconds * 1000, (signal) =>
        this.#get(progress, get?.httpHeaders, signal),
      );
    } catch (error) {
      limit.throwIfStopped();
      return failed(progress, error);
    }
  }

  async #get(progress: Progress, headers: ProbeHeaders, signal: AbortSignal): Promise<Outcome> {
    const first = progress.target;
    for (let requests = 1; ; requests++) {
      const { target } = progress;
      const next = await this.#exchange(progress, headers, signal, (answer) => {
        const to = redirectOf(answer, target);
        return to !== undefined && sameHost(to, first) ? to : undefined;
      });
      if (next instanceof HttpAnswer) return judge(next);
      progress.target = next;
      if (requests === MAX_REQUESTS) throw new ClientError('stopped after 10 redirects');
    }
  }

  /** One request: the whole answer, or, without its body, where it leads. */
  #exchange(
    progress: Progress,
    headers: ProbeHeaders,
    signal: AbortSignal,
    leadsTo: (answer: HttpAnswer) => Target | undefined,
  ): Promise<HttpAnswer | Target> {
    const { target } = progress;
    const head = requestHead(target, headers, this.#userAgent);
    return new Promise((resolve, reject) => {
      const answer = new HttpAnswer();
      const finish = (): void => {
        signal.removeEventListener('abort', stop);
        socket.destroy();
      };
      const fail = (error: Error): void => {
        finish();
        reject(error);
      };
      const stop = (): void => fail(signal.reason as Error);
      const take = (bytes: Buffer | undefined): void => {
        try {
          const hadHead = answer.hasHead;
          if (bytes === undefined) answer.end();
          else answer.push(bytes);
          const next = answer.hasHead && !hadHead ? leadsTo(answer) : undefined;
          progress.reading = answer.hasHead && next === undefined;
          if (next === undefined && !answer.isDone) return;
          finish();
          resolve(next ?? answer);
        } catch (error) {
          progress.reading = answer.hasHead && !(error instanceof ClientError);
          fail(error as Error);
        }
      };
      const socket = this.#connect(target, take);
      signal.addEventListener('abort', stop, { once: true });
      socket.once('end', () => take(undefined));
      // Also after the promise has settled: an error nobody listens to would end the process.
      socket.on('error', fail);
      socket.write(head);
    });
  }

  /** A plain connection reads into the one buffer that all share: it is taken before the next read. */
  #connect({ secure, host, port }: Target, take: (bytes: Buffer) => void): Socket {
    if (!secure) {
      const callback = (length: number, buffer: Uint8Array): boolean => {
        take(Buffer.from(buffer.buffer, buffer.byteOffset, length));
        return true;
      };
      return connect({ host, port, onread: { buffer: this.#buffer, callback } });
    }
    this.#tls ??= createSecureContext();
    const options = { host, port, secureContext: this.#tls, rejectUnauthorized: false };
    return connectTls(options).on('data', take);
  }
}

/** What the attempt has come to, for the words of its failure. */
interface Progress {
  target: Target;
  reading: boolean;
}

/** The client itself gave up, in its own words. */
class ClientError extends Error {}

/** A body that breaks off is an error, anything before it a failure (spec §3.1). */
function failed(progress: Progress, error: unknown): Outcome {
  if (progress.reading) {
    if (error instanceof TimeIsUp) return errored(BODY_TIMEOUT, 'failure');
    return errored(error instanceof BadAnswer ? error.message : talkErrorText(error), 'failure');
  }
  return failure(`Get "${urlOf(progress.target)}": ${whyNot(progress.target, error)}`);
}

function whyNot(target: Target, error: unknown): string {
  if (error instanceof TimeIsUp) return TIMEOUT;
  if (error instanceof ClientError || error instanceof BadAnswer) return error.message;
  return dialErrorText(error, joinHostPort(target.host, target.port)) ?? talkErrorText(error);
}

function judge(answer: HttpAnswer): Outcome {
  const { status } = answer;
  if (status < 200 || status >= 400) {
    return failure(`HTTP probe failed with statuscode: ${status}`);
  }
  if (status < 300) return SUCCESS;
  return { kind: 'warning', text: `Probe terminated redirects, Response body: ${answer.body()}` };
}

/** Up to the empty line. @throws ClientError for a header that cannot be sent */
function requestHead(target: Target, headers: ProbeHeaders, userAgent: string): string {
  const lines = headerLines(headers, target.hostHeader ?? authorityOf(target), userAgent);
  let head = `GET ${target.path} HTTP/1.1\r\n`;
  for (const { name, value } of lines) {
    if (!HEADER_NAME.test(name))
      throw new ClientError(`net/http: invalid header field name "${name}"`);
    if (HEADER_BREAK.test(value)) {
      throw new ClientError(`net/http: invalid header field value for "${name}"`);
    }
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}

/** @throws ClientError when there is a Location that leads nowhere */
function redirectOf(answer: HttpAnswer, from: Target): Target | undefined {
  const { location } = answer;
  if (!REDIRECTS.has(answer.status) || location === undefined) return undefined;
  let url: URL;
  try {
    url = new URL(location, urlOf(from));
  } catch {
    throw new ClientError(`failed to parse Location header "${location}"`);
  }
  const secure = url.protocol === 'https:';
  if (!secure && url.protocol !== 'http:') {
    throw new ClientError(`unsupported protocol scheme "${url.protocol.slice(0, -1)}"`);
  }
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  // A Host of the manifest goes on only where the answer named no host of its own.
  const hostHeader = URL.canParse(location) ? undefined : from.hostHeader;
  return { secure, host: bare(url.hostname), port, path: url.pathname + url.search, hostHeader };
}

/** By host name only: scheme and port may change (spec §7). */
function sameHost(a: Target, b: Target): boolean {
  return hostName(a) === hostName(b);
}

/** As a URL normalises it, so that two spellings of one address are equal. */
function hostName({ host }: Target): string {
  const url = `http://${joinHostPort(host, 80)}/`;
  return URL.canParse(url) ? new URL(url).hostname : host.toLowerCase();
}

/** An IPv6 address without its brackets. */
function bare(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

function authorityOf({ host, port }: Target): string {
  return joinHostPort(host, port);
}

function urlOf(target: Target): string {
  return `${target.secure ? 'https' : 'http'}://${authorityOf(target)}${target.path}`;
}
