/**
 * Owns: that a root directory has one agent: the second would run from memory beside the first one's
 * database and take its pods for leftovers.
 * The lock is an abstract unix socket named after the directory: the kernel gives it back when the
 * process dies, however it dies, and nothing is left on the disk. Nobody is ever answered on it.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { IsletError, messageOf } from '../util/errors.ts';

/**
 * Resolves to the release. @throws IsletError `already-exists` while another agent has the directory,
 * `failed` when it cannot be made.
 */
export async function lockRootDir(rootDir: string): Promise<() => void> {
  const name = createHash('sha256').update(madeDir(rootDir)).digest('hex');
  const server = createServer((connection) => connection.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const taken = cause.code === 'EADDRINUSE';
      const text = taken
        ? `another islet runs with the root directory ${rootDir}: stop it first, or use another --root-dir`
        : `cannot lock the root directory ${rootDir}: ${messageOf(cause)}`;
      reject(new IsletError(taken ? 'already-exists' : 'failed', text, { cause }));
    });
    server.listen(`\0islet-${name}`, resolve);
  });
  server.unref();
  return () => void server.close();
}

/** The directory's real path; made when it is missing. */
function madeDir(rootDir: string): string {
  try {
    mkdirSync(rootDir, { recursive: true, mode: 0o750 });
    return realpathSync(rootDir);
  } catch (cause) {
    const text = `cannot make the root directory ${rootDir}: ${messageOf(cause)}`;
    throw new IsletError('failed', text, { cause });
  }
}
