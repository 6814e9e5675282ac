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
  const containerd = new PrivateContainerd(options);
  try {
    await containerd.launch();
    if (options.images !== false) await containerd.importImages();
  } catch (error) {
    await containerd.stop();
    throw error;
  }
  return containerd;
}

class PrivateContainerd implements TestContainerd {
  readonly root = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-containerd-'));
  readonly binary: string;
  readonly ctr: string;
  readonly snapshotter = chooseSnapshotter(this.root);
  readonly #clock = new SystemClock();
  readonly #paths = containerdPaths(this.root);
  readonly #network = privateNetwork();
  readonly #sandboxImage: string;

  constructor(options: ContainerdOptions) {
    const found = findContainerd();
    this.binary = options.binary ?? found.containerd;
    this.ctr = found.ctr;
    this.#sandboxImage = options.sandboxImage ?? PAUSE_IMAGE;
    prepare({
      paths: this.#paths,
      cniBinDir: found.cniBinDir,
      sandboxImage: this.#sandboxImage,
      cgroupDriver: options.cgroupDriver ?? 'cgroupfs',
      restrictOomScoreAdj: !mayLowerOomScore(),
      snapshotter: this.snapshotter,
      network: this.#network,
      bootId: bootId(),
    });
  }

  get socket(): string {
    return this.#paths.socket;
  }

  get logFile(): string {
    return this.#paths.logFile;
  }

  async launch(): Promise<void> {
    const signal = AbortSignal.timeout(START_MS);
    await spawnContainerd(this.binary, this.#paths);
    while (!(await criAnswers(this.socket))) {
      if (!this.#running() || signal.aborted)
        throw new Error(
          `containerd does not answer; it said:\n${fs.readFileSync(this.logFile, 'utf8').slice(-4000)}`,
        );
      await this.#clock.sleep(50, signal);
    }
  }

  async importImages(): Promise<void> {
    await ensureLocalImages({
      ctr: this.ctr,
      socket: this.socket,
      snapshotter: this.snapshotter,
      images: [
        { name: BUSYBOX_IMAGE, kind: 'busybox' },
        { name: this.#sandboxImage, kind: 'pause' },
      ],
      clock: this.#clock,
      signal: AbortSignal.timeout(START_MS),
    });
  }

  async kill(): Promise<void> {
    const running = this.#running();
    if (running) process.kill(running.pid, 'SIGKILL');
    const signal = AbortSignal.timeout(START_MS);
    while (this.#running()) await this.#clock.sleep(20, signal);
  }

  async restart(): Promise<void> {
    await this.#end();
    await this.launch();
  }

  async stop(): Promise<void> {
    if (this.#running()) await removeSandboxes(this.ctr, this.socket).catch(() => undefined);
    await this.#end();
    const { name, bridge } = this.#network;
    await sweep({ root: this.root, socket: this.socket, network: name, bridge });
  }

  async #end(): Promise<void> {
    const running = this.#running();
    if (running) await terminateContainerd(running.pid, this.#paths, this.#clock);
  }

  #running(): ContainerdProcess | undefined {
    return findContainerdProcess(this.#paths, this.#clock);
  }
}

function privateNetwork(): { name: string; bridge: string; subnet: string } {
  const id = randomBytes(3).toString('hex');
  const subnet = `10.${randomInt(64, 128)}.${randomInt(0, 256)}.0/24`;
  return { name: `islet-test-${id}`, bridge: `istest${id}`, subnet };
}
