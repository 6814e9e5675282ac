/**
 * Owns: the bound on containerd's log. containerd appends to the file itself, so that it needs no
 * agent to write; the file is cut in place, which an appending writer does not notice.
 */
import fs from 'node:fs';

export const LOG_LIMIT_BYTES = 4 * 1024 * 1024;

/** Cuts the file to its last half when it is larger than `limit`; lines stay whole. Never throws. */
export function trimLog(file: string, limit = LOG_LIMIT_BYTES): void {
  try {
    const { size } = fs.statSync(file);
    if (size <= limit) return;
    const tail = readTail(file, Math.floor(limit / 2));
    // Lines written between the read and the cut are lost: a bounded log may lose lines.
    fs.truncateSync(file, 0);
    fs.appendFileSync(file, tail.subarray(tail.indexOf(0x0a) + 1));
  } catch {
    // A log that cannot be trimmed is no reason to trouble the pods.
  }
}

/** The last lines that are errors or fatal, newest last; for the agent's own log. */
export function lastComplaints(file: string, most = 3): string[] {
  try {
    const lines = readTail(file, 16 * 1024)
      .toString('utf8')
      .split('\n');
    return lines
      .filter((line) => /level=(error|fatal|panic)|^containerd:|^panic:/.test(line))
      .slice(-most);
  } catch {
    return [];
  }
}

function readTail(file: string, bytes: number): Buffer {
  const fd = fs.openSync(file, 'r');
  try {
    const { size } = fs.fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(bytes, size));
    const read = fs.readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    return buffer.subarray(0, read);
  } finally {
    fs.closeSync(fd);
  }
}
