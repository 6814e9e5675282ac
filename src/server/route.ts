/**
 * Owns: what a request is to a handler, what a handler answers, and which handler a path belongs to.
 * Leaves to others: sockets and bytes (http-server.ts).
 */

export interface Request {
  readonly method: 'GET' | 'HEAD';
  /** As sent, without the query. */
  readonly path: string;
  /** Values of the `:name` parts of the route, decoded; `*` holds what the star matched. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Aborted when the client goes away or the server stops. */
  readonly signal: AbortSignal;
}

/** Writes to the client; resolves when more may come. */
export type Write = (bytes: Buffer) => Promise<void>;

export interface TextReply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Status 200 is sent with the first byte; an error before that becomes an ordinary error reply. */
export interface StreamReply {
  readonly type: string;
  readonly stream: (write: Write) => Promise<void>;
}

export type Reply = TextReply | StreamReply;
export type Handler = (request: Request) => Reply | Promise<Reply>;

/** Path pattern to handler: `:name` matches one segment, a last `*` any number, also none. */
export type Routes = Readonly<Record<string, Handler>>;

export type ErrorReason =
  'BadRequest' | 'NotFound' | 'MethodNotAllowed' | 'Invalid' | 'InternalError';

const STATUS: Record<ErrorReason, number> = {
  BadRequest: 400,
  NotFound: 404,
  MethodNotAllowed: 405,
  Invalid: 422,
  InternalError: 500,
};

/** An answer other than 200 whose text is meant for the client. */
export class HttpError extends Error {
  readonly reason: ErrorReason;

  constructor(reason: ErrorReason, message: string) {
    super(message);
    this.name = 'HttpError';
    this.reason = reason;
  }

  get status(): number {
    return STATUS[this.reason];
  }
}

export function text(body: string, status = 200): TextReply {
  return { status, type: 'text/plain; charset=utf-8', body };
}

export function json(value: unknown, status = 200): TextReply {
  return { status, type: 'application/json', body: JSON.stringify(value) };
}

export interface Match {
  readonly handler: Handler;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * The first route that the path belongs to; a slash at the end means nothing.
 * Throws HttpError BadRequest for a path that is not well encoded.
 */
export function matchRoute(routes: Routes, path: string): Match | undefined {
  const segments = splitPath(path).map(decode);
  for (const [pattern, handler] of Object.entries(routes)) {
    const params = matchSegments(splitPath(pattern), segments);
    if (params) return { handler, params };
  }
  return undefined;
}

function matchSegments(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  const star = pattern.at(-1) === '*';
  const fixed = star ? pattern.slice(0, -1) : pattern;
  if (star ? segments.length < fixed.length : segments.length !== fixed.length) return undefined;
  for (const [i, part] of fixed.entries()) {
    const segment = segments[i] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = segment;
    else if (part !== segment) return undefined;
  }
  if (star) params['*'] = segments.slice(fixed.length).join('/');
  return params;
}

function splitPath(path: string): string[] {
  return path.replace(/^\/|\/+$/g, '').split('/');
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new HttpError('BadRequest', 'the path is not well encoded');
  }
}
