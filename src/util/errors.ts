/**
 * Owns: the one error class of islet. Errors are wrapped once, at the adapter that met them, with
 * the verb and the id of the thing; above that, code branches on `code` and never on message text.
 */

export type ErrorCode =
  /** The thing asked for does not exist (CRI NOT_FOUND, ENOENT, …). */
  | 'not-found'
  /** The thing exists already, e.g. a reserved sandbox name. */
  | 'already-exists'
  /** The call did not end before its deadline. */
  | 'deadline'
  /** Nobody answers: runtime down, socket missing. */
  | 'unavailable'
  /** The other side does not know the call. */
  | 'unimplemented'
  /** The caller gave it up. */
  | 'aborted'
  /** What the user wrote is wrong: config, manifest, command line. */
  | 'invalid'
  /** The disk is full or the quota is reached. */
  | 'no-space'
  /** Stored or received data cannot be understood. */
  | 'corrupt'
  /** Anything else the other side reports. */
  | 'failed';

export class IsletError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'IsletError';
    this.code = code;
  }
}

/** The code of an error made by islet, or undefined for any other error. */
export function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof IsletError ? error.code : undefined;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For the default branch of an exhaustive switch: broken invariants crash. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
