/**
 * Owns: listening on a unix socket that belongs to root alone.
 * Invariants: there is no moment at which another user could connect: the socket is bound in a
 * directory of mode 0700, made 0600 there, and only then moved to its place. (A umask would do too, but
 * holds for the whole process, other threads' files included.) The socket of an agent that died is
 * replaced; that of one that lives is left alone, and so is anything that is not a socket.
 */
import { once } from 'node:events';
import { chmod, lstat, mkdir, mkdtemp, rename, rm, unlink } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { IsletError, messageOf } from '../util/errors.ts';

/** `sun_path` less its closing NUL. */
const LONGEST_PATH = 107;

/**
 * Resolves when the server listens, with a function that removes the socket if it is still this one.
 * Throws IsletError: `already-exists` when an agent answers there, `invalid` for a path that cannot be
 * one, else `failed`.
 */
export async function listenUnix(server: Server, path: string): Promise<() => Promise<void>> {
  const directory = dirname(path);
  let nest: string | undefined;
  try {
    await mkdir(directory, { recursive: true, mode: 0o755 });
    await refuseTaken(path);
    nest = await mkdtemp(join(directory, '.sock-')); // made with mode 0700
    const egg = join(nest, 's');
    for (const one of [path, egg]) refuseLong(one, path);
    server.listen(egg);
    await once(server, 'listening');
    await chmod(egg, 0o600);
    await rename(egg, path);
  } catch (cause) {
    server.close();
    if (cause instanceof IsletError) throw cause;
    throw new IsletError('failed', `listening on ${path}: ${messageOf(cause)}`, { cause });
  } finally {
    if (nest !== undefined) await rm(nest, { recursive: true, force: true });
  }
  const { ino } = await lstat(path);
  return () => removeOwn(path, ino);
}

function refuseLong(path: string, asked: string): void {
  if (Buffer.byteLength(path) <= LONGEST_PATH) return;
  const room = LONGEST_PATH - Buffer.byteLength(path) + Buffer.byteLength(asked);
  throw new IsletError(
    'invalid',
    `the socket path ${asked} is too long for a unix socket: at most ${room} bytes`,
  );
}

async function refuseTaken(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (!there) return;
  if (!there.isSocket()) {
    throw new IsletError('invalid', `the socket path ${path} is taken by ${kind(path)}`);
  }
  if (await answers(path)) {
    throw new IsletError('already-exists', `another islet runs: it answers on ${path}`);
  }
}

function kind(path: string): string {
  return `something that is not a socket; move ${basename(path)} away or set another socketPath`;
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const done = (answer: boolean) => (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', done(true));
    socket.once('error', done(false));
  });
}

async function removeOwn(path: string, ino: number): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there?.ino === ino) await unlink(path).catch(() => undefined);
}
