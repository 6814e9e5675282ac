/** Owns: commands run against a real agent socket, with their output kept. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { CliIo } from '../../../src/cli/io.ts';
import { serveSocket } from '../../../src/server/socket.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { FakeView, memoryLog, temporaryDirectory } from '../server/support.ts';

/** The wall time that commands see: an hour after the pods of the tests were started. */
export const NOW = Date.UTC(2026, 0, 1, 1);

export class Screen {
  text = '';
  readonly isTTY: boolean;
  readonly columns = 100;
  rows = 24;

  constructor(isTTY = false) {
    this.isTTY = isTTY;
  }

  write(data: string | Uint8Array, done?: (error?: Error | null) => void): boolean {
    this.text += typeof data === 'string' ? data : Buffer.from(data).toString();
    done?.();
    return true;
  }

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1);
  }
}

export interface TestIo extends CliIo {
  readonly stdout: Screen;
  readonly stderr: Screen;
}

export function testIo(socketPath: string, more: Partial<TestIo> = {}): TestIo {
  const clock = new SystemClock();
  clock.wall = () => NOW;
  return {
    stdout: new Screen(),
    stderr: new Screen(),
    socketPath,
    clock,
    env: {},
    signal: new AbortController().signal,
    ...more,
  };
}

export interface TestAgent {
  readonly view: FakeView;
  readonly root: string;
  readonly podLogsDir: string;
  readonly socketPath: string;
  /** Runs a command with a fresh io. */
  readonly run: <A>(command: (args: A, io: CliIo) => Promise<number>, args: A) => Promise<Outcome>;
}

export interface Outcome {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export async function startAgent(t: TestContext): Promise<TestAgent> {
  const root = await temporaryDirectory(t);
  const view = new FakeView();
  const socketPath = join(root, 'islet.sock');
  const podLogsDir = join(root, 'pods');
  const { log } = memoryLog();
  const clock = new SystemClock();
  const server = await serveSocket({ view, socketPath, podLogsDir, clock, log });
  t.after(() => server.close());
  const run: TestAgent['run'] = async (command, args) => {
    const io = testIo(socketPath);
    const status = await command(args, io);
    return { status, out: io.stdout.text, err: io.stderr.text };
  };
  return { view, root, podLogsDir, socketPath, run };
}
