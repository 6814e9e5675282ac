/**
 * Owns: whether some process has a file open for writing, told from /proc.
 * Why: `cat > pod.yaml` may be a valid pod with one container too few for as long as it is not closed,
 * and no file event tells "closed" through Node's watcher. Unlike the kubelet: such a file is not acted
 * on (source.ts).
 * Limits: only processes of this PID namespace are seen, and only with the rights to look (root); a
 * descriptor opened through a hard link of another name is not. Then a file counts as closed.
 * Cost: one pass over /proc for any number of files, about 10 ms for 80 processes, and only for files
 * whose content changed. A descriptor that was found is checked alone afterwards (`stillWriting`).
 */
import { readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';

/** Identity of an open file. */
export interface FileId {
  readonly dev: bigint;
  readonly ino: bigint;
}

export interface WriterQuery extends FileId {
  /** Path without symlinks. */
  readonly realPath: string;
}

export interface Writer extends FileId {
  readonly pid: number;
  /** `/proc/<pid>/fd/<n>`. */
  readonly link: string;
}

/** Processes looked at before others get their turn on the event loop. */
const SLICE = 64;
const O_ACCMODE = 0o3;
const O_RDONLY = 0;

/** The first writer of each file that has one, keyed by the file's `realPath`. Never rejects. */
export async function findWriters(files: readonly WriterQuery[]): Promise<Map<string, Writer>> {
  const found = new Map<string, Writer>();
  if (files.length === 0) return found;
  const byName = new Map<string, WriterQuery[]>();
  for (const file of files) {
    const name = basename(file.realPath);
    byName.set(name, [...(byName.get(name) ?? []), file]);
  }
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  // Newest first is where a writer most likely is.
  pids.reverse();
  for (const [i, pid] of pids.entries()) {
    const fds = i % SLICE === SLICE - 1 ? await fdsLater(pid) : fdsNow(pid);
    for (const fd of fds) {
      const link = `/proc/${pid}/fd/${fd}`;
      const file = fileBehind(link, byName);
      if (file && !found.has(file.realPath) && opensForWriting(pid, fd)) {
        found.set(file.realPath, { pid: Number(pid), link, dev: file.dev, ino: file.ino });
        if (found.size === files.length) return found;
      }
    }
  }
  return found;
}

/** Whether a writer found earlier still has its file open. */
export function stillWriting(writer: Writer): boolean {
  try {
    const stats = statSync(writer.link, { bigint: true });
    if (stats.ino !== writer.ino || stats.dev !== writer.dev) return false;
  } catch {
    return false;
  }
  const [, , pid = '', , fd = ''] = writer.link.split('/');
  return opensForWriting(pid, fd);
}

function fdsNow(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return []; // ended meanwhile, or not ours to look at
  }
}

async function fdsLater(pid: string): Promise<string[]> {
  return readdir(`/proc/${pid}/fd`).catch(() => []);
}

/** The name is compared first: a stat of every descriptor could hang on a dead network file system. */
function fileBehind(
  link: string,
  byName: ReadonlyMap<string, readonly WriterQuery[]>,
): WriterQuery | undefined {
  try {
    const target = readlinkSync(link);
    const files = byName.get(target.slice(target.lastIndexOf('/') + 1));
    if (!files) return undefined;
    const stats = statSync(link, { bigint: true });
    return files.find((file) => file.ino === stats.ino && file.dev === stats.dev);
  } catch {
    return undefined;
  }
}

function opensForWriting(pid: string, fd: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'latin1'));
    return flags !== null && (Number.parseInt(flags[1] ?? '0', 8) & O_ACCMODE) !== O_RDONLY;
  } catch {
    return false;
  }
}
