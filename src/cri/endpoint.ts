/**
 * Owns: what a runtime endpoint may look like. Only unix sockets: a runtime that islet drives lives
 * on the same machine (spec: config.md, `containerRuntimeEndpoint`).
 */
import { IsletError } from '../util/errors.ts';

/**
 * The absolute socket path of `unix:///path`, `unix:/path` or `/path`; IsletError `invalid` for
 * anything else.
 */
export function socketPathOf(endpoint: string): string {
  const path = endpoint.replace(/^unix:(\/\/(?=\/))?/, '');
  if (path.startsWith('/') && !path.startsWith('//')) return path;
  throw new IsletError(
    'invalid',
    `runtime endpoint "${endpoint}" is not a unix socket; write unix:///path/to.sock`,
  );
}
