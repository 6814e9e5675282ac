/**
 * Owns: the acts of rotation on the files of one container (spec: gc-logs-images.md §3.1): renaming a
 * log away under its writer, carrying out a plan, shortening what cannot be rotated.
 * Invariant: no line is lost by a rotation that fails.
 * Why some of it is synchronous: what a rotation asks of the file system takes microseconds, but on a node
 * whose cores are taken by the flood each asynchronous step waits for its turn twice, and the log
 * grows by a megabyte meanwhile.
 * Leaves to others: when (gc/log-keeper.ts), what goes (rotation-plan.ts).
 */
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { link, open, rename, rm, truncate, unlink } from 'node:fs/promises';
import path from 'node:path';
import { nextStamp, parseLogName } from './log-name.ts';
import type { DirectoryFile } from './rotation-plan.ts';

const NEWLINE = 0x0a;
const CHUNK = 64 * 1024;

/** The logs of a container's directory with their sizes; empty when it is not there. */
export function logsIn(directory: string): DirectoryFile[] {
  return namesIn(directory).flatMap((name) => {
    const found = statSync(path.join(directory, name), { throwIfNoEntry: false });
    return parseLogName(name) && found?.isFile() ? [{ name, size: found.size }] : [];
  });
}

/** Renames the log to that of an older part and returns the new path; its writer goes on in it. */
export function moveAway(log: string, wallMs: number): string {
  const { instance } = parseLogName(path.basename(log)) ?? {};
  const stamps = namesIn(path.dirname(log)).flatMap((name) => {
    const parsed = parseLogName(name);
    return parsed?.instance === instance && parsed?.stamp !== undefined ? [parsed.stamp] : [];
  });
  const rotated = `${log}.${nextStamp(wallMs, stamps)}`;
  renameSync(log, rotated);
  return rotated;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/**
 * Undoes `moveAway`, for a writer that did not begin a new log.
 * Unlike the kubelet, which renames: a writer that did reopen, and only failed to say so, has a new log
 * there by now, which must not be overwritten.
 */
export async function putBack(rotated: string, log: string): Promise<void> {
  try {
    await link(rotated, log);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'EPERM' && code !== 'ENOSPC' && code !== 'EMLINK') throw error;
    await rename(rotated, log); // no hard links here, or no room for one
    return;
  }
  await unlink(rotated);
}

export function removeLogs(directory: string, names: readonly string[]): void {
  for (const name of names) rmSync(path.join(directory, name), { force: true });
}

/** Leaves a complete log only its last lines, at most `bytes` of them. */
export async function cutToTail(log: string, bytes: number): Promise<void> {
  const temporary = `${log}.0.tmp`;
  const from = await open(log, 'r');
  try {
    const { size, mode } = await from.stat();
    const to = await open(temporary, 'w', mode & 0o7777);
    try {
      const chunk = Buffer.allocUnsafe(CHUNK);
      let position = Math.max(0, size - bytes);
      for (let started = position === 0; ;) {
        const { bytesRead } = await from.read(chunk, 0, CHUNK, position);
        if (bytesRead === 0) break;
        position += bytesRead;
        let part = chunk.subarray(0, bytesRead);
        if (!started) {
          const end = part.indexOf(NEWLINE);
          if (end < 0) continue;
          started = true;
          part = part.subarray(end + 1);
        }
        await to.writeFile(part);
      }
    } finally {
      await to.close();
    }
    await rename(temporary, log);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await from.close();
  }
}

/**
 * The last resort for a log that grows and cannot be rotated. Runtimes open logs for appending, so they
 * go on from its new end, at the border of a line.
 */
export async function emptyLog(log: string): Promise<void> {
  await truncate(log, 0);
}
