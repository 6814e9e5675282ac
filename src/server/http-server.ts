/**
 * Owns: one listening HTTP server: its limits, the way from a request to a handler and back, its stop.
 * Invariants: GET and HEAD only; no client ever sees a stack trace or an internal message; after
 * `close()` resolves no handler runs and no connection is open.
 * Leaves to others: what is served (the Routes), how errors look (the `renderError` of the owner).
 * Unlike the kubelet: headers are bounded at 64 KiB and connections in number, since the read-only
 * port answers anybody and the memory of an edge device is small.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once, setMaxListeners } from 'node:events';
import type { Clock } from '../util/clock.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { HttpError, matchRoute, type Reply, type Routes, type TextReply } from './route.ts';

export interface HttpServerDeps {
  /** For messages, e.g. `read-only port`. */
  readonly name: string;
  readonly routes: Routes;
  readonly renderError: (error: HttpError) => TextReply;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface TcpAddress {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** The setting to change when the port is taken. */
  readonly setting: string;
}

const MAX_HEADER_BYTES = 64 * 1024;
const MAX_CONNECTIONS = 256;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Spec: http-api.md §1. */
const IDLE_TIMEOUT_MS = 90_000;
/** A client that takes nothing for so long is given up. */
const STALL_TIMEOUT_MS = 60_000;
const CLOSE_GRACE_MS = 1000;

export class HttpServer {
  /** For binding to something other than a TCP port. */
  readonly server: Server;
  readonly #deps: HttpServerDeps;
  readonly #stopping = new AbortController();

  constructor(deps: HttpServerDeps) {
    this.#deps = deps;
    setMaxListeners(0, this.#stopping.signal); // one for each request under way
    this.server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
      void this.#serve(request, response);
    });
    // Without a listener, a connection that cannot be accepted (no descriptors left) ends the process.
    this.server.on('error', (err) => {
      if (this.server.listening) deps.log.warn('accepting failed', { server: deps.name, err });
    });
    this.server.maxConnections = MAX_CONNECTIONS;
    this.server.headersTimeout = HEADERS_TIMEOUT_MS;
    this.server.requestTimeout = REQUEST_TIMEOUT_MS;
    this.server.keepAliveTimeout = IDLE_TIMEOUT_MS;
  }

  /** Resolves with the port. Throws IsletError `already-exists` when it is taken, else `failed`. */
  async listen(address: TcpAddress): Promise<number> {
    const { host, port, setting } = address;
    try {
      this.server.listen({ host, port });
      await once(this.server, 'listening');
    } catch (cause) {
      throw this.#listenError(address, cause as NodeJS.ErrnoException);
    }
    const bound = this.server.address();
    this.#deps.log.debug('listening', { server: this.#deps.name, host, port, setting });
    return typeof bound === 'object' && bound ? bound.port : port;
  }

  /** Ends streams at once, lets answers in the making go out for a second, closes the rest. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('the server stops'));
    if (!this.server.listening) return;
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.server.closeIdleConnections();
    const grace = new AbortController();
    this.#deps.clock.sleep(CLOSE_GRACE_MS, grace.signal).then(
      () => this.server.closeAllConnections(),
      () => undefined,
    );
    await closed;
    grace.abort();
  }

  #listenError(address: TcpAddress, cause: NodeJS.ErrnoException): IsletError {
    const where = `${this.#deps.name} ${address.host}:${address.port}`;
    if (cause.code !== 'EADDRINUSE') {
      return new IsletError('failed', `listening on ${where}: ${messageOf(cause)}`, { cause });
    }
    const hint = `is another islet or a kubelet running? set ${address.setting} to a free port`;
    return new IsletError('already-exists', `${where} is in use (${hint}, or to 0)`, { cause });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    const stop = (): void => gone.abort(new Error('the client or the server ends'));
    response.once('close', stop);
    response.on('error', stop);
    this.#stopping.signal.addEventListener('abort', stop, { once: true });
    request.resume(); // a body means nothing here
    try {
      const reply = await this.#answer(request, gone.signal);
      if ('stream' in reply) await this.#sendStream(reply, request, response, gone.signal);
      else this.#send(reply, response);
    } catch (error) {
      this.#fail(error, response, gone.signal);
    } finally {
      this.#stopping.signal.removeEventListener('abort', stop);
    }
  }

  async #answer(request: IncomingMessage, signal: AbortSignal): Promise<Reply> {
    const { method } = request;
    const { pathname, searchParams } = parseTarget(request.url ?? '/');
    const match = matchRoute(this.#deps.routes, pathname);
    if (!match) throw new HttpError('NotFound', '404: Page Not Found');
    if (method !== 'GET' && method !== 'HEAD') {
      throw new HttpError('MethodNotAllowed', '405: Method Not Allowed');
    }
    const { handler, params } = match;
    return handler({ method, path: pathname, params, query: searchParams, signal });
  }

  #send(reply: TextReply, response: ServerResponse): void {
    if (response.destroyed || response.headersSent) return;
    response.setTimeout(STALL_TIMEOUT_MS, () => response.destroy());
    response.writeHead(reply.status, {
      'Content-Type': reply.type,
      'Content-Length': Buffer.byteLength(reply.body),
      'X-Content-Type-Options': 'nosniff',
      ...reply.headers,
      ...(this.#stopping.signal.aborted && { Connection: 'close' }),
    });
    response.end(reply.body);
  }

  async #sendStream(
    reply: Extract<Reply, { stream: unknown }>,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const head = (): void => {
      if (response.headersSent) return;
      const headers = { 'Content-Type': reply.type, 'X-Content-Type-Options': 'nosniff' };
      response.writeHead(200, headers);
    };
    if (request.method !== 'HEAD') {
      await reply.stream(async (bytes) => {
        signal.throwIfAborted();
        head();
        if (!response.write(bytes)) await once(response, 'drain', { signal });
      });
    }
    head();
    response.end();
  }

  #fail(error: unknown, response: ServerResponse, signal: AbortSignal): void {
    if (signal.aborted || response.headersSent) {
      // Half an answer must not look like a whole one.
      response.destroy();
      return;
    }
    if (error instanceof HttpError) {
      const reply = this.#deps.renderError(error);
      const headers = { ...reply.headers };
      if (error.reason === 'MethodNotAllowed') headers['Allow'] = 'GET, HEAD';
      this.#send({ ...reply, headers }, response);
      return;
    }
    this.#deps.log.error('request failed', { server: this.#deps.name, err: error });
    const internal = new HttpError('InternalError', 'internal error, see the log of islet');
    this.#send(this.#deps.renderError(internal), response);
  }
}

function parseTarget(target: string): { pathname: string; searchParams: URLSearchParams } {
  const query = target.indexOf('?');
  return {
    pathname: query < 0 ? target : target.slice(0, query),
    searchParams: new URLSearchParams(query < 0 ? '' : target.slice(query + 1)),
  };
}
