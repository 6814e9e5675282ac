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
} from 'node:fs/promises';
import { symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
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

/** Returns whether anything changed. */
export async function writeAtomically(write: AtomicWrite): Promise<boolean> {
  for (const path of write.files.keys()) checkPath(path);
  const { dir } = write;
  const old = await currentVersion(dir);
  const unchanged = old !== undefined && (await holds(join(dir, old), write.files));
  if (!unchanged) await swap(write, old);
  // Also when the content is the same: a crash may have come between the swap and the links.
  await link(dir, new Set([...write.files.keys()].map(topLevel)));
  return !unchanged;
}

async function swap(write: AtomicWrite, old: string | undefined): Promise<void> {
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
  if (old !== undefined) await rm(join(dir, old), { recursive: true, force: true });
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

function checkPath(path: string): void {
  const components = path.split('/');
  const bad =
    path === '' ||
    path.startsWith('/') ||
    path.length > LONGEST_PATH ||
    components.includes('..') ||
    components.some((c) => Buffer.byteLength(c) > LONGEST_COMPONENT) ||
    topLevel(path).startsWith('..');
  if (bad) throw new IsletError('invalid', `invalid path: ${JSON.stringify(path)}`);
}

/** `2025_03_01_12_00_00`, UTC. */
function stampOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 19).replace(/[-T:]/g, '_');
}
