/**
 * Owns: running a credential plugin once: request on stdin, answer from stdout, one minute (spec:
 * gc-logs-images.md §5.2).
 * Invariants: the program and its children are gone when this returns, also when the caller gives it up; what it writes to stderr is
 * dropped, because plugins print their credentials there when they are debugged.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { CredentialProvider } from '../config/model.ts';
import type { Clock } from '../util/clock.ts';
import { IsletError } from '../util/errors.ts';
import { pluginRequest, readPluginAnswer } from './plugin-answer.ts';
import type { PluginAnswer } from './plugin-answer.ts';

const TIMEOUT_MS = 60_000;
/** Far more than the logins of any registry. */
const LONGEST_ANSWER = 1024 * 1024;

/** Asks for the logins of an image. @throws IsletError `failed`, `deadline` or `corrupt`; the reason of an abort */
export type AskPlugin = (
  provider: CredentialProvider,
  image: string,
  signal: AbortSignal,
) => Promise<PluginAnswer>;

export function pluginAsker(clock: Clock): AskPlugin {
  return async (provider, image, signal) => {
    const text = await run(provider, pluginRequest(provider.apiVersion, image), clock, signal);
    return readPluginAnswer(text, provider.apiVersion);
  };
}

async function run(
  provider: CredentialProvider,
  request: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const added = Object.fromEntries(provider.env.map(({ name, value }) => [name, value]));
  // A process group of its own, so that what it has started ends with it.
  const child = spawn(provider.binary, provider.args, {
    env: { ...process.env, ...added },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  const done = new AbortController();
  try {
    return await Promise.race([
      output(child, request),
      tooLate(clock, AbortSignal.any([done.signal, signal])),
    ]);
  } finally {
    done.abort(new Error('done'));
    endGroup(child);
  }
}

function output(child: ChildProcess, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    child.stdout?.on('data', (part: Buffer) => {
      length += part.length;
      if (length > LONGEST_ANSWER)
        reject(new IsletError('corrupt', 'the answer is longer than 1 MiB'));
      else parts.push(part);
    });
    child.once('error', (cause) => reject(new IsletError('failed', 'cannot be run', { cause })));
    child.once('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(parts).toString());
      else reject(new IsletError('failed', signal ? `ended by ${signal}` : `exit status ${code}`));
    });
    // A plugin may answer without having read the request.
    child.stdin?.on('error', () => undefined).end(request);
  });
}

async function tooLate(clock: Clock, signal: AbortSignal): Promise<never> {
  await clock.sleep(TIMEOUT_MS, signal);
  throw new IsletError('deadline', 'no answer within 1m0s');
}

function endGroup(child: ChildProcess): void {
  child.stdout?.destroy();
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // All gone already.
  }
}
