/**
 * Owns: one containerd process: start it so that it outlives the agent, find one that an earlier
 * agent left, wait for its end, end it.
 * Invariants: it runs in a session of its own (a Ctrl-C for the agent does not reach it) and keeps no
 * pipe to the agent; a pid is believed only while its command line names our configuration file.
 * Leaves to others: when to start it again (supervisor.ts).
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { IsletError } from '../util/errors.ts';
import type { Clock } from '../util/clock.ts';
import type { ContainerdPaths } from './paths.ts';

export interface ContainerdProcess {
  readonly pid: number;
  /** Found running, not started by us; its exit code cannot be known then. */
  readonly adopted: boolean;
  /** Resolves when it has ended, with how it ended as text; rejects when the signal aborts. */
  ended(signal: AbortSignal): Promise<string>;
}

const ADOPTED_POLL_MS = 1000;
const STOP_POLL_MS = 50;
/** containerd closes its database and stops its servers within a second or two. */
const STOP_GRACE_MS = 10_000;

/** Starts containerd; throws `failed` when it cannot be executed. */
export async function spawnContainerd(
  binary: string,
  paths: ContainerdPaths,
): Promise<ContainerdProcess> {
  // The shim that came with this containerd goes before any other.
  const search = `${path.dirname(binary)}:${process.env['PATH'] ?? ''}`;
  // The agent's service manager waits for the agent, not for containerd.
  const env = { ...process.env, PATH: search, NOTIFY_SOCKET: undefined, WATCHDOG_USEC: undefined };
  const log = fs.openSync(paths.logFile, 'a', 0o600);
  try {
    const child = spawn(binary, ['--config', paths.configFile], {
      cwd: '/',
      detached: true,
      env,
      stdio: ['ignore', log, log],
    });
    const end = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code ?? 0}`));
    });
    const pid = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('spawn', () => resolve(child.pid ?? 0));
    });
    child.unref();
    fs.writeFileSync(paths.pidFile, `${pid}\n`);
    return { pid, adopted: false, ended: (signal) => orAborted(end, signal) };
  } catch (error) {
    throw new IsletError('failed', `start ${binary}`, { cause: error });
  } finally {
    fs.closeSync(log);
  }
}

/** The containerd that runs with our configuration file, or undefined. */
export function findContainerdProcess(
  paths: ContainerdPaths,
  clock: Clock,
): ContainerdProcess | undefined {
  const pid = readPid(paths.pidFile);
  if (pid === undefined || !isOurs(pid, paths)) return undefined;
  const ended = async (signal: AbortSignal): Promise<string> => {
    while (isOurs(pid, paths)) await clock.sleep(ADOPTED_POLL_MS, signal);
    return 'ended';
  };
  return { pid, adopted: true, ended };
}

/** Ends it: SIGTERM, after ten seconds SIGKILL. Shims, and so pods, live on. Repeatable. */
export async function terminateContainerd(
  pid: number,
  paths: ContainerdPaths,
  clock: Clock,
): Promise<void> {
  const never = new AbortController().signal;
  const deadline = clock.monotonic() + STOP_GRACE_MS;
  let signal: NodeJS.Signals = 'SIGTERM';
  if (isOurs(pid, paths)) sendSignal(pid, signal);
  while (isOurs(pid, paths)) {
    if (signal === 'SIGTERM' && clock.monotonic() > deadline) {
      signal = 'SIGKILL';
      sendSignal(pid, signal);
    }
    await clock.sleep(STOP_POLL_MS, never);
  }
  fs.rmSync(paths.pidFile, { force: true });
}

/** Whether the pid is a live (not zombie) containerd with our configuration file. */
function isOurs(pid: number, paths: ContainerdPaths): boolean {
  try {
    const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return words.includes(paths.configFile);
  } catch {
    return false;
  }
}

function readPid(file: string): number | undefined {
  try {
    const pid = Number(fs.readFileSync(file, 'utf8').trim());
    return Number.isInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended between the look and the signal.
  }
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void =>
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    void promise.then((value) => {
      signal.removeEventListener('abort', onAbort);
      resolve(value);
    });
  });
}
