/**
 * Owns: the one place where a gRPC status becomes an IsletError, with the RPC's name and the id of
 * the thing it was about.
 *
 * Codes tell less than one would hope: containerd answers UNKNOWN for most failures, among them
 * `failed to reserve sandbox name …` (seen on 1.6 and 1.7), so that a name which is taken comes
 * back as `failed`, not as `already-exists`. Callers that care look at what the runtime lists, or
 * take the next attempt number; nobody reads the text.
 */
import { status as Status } from '@grpc/grpc-js';
import { IsletError, messageOf } from '../util/errors.ts';
import type { ErrorCode } from '../util/errors.ts';

/** What the runtime itself said, without islet's prefix; the `cause` of every error of a call. */
export class RuntimeFault extends Error {
  /** gRPC status code, 1-16. */
  readonly grpcCode: number;

  constructor(grpcCode: number, text: string) {
    super(text);
    this.name = 'RuntimeFault';
    this.grpcCode = grpcCode;
  }
}

const CODES: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [Status.CANCELLED, 'aborted'],
  [Status.DEADLINE_EXCEEDED, 'deadline'],
  [Status.NOT_FOUND, 'not-found'],
  [Status.ALREADY_EXISTS, 'already-exists'],
  [Status.UNAVAILABLE, 'unavailable'],
  [Status.UNIMPLEMENTED, 'unimplemented'],
]);

/** `rpc`: e.g. `StopContainer`; `id`: what it was about, or '' for calls about the runtime. */
export function callError(rpc: string, id: string, grpcCode: number, text: string): IsletError {
  return new IsletError(CODES.get(grpcCode) ?? 'failed', `${subject(rpc, id)}: ${text}`, {
    cause: new RuntimeFault(grpcCode, text),
  });
}

/** The answer came, but is not what the protocol says. */
export function badAnswer(rpc: string, id: string, cause: unknown): IsletError {
  return new IsletError('corrupt', `${subject(rpc, id)}: ${messageOf(cause)}`, { cause });
}

/**
 * The text for users (event and status messages): the runtime's own words where the runtime spoke,
 * else the error's message.
 */
export function runtimeText(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof RuntimeFault ? cause.message : messageOf(error);
}

function subject(rpc: string, id: string): string {
  return id === '' ? rpc : `${rpc} ${id}`;
}
