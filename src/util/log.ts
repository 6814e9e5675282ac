/**
 * Owns: the agent's log on stderr: one JSON object a line, readable text when stderr is a terminal.
 * Leaves to others: what is worth a line. Nothing is logged at info in an idle minute.
 */

export type Level = 'debug' | 'info' | 'warn' | 'error';

/** Values that a log line carries beside its message; `err` may hold any error. */
export type Fields = Record<string, unknown>;

export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A logger whose lines all carry `fields`. */
  child(fields: Fields): Logger;
}

const RANK: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 };
const COLOUR: Record<Level, string> = { debug: '2', info: '36', warn: '33', error: '31' };

export interface LogSink {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface LogOptions {
  sink: LogSink;
  level: Level;
  /** Wall time in milliseconds. */
  wall: () => number;
  format?: 'json' | 'text';
}

export function createLogger(options: LogOptions, bound: Fields = {}): Logger {
  const format = options.format ?? (options.sink.isTTY ? 'text' : 'json');
  const emit = (level: Level, message: string, fields: Fields = {}): void => {
    if (RANK[level] < RANK[options.level]) return;
    const time = new Date(options.wall()).toISOString();
    const all = { ...bound, ...fields };
    options.sink.write(
      format === 'json' ? jsonLine(time, level, message, all) : textLine(time, level, message, all),
    );
  };
  return {
    debug: (message, fields) => emit('debug', message, fields),
    info: (message, fields) => emit('info', message, fields),
    warn: (message, fields) => emit('warn', message, fields),
    error: (message, fields) => emit('error', message, fields),
    child: (fields) => createLogger(options, { ...bound, ...fields }),
  };
}

function jsonLine(time: string, level: Level, message: string, fields: Fields): string {
  return `${JSON.stringify({ time, level, msg: message, ...plain(fields) })}\n`;
}

function textLine(time: string, level: Level, message: string, fields: Fields): string {
  const rest = Object.entries(plain(fields))
    .map(([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');
  return `${time.slice(11, 23)} \x1b[${COLOUR[level]}m${level.toUpperCase().padEnd(5)}\x1b[0m ${message}${rest}\n`;
}

function plain(fields: Fields): Fields {
  const out: Fields = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    out[key] =
      value instanceof Error ? describe(value) : typeof value === 'bigint' ? String(value) : value;
  }
  return out;
}

function describe(error: Error): string {
  const cause = error.cause instanceof Error ? `: ${describe(error.cause)}` : '';
  return error.message + cause;
}
