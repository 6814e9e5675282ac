/**
 * Owns: the surroundings of a command that runs as a program of its own: the process's streams, and
 * Ctrl-C as an AbortSignal.
 */
import type { Clock } from '../util/clock.ts';
import type { CliIo } from './io.ts';

/** For commands that ask the agent; the agent itself has its own ordered stop. */
export function processIo(socketPath: string, clock: Clock): CliIo {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new Error('interrupted'));
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  // A reader that is gone (`| head`) is no error; without a listener it would end the process loudly.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    socketPath,
    clock,
    env: process.env,
    signal: controller.signal,
  };
}
