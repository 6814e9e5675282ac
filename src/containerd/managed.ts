/**
 * Owns: putting together a containerd of our own from the configuration and from what the host has.
 * Leaves to others: starting it (supervisor.ts), images in it (image/busybox.ts).
 */
import fs from 'node:fs';
import { DEFAULT_ROOT_DIR } from '../config/load.ts';
import type { Config } from '../config/model.ts';
import type { Clock, Random } from '../util/clock.ts';
import { fnv1a32 } from '../util/fnv.ts';
import type { Logger } from '../util/log.ts';
import { bootId, chooseSnapshotter, findContainerd, mayLowerOomScore } from './host.ts';
import { containerdPaths } from './paths.ts';
import { ContainerdSupervisor } from './supervisor.ts';
import type { SupervisorDeps } from './supervisor.ts';

export interface ManagedDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly ready: SupervisorDeps['ready'];
}

export interface ManagedContainerd {
  readonly supervisor: ContainerdSupervisor;
  /** What the CRI client connects to, `unix://…`. */
  readonly endpoint: string;
  /** Absolute path of `ctr`, for local images. */
  readonly ctr: string;
  readonly snapshotter: string;
}

/**
 * One bridge for each root directory: a bridge has one address, and two agents with subnets of their
 * own would take it from each other. The usual one has the name that people look for.
 */
export function networkOf(rootDir: string): { name: string; bridge: string } {
  if (rootDir === DEFAULT_ROOT_DIR) return { name: 'islet', bridge: 'islet0' };
  const own = fnv1a32(rootDir).toString(16).padStart(8, '0');
  return { name: `islet-${own}`, bridge: `islet${own}` };
}

/** Nothing runs yet. Throws `not-found` for what is not installed, `invalid` for a too long root dir. */
export function managedContainerd(deps: ManagedDeps): ManagedContainerd {
  const { config, ...rest } = deps;
  const paths = containerdPaths(config.rootDir);
  const found = findContainerd();
  fs.mkdirSync(config.rootDir, { recursive: true });
  const snapshotter = chooseSnapshotter(config.rootDir);
  const supervisor = new ContainerdSupervisor({
    ...rest,
    binary: found.containerd,
    options: {
      paths,
      cniBinDir: found.cniBinDir,
      sandboxImage: config.islet.pauseImage,
      cgroupDriver: config.kubelet.cgroupDriver,
      restrictOomScoreAdj: !mayLowerOomScore(),
      snapshotter,
      network: { ...networkOf(config.rootDir), subnet: config.islet.podSubnet },
      bootId: bootId(),
    },
  });
  return { supervisor, endpoint: `unix://${paths.socket}`, ctr: found.ctr, snapshotter };
}
