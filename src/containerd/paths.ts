/**
 * Owns: where a containerd of our own keeps its things, all below `<root-dir>/containerd`.
 * Invariant: pure. `state` may be deleted whenever the machine was booted since; nothing else may.
 */
import path from 'node:path';
import { IsletError } from '../util/errors.ts';

export interface ContainerdPaths {
  readonly base: string;
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly configFile: string;
  readonly pidFile: string;
  readonly logFile: string;
  /** Holds the boot id that `state` belongs to. */
  readonly bootFile: string;
  readonly cniConfDir: string;
  readonly cniConfFile: string;
  readonly leaseDir: string;
  readonly registryConfigDir: string;
}

/** The kernel's limit for a socket path is 107 bytes, and containerd appends `.ttrpc` to ours. */
const LONGEST_SOCKET = 107 - '.ttrpc'.length;

/** Throws `invalid` when `rootDir` is so long that no socket fits below it. */
export function containerdPaths(rootDir: string): ContainerdPaths {
  const base = path.join(rootDir, 'containerd');
  const socket = path.join(base, 'containerd.sock');
  if (Buffer.byteLength(socket) > LONGEST_SOCKET)
    throw new IsletError(
      'invalid',
      `root directory ${rootDir} is too long: containerd's socket ${socket} may have at most ${LONGEST_SOCKET} bytes`,
    );
  const state = path.join(base, 'state');
  const cniConfDir = path.join(base, 'cni', 'net.d');
  return {
    base,
    root: path.join(base, 'root'),
    state,
    socket,
    configFile: path.join(base, 'config.toml'),
    pidFile: path.join(base, 'containerd.pid'),
    logFile: path.join(base, 'containerd.log'),
    bootFile: path.join(base, 'boot-id'),
    cniConfDir,
    cniConfFile: path.join(cniConfDir, '10-islet.conflist'),
    leaseDir: path.join(state, 'leases'),
    registryConfigDir: path.join(base, 'certs.d'),
  };
}
