/**
 * Owns: the files that a containerd of our own needs before it starts.
 * Invariant: repeatable; nothing that a running containerd uses is removed, because `state` is
 * cleared only when it belongs to an earlier boot, when no process or mount of it can be left.
 */
import fs from 'node:fs';
import path from 'node:path';
import { IsletError } from '../util/errors.ts';
import { containerdConfig, podNetworkConfig } from './config.ts';
import type { CgroupDriver, Snapshotter } from './config.ts';
import type { ContainerdPaths } from './paths.ts';

export interface PrepareOptions {
  readonly paths: ContainerdPaths;
  readonly cniBinDir: string;
  readonly sandboxImage: string;
  readonly cgroupDriver: CgroupDriver;
  readonly restrictOomScoreAdj: boolean;
  readonly snapshotter: Snapshotter;
  readonly network: { readonly name: string; readonly bridge: string; readonly subnet: string };
  readonly bootId: string;
}

/**
 * Writes directories and configuration; returns whether the configuration differs from the one found,
 * in which case a containerd that still runs with the old one must be started anew.
 */
export function prepare(options: PrepareOptions): { changed: boolean } {
  const { paths } = options;
  try {
    makeDirectories(paths);
    clearOldState(paths, options.bootId);
    const network = { ...options.network, leaseDir: paths.leaseDir };
    const networkChanged = writeIfChanged(paths.cniConfFile, podNetworkConfig(network));
    const text = containerdConfig({
      root: paths.root,
      state: paths.state,
      socket: paths.socket,
      sandboxImage: options.sandboxImage,
      cgroupDriver: options.cgroupDriver,
      restrictOomScoreAdj: options.restrictOomScoreAdj,
      snapshotter: options.snapshotter,
      cniBinDir: options.cniBinDir,
      cniConfDir: paths.cniConfDir,
      registryConfigDir: paths.registryConfigDir,
    });
    return { changed: writeIfChanged(paths.configFile, text) || networkChanged };
  } catch (error) {
    throw new IsletError('failed', `prepare containerd below ${paths.base}`, { cause: error });
  }
}

function makeDirectories(paths: ContainerdPaths): void {
  fs.mkdirSync(paths.base, { recursive: true, mode: 0o711 });
  for (const directory of [paths.cniConfDir, paths.registryConfigDir])
    fs.mkdirSync(directory, { recursive: true, mode: 0o755 });
}

function clearOldState(paths: ContainerdPaths, bootId: string): void {
  const written = readOrEmpty(paths.bootFile);
  if (written === bootId) return;
  // Without a record nobody knows whether something still runs there, so nothing is removed.
  if (written !== '') {
    fs.rmSync(paths.state, { recursive: true, force: true });
    fs.rmSync(paths.pidFile, { force: true });
  }
  writeAtomically(paths.bootFile, bootId);
}

function writeIfChanged(file: string, text: string): boolean {
  if (readOrEmpty(file) === text) return false;
  writeAtomically(file, text);
  return true;
}

function writeAtomically(file: string, text: string): void {
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.tmp`);
  fs.writeFileSync(temporary, text, { mode: 0o600 });
  fs.renameSync(temporary, file);
}

function readOrEmpty(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
