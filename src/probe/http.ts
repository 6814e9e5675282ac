/**
 * Owns: the httpGet handler (spec: probes.md §3.1): one GET, redirects within the same host name.
 * Invariants: every request has a connection of its own, closed after it, made here and by no agent: no
 * keep-alive, no proxy of the environment; nothing is decompressed; no more than 10 KiB are read.
 * Unlike the kubelet: no SO_LINGER, which Node cannot set.
 */
import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls, createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import { joinHostPort, probeHost, probePort } from './address.ts';
import { givenHost, headerLines, requestTarget } from './http-request.ts';
import type { ProbeHeaders } from './http-request.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import { MAX_OUTPUT_BYTES, SUCCESS, errored, failure } from './model.ts';
import { dialErrorText, talkErrorText } from './net-error.ts';
import { TimeIsUp, within } from './within.ts';

export interface HttpProbeDeps {
  readonly clock: Clock;
  readonly userAgent: string;
}

interface Target {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
  /** The Host header; undefined: host and port. */
  readonly hostHeader: string | undefined;
}

const MAX_REQUESTS = 10;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const TIMEOUT = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
const BODY_TIMEOUT =
  'context deadline exceeded (Client.Timeout or context cancellation while reading body)';

export class HttpProber {
  readonly #deps: HttpProbeDeps;
  /** Made once: each costs more than the request. It checks nothing, so it holds nothing of a pod. */
  #tls: SecureContext | undefined;

  constructor(deps: HttpProbeDeps) {
    this.#deps = deps;
  }

  /** @throws IsletError for a host or port that cannot be probed */
  async probe(subject: ProbeSubject, signal: AbortSignal): Promise<Outcome> {
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
      return await within(this.#deps.clock, probe.timeoutSeconds * 1000, signal, (inner) =>
        this.#get(progress, get?.httpHeaders, inner),
      );
    } catch (error) {
      signal.throwIfAborted();
      return failed(progress, error);
    }
  }

  async #get(progress: Progress, headers: ProbeHeaders, signal: AbortSignal): Promise<Outcome> {
    const first = progress.target;
    for (let requests = 1; ; requests++) {
      const answer = await this.#send(progress.target, headers, signal);
      const next = redirectOf(answer, progress.target);
      if (next === undefined || !sameHost(next, first)) {
        progress.reading = true;
        return await judge(answer);
      }
      answer.destroy();
      progress.target = next;
      if (requests === MAX_REQUESTS) throw new ClientError('stopped after 10 redirects');
    }
  }

  /** Resolves at the header of the answer. */
  #send(target: Target, headers: ProbeHeaders, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const lines = headerLines(
        headers,
        target.hostHeader ?? authorityOf(target),
        this.#deps.userAgent,
      );
      const call = this.#open(target, lines);
      const stop = (): void => {
        call.destroy();
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', stop, { once: true });
      call.once('response', resolve);
      // Nobody asked for another protocol: the answer is judged by its status.
      call.once('upgrade', (answer, socket) => {
        socket.destroy();
        answer.resume();
        resolve(answer);
      });
      // Also after the promise has settled: an error nobody listens to would end the process.
      call.on('error', reject);
      call.end();
    });
  }

  #open(target: Target, lines: string[]): ClientRequest {
    const { path } = target;
    try {
      return httpRequest({
        method: 'GET',
        path,
        headers: lines,
        createConnection: () => this.#connect(target),
      });
    } catch (error) {
      // Node refuses header names and values that cannot be sent; Go's client answers so, too.
      throw new ClientError(`net/http: invalid header field: ${messageOf(error)}`);
    }
  }

  #connect({ secure, host, port }: Target): Socket {
    if (!secure) return connect({ host, port });
    this.#tls ??= createSecureContext();
    return connectTls({ host, port, secureContext: this.#tls, rejectUnauthorized: false });
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
    return errored(error instanceof TimeIsUp ? BODY_TIMEOUT : talkErrorText(error), 'failure');
  }
  return failure(`Get "${urlOf(progress.target)}": ${whyNot(progress.target, error)}`);
}

function whyNot(target: Target, error: unknown): string {
  if (error instanceof TimeIsUp) return TIMEOUT;
  if (error instanceof ClientError) return error.message;
  return dialErrorText(error, joinHostPort(target.host, target.port)) ?? talkErrorText(error);
}

async function judge(answer: IncomingMessage): Promise<Outcome> {
  const status = answer.statusCode ?? 0;
  const body = await read(answer);
  if (status < 200 || status >= 400) {
    return failure(`HTTP probe failed with statuscode: ${status}`);
  }
  if (status < 300) return SUCCESS;
  const text = `Probe terminated redirects, Response body: ${body.toString()}`;
  return { kind: 'warning', text };
}

/** As much of the body as is wanted. */
function read(answer: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const done = (): void => resolve(Buffer.concat(chunks).subarray(0, MAX_OUTPUT_BYTES));
    answer.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MAX_OUTPUT_BYTES) done();
    });
    answer.once('end', done);
    // Also after the promise has settled: an error nobody listens to would end the process.
    answer.on('error', reject);
  });
}

/** @throws ClientError when there is a Location that leads nowhere */
function redirectOf(answer: IncomingMessage, from: Target): Target | undefined {
  const { location } = answer.headers;
  if (!REDIRECTS.has(answer.statusCode ?? 0) || location === undefined) return undefined;
  let url: URL;
  try {
    url = new URL(location, urlOf(from));
  } catch {
    answer.destroy();
    throw new ClientError(`failed to parse Location header "${location}"`);
  }
  const secure = url.protocol === 'https:';
  if (!secure && url.protocol !== 'http:') {
    answer.destroy();
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
