/**
 * Owns: what this host offers to a containerd of our own: binaries, CNI plugins, snapshotter, and
 * whether scores for the OOM killer may be lowered. Reads only, but for one write that is undone.
 */
import fs from 'node:fs';
import path from 'node:path';
import { IsletError } from '../util/errors.ts';
import type { Snapshotter } from './config.ts';

const SYSTEM_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const CNI_BIN_DIRS = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];
const CNI_PLUGINS = ['bridge', 'host-local', 'loopback', 'portmap'];
/** statfs types on which an overlay cannot have its upper directory. */
const NO_UPPER_DIR = new Set([0x794c7630 /* overlay */, 0x6969 /* nfs */, 0x65735546 /* fuse */]);

export interface ContainerdBinaries {
  readonly containerd: string;
  readonly ctr: string;
  /** Directory of the CNI plugins. */
  readonly cniBinDir: string;
}

/** Throws `not-found` naming what is missing and the Debian package that has it. */
export function findContainerd(searchPath = process.env['PATH'] ?? ''): ContainerdBinaries {
  const find = (name: string, debianPackage: string): string => {
    const found = findBinary(name, searchPath);
    if (found !== undefined) return found;
    throw new IsletError(
      'not-found',
      `${name} is not installed, and no containerd was configured (Debian package ${debianPackage})`,
    );
  };
  const containerd = find('containerd', 'containerd');
  find('containerd-shim-runc-v2', 'containerd');
  find('runc', 'runc');
  return { containerd, ctr: find('ctr', 'containerd'), cniBinDir: findCniBinDir(CNI_BIN_DIRS) };
}

/** The absolute path of an executable, or undefined; the system's directories come last. */
export function findBinary(name: string, searchPath: string): string | undefined {
  const directories = [...searchPath.split(':').filter((d) => d.startsWith('/')), ...SYSTEM_PATH];
  return directories.map((d) => path.join(d, name)).find(isExecutable);
}

export function findCniBinDir(directories: readonly string[]): string {
  const found = directories.find((d) => CNI_PLUGINS.every((p) => isExecutable(path.join(d, p))));
  if (found !== undefined) return found;
  throw new IsletError(
    'not-found',
    `the CNI plugins ${CNI_PLUGINS.join(', ')} are not in any of ${directories.join(', ')} (Debian package containernetworking-plugins)`,
  );
}

/** overlayfs, unless the kernel lacks it or `directory` lies on a filesystem that cannot carry it. */
export function chooseSnapshotter(directory: string): Snapshotter {
  const known = fs.readFileSync('/proc/filesystems', 'utf8').split(/\s+/).includes('overlay');
  return known && !NO_UPPER_DIR.has(fs.statfsSync(directory).type) ? 'overlayfs' : 'native';
}

/**
 * Whether this process, and so its children, may lower its oom_score_adj. Only trying tells: it takes
 * CAP_SYS_RESOURCE in the initial user namespace.
 */
export function mayLowerOomScore(file = '/proc/self/oom_score_adj'): boolean {
  const now = Number(fs.readFileSync(file, 'utf8'));
  if (now <= -1000) return true;
  try {
    fs.writeFileSync(file, String(now - 1));
  } catch {
    return false;
  }
  fs.writeFileSync(file, String(now));
  return true;
}

/** Changes with every boot of the machine. */
export function bootId(): string {
  return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
