/**
 * Owns: how a gRPC call ended, read from the headers of its answer (gRPC over HTTP/2: a status in the
 * trailers, or in the headers when there is nothing else). Pure.
 */
import type { IncomingHttpHeaders } from 'node:http2';

export interface RpcStatus {
  /** As Go names it, e.g. `NotFound`. */
  readonly code: string;
  readonly message: string;
}

/** By number. */
const CODES = [
  ...['OK', 'Canceled', 'Unknown', 'InvalidArgument', 'DeadlineExceeded', 'NotFound'],
  ...['AlreadyExists', 'PermissionDenied', 'ResourceExhausted', 'FailedPrecondition', 'Aborted'],
  ...['OutOfRange', 'Unimplemented', 'Internal', 'Unavailable', 'DataLoss', 'Unauthenticated'],
];

/** What an HTTP status means where no gRPC server answered. */
const HTTP_CODES: Readonly<Record<string, string>> = {
  400: 'Internal',
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'Unimplemented',
  429: 'Unavailable',
  502: 'Unavailable',
  503: 'Unavailable',
  504: 'Unavailable',
};

/** undefined: there was no answer. */
export function rpcStatusOf(
  head: IncomingHttpHeaders,
  tail: IncomingHttpHeaders,
): RpcStatus | undefined {
  const from = tail['grpc-status'] === undefined ? head : tail;
  const number = from['grpc-status'];
  if (number !== undefined) {
    const message = textOf(from['grpc-message']);
    return { code: CODES[Number(number)] ?? `Code(${textOf(number)})`, message };
  }
  const http = head[':status'];
  if (http === undefined) return undefined;
  const message = `unexpected HTTP status code received from server: ${textOf(http)}`;
  return { code: HTTP_CODES[textOf(http)] ?? 'Unknown', message };
}

/** Messages are percent-encoded; what is not stays as it is. */
function textOf(value: string | string[] | number | undefined): string {
  const text = String(Array.isArray(value) ? value[0] : (value ?? ''));
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
