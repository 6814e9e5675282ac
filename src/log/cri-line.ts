/**
 * Owns: the shape of one line of a container's log file as the runtime writes it:
 * `<RFC3339Nano> <stdout|stderr> <tags> <message>`, tags separated by colons, the first one `F` (full)
 * or `P` (the next line of the stream goes on with it). Spec: gc-logs-images.md §3.
 * Invariant: any bytes may come in; what is not such a line is undefined, never an exception.
 * Unlike the kubelet: the JSON lines of the docker shim, gone since 1.24, are not read.
 */

export type LogStream = 'stdout' | 'stderr';

export interface CriLine {
  /** As written. */
  readonly timestamp: string;
  readonly stream: LogStream;
  /** No newline follows the message. */
  readonly partial: boolean;
  /** A view into the parsed bytes. */
  readonly message: Buffer;
}

const SPACE = 0x20;
/** A timestamp with nine digits of fraction and an offset has 35 characters. */
const LONGEST_TIMESTAMP = 40;
const LONGEST_TAGS = 64;
const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** Parses one line, given without its newline. The message shares the memory of `line`. */
export function parseCriLine(line: Buffer): CriLine | undefined {
  const afterTime = line.indexOf(SPACE);
  if (afterTime < 0 || afterTime > LONGEST_TIMESTAMP) return undefined;
  const timestamp = line.toString('latin1', 0, afterTime);
  if (!TIMESTAMP.test(timestamp)) return undefined;

  const afterStream = line.indexOf(SPACE, afterTime + 1);
  if (afterStream - afterTime !== 'stdout '.length) return undefined;
  const stream = line.toString('latin1', afterTime + 1, afterStream);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;

  const afterTags = line.indexOf(SPACE, afterStream + 1);
  if (afterTags < 0 || afterTags - afterStream > LONGEST_TAGS) return undefined;
  const tag = line.toString('latin1', afterStream + 1, afterTags).split(':', 1)[0];
  if (tag !== 'F' && tag !== 'P') return undefined;

  return { timestamp, stream, partial: tag === 'P', message: line.subarray(afterTags + 1) };
}

/** Nine digits of fraction always, so that the columns of a log stay in line. */
export function fixedWidthTimestamp(timestamp: string): string {
  const match = TIMESTAMP.exec(timestamp);
  if (!match) return timestamp;
  return `${match[1]}.${(match[2] ?? '').padEnd(9, '0')}${match[3]}`;
}

/** Milliseconds since 1970 with fraction; NaN for a date that does not exist. */
export function timestampMs(timestamp: string): number {
  const match = TIMESTAMP.exec(timestamp);
  if (!match) return Number.NaN;
  return Date.parse(`${match[1]}${match[3]}`) + Number(`0.${match[2] ?? '0'}`) * 1000;
}
