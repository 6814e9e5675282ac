/**
 * Owns: a containerd for one test file: its own configuration, root, state, socket, bridge and subnet
 * below a temporary directory, with busybox and the sandbox image in it.
 * Invariant: `stop()` leaves nothing behind: no shim, process, mount, cgroup, namespace, bridge,
 * iptables rule or file, also after the test has killed containerd.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { randomBytes, randomInt } from 'node:crypto';
import type { CgroupDriver } from '../../src/containerd/config.ts';
import {
  bootId,
  chooseSnapshotter,
  findContainerd,
  mayLowerOomScore,
} from '../../src/containerd/host.ts';
import { containerdPaths } from '../../src/containerd/paths.ts';
import type { ContainerdPaths } from '../../src/containerd/paths.ts';
import { prepare } from '../../src/containerd/prepare.ts';
import {
  findContainerdProcess,
  spawnContainerd,
  terminateContainerd,
} from '../../src/containerd/process.ts';
import type { ContainerdProcess } from '../../src/containerd/process.ts';
import { BUSYBOX_IMAGE, ensureLocalImages } from '../../src/image/busybox.ts';
import { SystemClock } from '../../src/util/clock.ts';
import { criAnswers, removeSandboxes } from './cri-raw.ts';
import { sweep } from './sweep.ts';

export interface ContainerdOptions {
  readonly cgroupDriver?: CgroupDriver;
  readonly sandboxImage?: string;
  /** Path of another containerd, e.g. an unpacked newer one; its shim must lie beside it. */
  readonly binary?: string;
  /** False: no images are imported. */
  readonly images?: boolean;
}

export interface TestContainerd {
  /** Path of the socket, without `unix://`. */
  readonly socket: string;
  /** The temporary directory that holds everything. */
  readonly root: string;
  readonly binary: string;
  readonly ctr: string;
  readonly logFile: string;
  readonly snapshotter: string;
  /** SIGKILL; resolves when it is dead. Pods run on. */
  kill(): Promise<void>;
  /** Ends it with SIGTERM where it runs, starts it again, resolves when CRI answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export const PAUSE_IMAGE = 'registry.k8s.io/pause:3.6';
const START_MS = 60_000;

/** Resolves when CRI answers and the images are there. Needs root and Debian's containerd. */
export async function startContainerd(options: ContainerdOptions = {}): Promise<TestContainerd> {
  const clock = new SystemClock();
  const found = findContainerd();
  const binary = options.binary ?? found.containerd;
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-containerd-'));
  const paths = containerdPaths(root);
  const id = randomBytes(3).toString('hex');
  const network = {
    name: `islet-test-${id}`,
    bridge: `istest${id}`,
    subnet: `10.${randomInt(64, 128)}.${randomInt(0, 256)}.0/24`,
  };
  const snapshotter = chooseSnapshotter(root);
  const sandboxImage = options.sandboxImage ?? PAUSE_IMAGE;
  prepare({
    paths,
    cniBinDir: found.cniBinDir,
    sandboxImage,
    cgroupDriver: options.cgroupDriver ?? 'cgroupfs',
    restrictOomScoreAdj: !mayLowerOomScore(),
    snapshotter,
    network,
    bootId: bootId(),
  });
  let running: ContainerdProcess | undefined;
  const end = async (): Promise<void> => {
    if (running) await terminateContainerd(running.pid, paths, clock);
    running = undefined;
  };
  const stop = async (): Promise<void> => {
    if (running) await removeSandboxes(found.ctr, paths.socket).catch(() => undefined);
    await end();
    await sweep({ root, socket: paths.socket, network: network.name, bridge: network.bridge });
  };
  const images = [
    { name: BUSYBOX_IMAGE, kind: 'busybox' },
    { name: sandboxImage, kind: 'pause' },
  ] as const;
  try {
    running = await launch(binary, paths);
    if (options.images !== false)
      await ensureLocalImages({
        ctr: found.ctr,
        socket: paths.socket,
        snapshotter,
        images,
        clock,
        signal: AbortSignal.timeout(START_MS),
      });
  } catch (error) {
    running ??= findContainerdProcess(paths, clock);
    await stop();
    throw error;
  }
  return {
    socket: paths.socket,
    root,
    binary,
    ctr: found.ctr,
    logFile: paths.logFile,
    snapshotter,
    stop,
    kill: async () => {
      if (!running) return;
      process.kill(running.pid, 'SIGKILL');
      while (findContainerdProcess(paths, clock))
        await clock.sleep(20, AbortSignal.timeout(START_MS));
      running = undefined;
    },
    restart: async () => {
      await end();
      running = await launch(binary, paths);
    },
  };
}

async function launch(binary: string, paths: ContainerdPaths): Promise<ContainerdProcess> {
  const clock = new SystemClock();
  const signal = AbortSignal.timeout(START_MS);
  const running = await spawnContainerd(binary, paths);
  const dead = new AbortController();
  void running.ended(signal).then(
    () => dead.abort(),
    () => undefined,
  );
  while (!(await criAnswers(paths.socket))) {
    if (dead.signal.aborted || signal.aborted)
      throw new Error(
        `containerd does not answer; it said:\n${fs.readFileSync(paths.logFile, 'utf8').slice(-4000)}`,
      );
    await clock.sleep(50, signal);
  }
  return running;
}
