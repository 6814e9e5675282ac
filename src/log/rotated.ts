/**
 * Owns: the files that rotation leaves beside a log, `<log>.<time>` and `<log>.<time>.gz`, and the
 * question which file a reader goes on with when the one it holds has come to its end.
 * Spec: gc-logs-images.md §3.1. Leaves to others: rotating.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export interface LogFile {
  readonly path: string;
  /** Device and inode: tells whether a path still names the same file. */
  readonly identity: string;
  readonly size: number;
}

/** Undefined when nothing is there. */
export async function identify(path: string): Promise<LogFile | undefined> {
  try {
    const { dev, ino, size } = await stat(path);
    return { path, identity: `${dev}:${ino}`, size };
  } catch {
    return undefined;
  }
}

/** Uncompressed rotated files of a log, oldest first. */
export async function rotatedFiles(logPath: string): Promise<LogFile[]> {
  const directory = dirname(logPath);
  const prefix = `${basename(logPath)}.`;
  const names = await readdir(directory).catch(() => []);
  const files: LogFile[] = [];
  for (const name of names.filter((n) => n.startsWith(prefix) && /\d$/.test(n)).sort()) {
    const file = await identify(join(directory, name));
    if (file) files.push(file);
  }
  return files;
}

/**
 * The file that continues the one with `identity`, from the rotated files (oldest first) that are not
 * known to be older: itself, once rotated, and younger ones. Where it is not among them it was
 * compressed or deleted. Undefined: it is the current one, or nothing follows yet.
 */
export function successor(
  identity: string,
  rotated: readonly LogFile[],
  current: LogFile | undefined,
): LogFile | undefined {
  if (current?.identity === identity) return undefined;
  const at = rotated.findIndex((file) => file.identity === identity);
  return rotated[at + 1] ?? current;
}
