/**
 * Owns: talking to systemd-logind, through the programs that come with it: `busctl` and `systemd-inhibit`. That
 * is two small processes where graceful shutdown is configured, and no D-Bus library everywhere.
 * Invariant: the inhibitor ends with this process, however it ends: its child waits for a pipe to close.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { IsletError } from '../util/errors.ts';
import type { Logind } from './shutdown-watch.ts';

const NAME = 'org.freedesktop.login1';
const OBJECT = ['/org/freedesktop/login1', 'org.freedesktop.login1.Manager'];
const SIGNAL = 'PrepareForShutdown';
const WHO = 'kubelet';
const WHY = 'Kubelet needs time to handle node shutdown';
const DROP_IN = '99-kubelet.conf';
const CALL_TIMEOUT_MS = 10_000;
const SYSTEMD = [
  'org.freedesktop.systemd1',
  '/org/freedesktop/systemd1',
  'org.freedesktop.systemd1.Manager',
];

export interface LogindPaths {
  readonly busctl: string;
  readonly inhibit: string;
  /** Where drop-ins of its configuration are. */
  readonly configDir: string;
}

const SYSTEM: LogindPaths = {
  busctl: 'busctl',
  inhibit: 'systemd-inhibit',
  configDir: '/etc/systemd/logind.conf.d',
};

export function systemLogind(paths: LogindPaths = SYSTEM): Logind {
  const call = async (args: readonly string[], signal: AbortSignal): Promise<string> => {
    const options = { signal, timeout: CALL_TIMEOUT_MS };
    return (await promisify(execFile)(paths.busctl, [...args], options)).stdout;
  };
  return {
    async delayMs(signal) {
      // `t 5000000`, in microseconds.
      const text = await call(['get-property', NAME, ...OBJECT, 'InhibitDelayMaxUSec'], signal);
      const delay = /^t (\d+)/.exec(text)?.[1];
      if (delay === undefined) {
        throw new IsletError('failed', `logind says ${JSON.stringify(text.trim())} of its delay`);
      }
      return Number(delay) / 1000;
    },

    async raiseDelay(ms, signal) {
      const text = `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${Math.ceil(ms / 1000)}\n`;
      await fs.mkdir(paths.configDir, { recursive: true });
      await fs.writeFile(path.join(paths.configDir, DROP_IN), text);
      const hangup = ['ssi', 'systemd-logind.service', 'all', '1'];
      await call(['call', ...SYSTEMD, 'KillUnit', ...hangup], signal);
    },

    inhibit() {
      const args = ['--what=shutdown', `--who=${WHO}`, `--why=${WHY}`, '--mode=delay', 'cat'];
      const child = spawn(paths.inhibit, args, { stdio: ['pipe', 'ignore', 'ignore'] });
      child.on('error', () => undefined); // then nothing is held up, as without it
      child.stdin.on('error', () => undefined);
      return () => void child.stdin.end();
    },

    async watch(onSignal, signal) {
      const match = `type='signal',interface='${NAME}.Manager',member='${SIGNAL}'`;
      const args = ['--json=short', 'monitor', '--match', match];
      const child = spawn(paths.busctl, args, { stdio: ['ignore', 'pipe', 'ignore'], signal });
      const failed = once(child, 'error');
      failed.catch(() => undefined);
      const read = async (): Promise<void> => {
        for await (const line of createInterface({ input: child.stdout })) {
          const begins = announcementIn(line);
          if (begins !== undefined) onSignal(begins);
        }
      };
      await Promise.race([read(), failed]);
      child.kill();
      signal.throwIfAborted();
    },
  };
}

/** What a message of the bus announces; undefined for any other message. */
export function announcementIn(line: string): boolean | undefined {
  try {
    const { member, payload } = JSON.parse(line) as {
      member?: unknown;
      payload?: { data?: unknown[] };
    };
    const begins = payload?.data?.[0];
    return member === SIGNAL && typeof begins === 'boolean' ? begins : undefined;
  } catch {
    return undefined;
  }
}
