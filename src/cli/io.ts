/**
 * Owns: what a command of the CLI gets from its surroundings, and how it ends: every command is a
 * function `(args, io) => Promise<number>` whose number is the exit status.
 * Invariants: results go to stdout, everything about them to stderr; an error is one line.
 */
import type { Clock } from '../util/clock.ts';
import { IsletError, messageOf } from '../util/errors.ts';

export interface Output {
  write(data: string | Uint8Array, done?: (error?: Error | null) => void): boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export interface CliIo {
  readonly stdout: Output;
  readonly stderr: Output;
  /** The agent's unix socket. */
  readonly socketPath: string;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted on Ctrl-C and when nobody reads stdout any more. */
  readonly signal: AbortSignal;
}

/** What the shell shows for a program ended by Ctrl-C. */
const INTERRUPTED = 130;

/** Runs the body of a command and turns what it throws into one line and an exit status. */
export async function guarded(io: CliIo, body: () => Promise<number>): Promise<number> {
  try {
    return await body();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return 0; // `| head` has seen enough
    if (io.signal.aborted) return INTERRUPTED;
    if (!(error instanceof IsletError)) throw error;
    io.stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
}

/** Resolves when `data` has been taken, so that a slow reader slows the writer. */
export function write(output: Output, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(data, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

/**
 * Text that came from elsewhere (messages, names of files), made harmless for a terminal: control
 * characters are shown as `^X` or `\xNN`, lines become one.
 */
export function harmless(text: string): string {
  return text
    .trim()
    .replace(/\s*[\r\n]+\s*/g, ' ')
    .replace(/\t/g, ' ')
    .replace(CONTROL, (char) => {
      const code = char.charCodeAt(0);
      return code < 0x20
        ? `^${String.fromCharCode(code + 0x40)}`
        : `\\x${code.toString(16).padStart(2, '0')}`;
    });
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;
