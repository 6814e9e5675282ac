/**
 * Owns: what is in the manifest directory: which entries are manifests, which are ignored and why.
 * Invariants: order is the byte order of the names (spec: static-pods.md §2); symlinks are followed,
 * sub-directories are not entered; nothing is opened here.
 * Unlike the kubelet: only `.yaml .yml .json .manifest` count, so a backup file is never a second pod.
 */
import { type BigIntStats, type Dirent, constants } from 'node:fs';
import { access, lstat, readdir, stat } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { messageOf } from '../util/errors.ts';

/** What tells that a file was not touched since; times in nanoseconds. */
export interface Signature {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

export type Entry =
  | { readonly kind: 'manifest'; readonly file: string; readonly signature: Signature }
  | { readonly kind: 'ignored' | 'unreadable'; readonly file: string; readonly reason: string };

export type Listing =
  | {
      readonly kind: 'listed';
      /** What to watch: the directory, or the one that holds the single file. */
      readonly watch: string;
      readonly dev: bigint;
      readonly ino: bigint;
      readonly entries: readonly Entry[];
    }
  /** Nothing is known about any file. */
  | { readonly kind: 'missing'; readonly reason: string };

const EXTENSIONS: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json', '.manifest']);

/**
 * Lists `path`, a directory or a single manifest file. `singleFile` says that the path was a file
 * before, so its absence in a directory that is there means that it was deleted.
 */
export async function listManifests(path: string, singleFile: boolean): Promise<Listing> {
  let stats: BigIntStats;
  try {
    stats = await stat(path, { bigint: true });
  } catch (error) {
    if (singleFile && codeOf(error) === 'ENOENT') return listAbsentFile(path);
    return { kind: 'missing', reason: messageOf(error) };
  }
  try {
    if (stats.isFile()) return await listFile(path, stats);
    if (!stats.isDirectory()) {
      return { kind: 'missing', reason: `${path} is not a directory or file` };
    }
    const names = await readdir(path, { withFileTypes: true });
    // Without the right to search it, every file would look as if it were gone.
    await access(path, constants.R_OK | constants.X_OK);
    names.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
    const entries = await Promise.all(names.map((name) => entryOf(path, name)));
    const present = entries.filter((entry) => entry !== undefined);
    return { kind: 'listed', watch: path, dev: stats.dev, ino: stats.ino, entries: present };
  } catch (error) {
    return { kind: 'missing', reason: messageOf(error) };
  }
}

export function sameSignature(a: Signature, b: Signature): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs
  );
}

export function signatureOf(stats: BigIntStats): Signature {
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  return { dev, ino, size, mtimeNs, ctimeNs };
}

async function listFile(path: string, stats: BigIntStats): Promise<Listing> {
  const parent = await stat(dirname(path), { bigint: true });
  const entry: Entry = { kind: 'manifest', file: path, signature: signatureOf(stats) };
  return {
    kind: 'listed',
    watch: dirname(path),
    dev: parent.dev,
    ino: parent.ino,
    entries: [entry],
  };
}

async function listAbsentFile(path: string): Promise<Listing> {
  const dir = dirname(path);
  try {
    const parent = await stat(dir, { bigint: true });
    return { kind: 'listed', watch: dir, dev: parent.dev, ino: parent.ino, entries: [] };
  } catch (error) {
    return { kind: 'missing', reason: messageOf(error) };
  }
}

/** Undefined: the entry went away between the list and the look at it. */
async function entryOf(dir: string, dirent: Dirent): Promise<Entry | undefined> {
  const file = join(dir, dirent.name);
  const ignored = (reason: string): Entry => ({ kind: 'ignored', file, reason });
  if (dirent.name.startsWith('.')) return ignored('hidden: its name begins with a dot');
  if (dirent.isDirectory()) return ignored('a directory: manifests are not looked for below it');
  const extension = extname(dirent.name);
  if (!EXTENSIONS.has(extension)) {
    const what = extension === '' ? 'no extension' : `extension ${extension}`;
    return ignored(`${what}: manifests end in ${[...EXTENSIONS].join(', ')}`);
  }
  try {
    const stats = await stat(file, { bigint: true });
    if (stats.isDirectory()) return ignored('a link to a directory');
    if (!stats.isFile()) return ignored(`not a regular file: ${kindOf(stats)}`);
    return { kind: 'manifest', file, signature: signatureOf(stats) };
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && !(await exists(file))) return undefined;
    return { kind: 'unreadable', file, reason: messageOf(error) };
  }
}

/** Whether the name is there, even as a link that leads nowhere. */
async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    (error: unknown) => codeOf(error) !== 'ENOENT',
  );
}

function kindOf(stats: BigIntStats): string {
  if (stats.isFIFO()) return 'a fifo';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException | null)?.code;
}
