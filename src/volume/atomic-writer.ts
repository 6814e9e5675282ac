/**
 * Owns: files of a volume that change all at once (spec: volumes.md §5.1).
 *
 *   <dir>/..2025_03_01_12_00_00.Ab3dEf/labels    the data, in a directory per version
 *   <dir>/..data -> ..2025_03_01_12_00_00.Ab3dEf swapped by a rename: the moment of change
 *   <dir>/labels -> ..data/labels                one link per top-level name
 *
 * Invariants: a reader sees the old version or the new one, never a mix; equal content writes nothing;
 * what a crash leaves behind does not stop the next write.
 */
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, posix, relative } from 'node:path';
import { IsletError } from '../util/errors.ts';
import { errnoOf } from './volume-error.ts';

export interface VolumeFile {
  readonly content: string | Uint8Array;
  readonly mode: number;
}

export interface AtomicWrite {
  readonly dir: string;
  /** By path relative to `dir`. */
  readonly files: ReadonlyMap<string, VolumeFile>;
  /** Wall time in milliseconds, for the name of the version. */
  readonly nowMs: number;
  /** Ownership of the new version, before anybody sees it. */
  readonly own: (versionDir: string) => Promise<void>;
}

const DATA = '..data';
const LONGEST_PATH = 4096;
const LONGEST_COMPONENT = 255;

/** Matches the names of versions, and only those. */
const VERSION = /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\./;

/**
 * Returns whether anything changed. Throws IsletError `invalid`, with nothing written, for a path that
 * leads out of the volume or stands in the way of another.
 */
export async function writeAtomically(write: AtomicWrite): Promise<boolean> {
  const { dir } = write;
  const files = cleanPaths(write.files);
  const names = new Set([...files.keys()].map(topLevel));
  await refuseTaken(dir, names);
  const old = await currentVersion(dir);
  const unchanged = old !== undefined && (await holds(join(dir, old), files));
  // The first time the links come first: a directory that has a version has all of it.
  if (old === undefined) await link(dir, names);
  if (!unchanged) await swap({ ...write, files });
  // Also when the content is the same: a crash may have come between the swap and the links.
  await link(dir, names);
  return !unchanged;
}

/** Whether a version has been written to the directory, by this agent or an earlier one. */
export async function isWritten(dir: string): Promise<boolean> {
  try {
    return (await stat(join(dir, DATA))).isDirectory();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

async function swap(write: AtomicWrite): Promise<void> {
  const { dir, files, nowMs, own } = write;
  const version = await mkdtemp(join(dir, `..${stampOf(nowMs)}.`));
  try {
    await chmod(version, 0o755);
    for (const [path, file] of files) await writeOne(join(version, path), file);
    await own(version);
    const next = join(dir, '..data_tmp');
    await rm(next, { force: true });
    await symlink(basename(version), next);
    await rename(next, join(dir, DATA));
  } catch (error) {
    await rm(version, { recursive: true, force: true });
    throw error;
  }
  // The old version, and what crashes have left of others.
  for (const name of await readdir(dir)) {
    if (!VERSION.test(name) || name === basename(version)) continue;
    await rm(join(dir, name), { recursive: true, force: true });
  }
}

async function writeOne(path: string, file: VolumeFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, file.content);
  await chmod(path, file.mode);
}

async function link(dir: string, names: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(dir)) {
    const stale = !name.startsWith('..') && !names.has(name);
    if (stale && (await lstat(join(dir, name))).isSymbolicLink()) await rm(join(dir, name));
  }
  for (const name of names) {
    try {
      await symlink(join(DATA, name), join(dir, name));
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }
}

async function currentVersion(dir: string): Promise<string | undefined> {
  try {
    return await readlink(join(dir, DATA));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether the version has exactly these files with these bytes; modes do not count. */
async function holds(version: string, files: ReadonlyMap<string, VolumeFile>): Promise<boolean> {
  try {
    const entries = await readdir(version, { recursive: true, withFileTypes: true });
    const found = entries.filter((e) => !e.isDirectory());
    if (found.length !== files.size) return false;
    for (const entry of found) {
      const path = join(entry.parentPath, entry.name);
      const wanted = files.get(relative(version, path));
      if (wanted === undefined) return false;
      if (!Buffer.from(wanted.content).equals(await readFile(path))) return false;
    }
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

function topLevel(path: string): string {
  return path.split('/', 1)[0] ?? path;
}

/** Each path in its shortest form; of two that are the same then, the later one counts. */
function cleanPaths(files: ReadonlyMap<string, VolumeFile>): Map<string, VolumeFile> {
  const clean = new Map<string, VolumeFile>();
  for (const [path, file] of files) clean.set(checkedPath(path), file);
  for (const path of clean.keys()) {
    for (let up = dirname(path); up !== '.'; up = dirname(up)) {
      if (!clean.has(up)) continue;
      throw new IsletError(
        'invalid',
        `${JSON.stringify(up)} cannot be both a file and the directory of ${JSON.stringify(path)}`,
      );
    }
  }
  return clean;
}

function checkedPath(path: string): string {
  const components = path.split('/');
  const clean = posix.normalize(path).replace(/\/$/, '');
  const bad =
    path === '' ||
    clean === '.' ||
    path.includes('\0') ||
    path.startsWith('/') ||
    path.length > LONGEST_PATH ||
    components.includes('..') ||
    components.some((c) => Buffer.byteLength(c) > LONGEST_COMPONENT) ||
    topLevel(clean).startsWith('..');
  if (bad) throw new IsletError('invalid', `invalid path: ${JSON.stringify(path)}`);
  return clean;
}

/** What is no link of ours is a place where something else is mounted: it would hide the file. */
async function refuseTaken(dir: string, names: ReadonlySet<string>): Promise<void> {
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    if (!names.has(entry.name) || entry.isSymbolicLink()) continue;
    throw new IsletError(
      'invalid',
      `the file ${JSON.stringify(entry.name)} cannot be written: a directory of this name is there ` +
        'for another mount',
    );
  }
}

/** `2025_03_01_12_00_00`, UTC. */
function stampOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 19).replace(/[-T:]/g, '_');
}
