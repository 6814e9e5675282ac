/**
 * Owns: what is to go and what is to be compressed in a container's log directory: a pure function of
 * its files (spec: gc-logs-images.md §3.1).
 * Unlike the kubelet, which looks at the running instance only and lets the logs of every crash lie
 * beside it: what all instances of a container have on the disk is bounded by maxSize × maxFiles, and
 * the oldest goes first. So a pod is bounded by that times its containers, whatever they do.
 */
import { byAge, parseLogName, type LogName } from './log-name.ts';

export interface LogLimits {
  /** Bytes at which a log is rotated. */
  readonly maxSize: number;
  /** Files of one instance, its current one included; at least 2. */
  readonly maxFiles: number;
}

export interface DirectoryFile {
  readonly name: string;
  readonly size: number;
}

export interface DirectoryPlan {
  readonly remove: readonly string[];
  /** Oldest first. */
  readonly compress: readonly string[];
}

type Sized = LogName & { readonly size: number };

/** What a container may have on the disk altogether. */
export function boundOf({ maxSize, maxFiles }: LogLimits): number {
  return maxSize * maxFiles;
}

/** `current`: name of the newest instance's log, which always stays. */
export function planDirectory(
  files: readonly DirectoryFile[],
  current: string,
  limits: LogLimits,
): DirectoryPlan {
  const known = files.flatMap((file): Sized[] => {
    const parsed = parseLogName(file.name);
    return parsed ? [{ ...parsed, size: file.size }] : [];
  });
  const unfinished = known.filter((file) => isUnfinished(file, known));
  const whole = known.filter((file) => !unfinished.includes(file) && file.name !== current);
  whole.sort(byAge);
  const tooMany = excessParts(whole, limits.maxFiles);
  const left = withinBound(
    whole.filter((file) => !tooMany.includes(file)),
    files.find((file) => file.name === current)?.size ?? 0,
    limits,
  );
  const newest = left.filter((file) => file.stamp !== undefined).at(-1);
  const currentInstance = parseLogName(current)?.instance;
  return {
    remove: known.filter((f) => f.name !== current && !left.includes(f)).map(({ name }) => name),
    compress: left
      .filter((f) => f.stamp !== undefined && f.form === 'plain')
      // The newest part stays as it is until the next rotation: readers go on in it.
      .filter((f) => f !== newest || f.instance !== currentInstance)
      .map(({ name }) => name),
  };
}

/** Left by a compression that was cut off: before its end the copy is void, after it the original. */
function isUnfinished(file: LogName, all: readonly LogName[]): boolean {
  if (file.form === 'tmp') return true;
  return file.form === 'plain' && all.some((other) => other.name === `${file.name}.gz`);
}

function excessParts(whole: readonly Sized[], maxFiles: number): Sized[] {
  const rotated = whole.filter((file) => file.stamp !== undefined);
  const instances = new Set(rotated.map((file) => file.instance));
  return [...instances].flatMap((instance) => {
    const parts = rotated.filter((file) => file.instance === instance);
    return parts.slice(0, Math.max(0, parts.length - (maxFiles - 1)));
  });
}

/**
 * The newest that leave the current log room for maxSize. A part that grew too large before it could be
 * rotated stays as long as it is the only one and all fits, so that there is something to read.
 */
function withinBound(
  oldestFirst: readonly Sized[],
  currentSize: number,
  limits: LogLimits,
): Sized[] {
  const left = [...oldestFirst];
  let total = left.reduce((sum, file) => sum + file.size, 0);
  const room = boundOf(limits) - Math.max(limits.maxSize, currentSize);
  while (total > room) {
    const [oldest] = left;
    if (!oldest || (left.length === 1 && total + currentSize <= boundOf(limits))) break;
    total -= oldest.size;
    left.shift();
  }
  return left;
}
