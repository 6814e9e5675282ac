/**
 * Owns: turning what the file system says into IsletErrors, once, with what was being done.
 */
import { IsletError, messageOf } from '../util/errors.ts';
import type { ErrorCode } from '../util/errors.ts';

/** An IsletError stays what it is; `said` replaces the text of the cause. */
export function volumeError(doing: string, cause: unknown, said?: string): IsletError {
  if (cause instanceof IsletError) return cause;
  return new IsletError(codeFor(cause), `${doing}: ${said ?? messageOf(cause)}`, { cause });
}

export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

function codeFor(cause: unknown): ErrorCode {
  const errno = errnoOf(cause);
  if (errno === 'ENOENT') return 'not-found';
  if (errno === 'ENOSPC' || errno === 'EDQUOT') return 'no-space';
  return errno === 'ABORT_ERR' ? 'aborted' : 'failed';
}
