/**
 * Owns: the options of a request for a container's log, as in v1 PodLogOptions.
 * Spec: http-api.md §3: what cannot be read is a bad request, what makes no sense is invalid.
 */
import { HttpError } from './route.ts';

export interface LogQuery {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  /** Milliseconds since 1970, from `sinceTime` or `sinceSeconds` before `wallMs`. */
  readonly sinceMs?: number;
}

/** Throws HttpError BadRequest or Invalid. */
export function parseLogQuery(query: URLSearchParams, wallMs: number): LogQuery {
  const tail = query.get('tail');
  const tailLines =
    tail === null
      ? integer(query, 'tailLines')
      : tail === 'all'
        ? undefined
        : integer(query, 'tail');
  const limitBytes = integer(query, 'limitBytes');
  atLeast(0, 'tailLines', tailLines);
  atLeast(1, 'limitBytes', limitBytes);
  const sinceMs = since(query, wallMs);
  onlyBothStreams(query);
  return {
    follow: boolean(query, 'follow'),
    previous: boolean(query, 'previous'),
    timestamps: boolean(query, 'timestamps'),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
    ...(sinceMs !== undefined && { sinceMs }),
  };
}

function since(query: URLSearchParams, wallMs: number): number | undefined {
  const seconds = integer(query, 'sinceSeconds');
  const time = query.get('sinceTime');
  if (seconds !== undefined && time !== null) {
    throw new HttpError('Invalid', 'at most one of `sinceTime` or `sinceSeconds` may be specified');
  }
  atLeast(1, 'sinceSeconds', seconds);
  if (seconds !== undefined) return wallMs - seconds * 1000;
  if (time === null) return undefined;
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(time)
    ? Date.parse(time)
    : Number.NaN;
  if (Number.isNaN(ms)) {
    throw new HttpError('BadRequest', `sinceTime: ${JSON.stringify(time)} is not an RFC 3339 time`);
  }
  return ms;
}

function onlyBothStreams(query: URLSearchParams): void {
  const stream = query.get('stream');
  if (stream !== null && stream !== 'All') {
    throw new HttpError('Invalid', `stream: ${JSON.stringify(stream)}: only \`All\` is supported`);
  }
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  const number = Number(value);
  if (!/^[+-]?\d{1,18}$/.test(value) || !Number.isSafeInteger(number)) {
    throw new HttpError('BadRequest', `${name}: ${JSON.stringify(value)} is not a whole number`);
  }
  return number;
}

function atLeast(least: number, name: string, value: number | undefined): void {
  if (value !== undefined && value < least) {
    throw new HttpError('Invalid', `${name}: ${value}: must be greater than or equal to ${least}`);
  }
}

/** As the API decodes them: present without a value is true, `false` and `0` are false. */
function boolean(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== 'false' && value !== '0';
}
