/**
 * Owns: the built agent as a user has it: a configuration file, a manifest directory, a process, its
 * commands as further processes, its read-only port.
 * Invariants: everything is below one temporary directory and under a node name of its own;
 * `dispose()` leaves no process, pod directory, mount, cgroup or log link behind, whatever state the
 * agent is in. The containers themselves go with their containerd.
 */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../src/api/pod.ts';
import type { EventView, FileView } from '../../src/server/view.ts';

export const NODE_NAME = 'e2e1';
/** What `npm run build` makes, beside the compiled tests. */
export const ISLET = path.resolve(import.meta.dirname, '../../src/main.js');

const POLL_MS = 100;
const CONTAINER_LOGS = '/var/log/containers';

export interface AgentOptions {
  /** Socket of the containerd to use; without it the configuration names none. */
  readonly socket?: string;
  /** Fields of the KubeletConfiguration, over the ones that tests want. */
  readonly kubelet?: Readonly<Record<string, unknown>>;
  /** Fields of an IsletConfiguration. */
  readonly islet?: Readonly<Record<string, unknown>>;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Polls until `probe` gives something; an error of the probe means not yet. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  seconds = 60,
): Promise<Exclude<T, false | undefined | null>> {
  const deadline = Date.now() + seconds * 1000;
  for (let last: unknown; ; await sleep(POLL_MS)) {
    try {
      last = await probe();
      if (last !== false && last !== undefined && last !== null)
        return last as Exclude<T, false | undefined | null>;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`not within ${seconds} s: ${what}; ${said(last)}`);
  }
}

function said(last: unknown): string {
  return last instanceof Error ? `last error: ${last.message}` : `last: ${String(last)}`;
}

/** A process of the program with these arguments, its output in pipes. */
export function spawnIslet(args: readonly string[]): ChildProcess {
  return spawn(ISLET, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Runs the program to its end. */
export async function islet(...args: readonly string[]): Promise<CliResult> {
  return finished(spawnIslet(args));
}

/** Collects what a process of `spawnIslet` says until it has ended. */
export function finished(child: ChildProcess): Promise<CliResult> {
  const text = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (part: string) => (text.stdout += part));
  child.stderr?.setEncoding('utf8').on('data', (part: string) => (text.stderr += part));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...text }));
  });
}

/** A port that nobody listens on now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

export async function makeAgent(options: AgentOptions = {}): Promise<TestAgent> {
  return new TestAgent(options, await freePort());
}

export class TestAgent {
  readonly dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-e2e-'));
  readonly manifests = path.join(this.dir, 'manifests');
  readonly podLogs = path.join(this.dir, 'logs');
  readonly root = path.join(this.dir, 'root');
  readonly configFile = path.join(this.dir, 'config.yaml');
  readonly port: number;
  readonly #uids = new Set<string>();
  #child: ChildProcess | undefined;
  #ended: Promise<Ended> = Promise.resolve({ code: null, signal: null });
  #starts = 0;

  constructor(options: AgentOptions, port: number) {
    this.port = port;
    for (const directory of [this.manifests, this.podLogs, this.root]) fs.mkdirSync(directory);
    const kubelet = {
      ...{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' },
      ...{ staticPodPath: this.manifests, podLogsDir: this.podLogs, address: '127.0.0.1' },
      ...{ readOnlyPort: port, healthzPort: 0, failCgroupV1: false, failSwapOn: false },
      ...{ enforceNodeAllocatable: [] },
      ...(options.socket && { containerRuntimeEndpoint: `unix://${options.socket}` }),
      ...options.kubelet,
    };
    const documents = [kubelet, { apiVersion: 'islet.dev/v1alpha1', ...options.islet }];
    const kinds = options.islet ? [{}, { kind: 'IsletConfiguration' }] : [{}];
    const text = kinds.map((kind, i) => JSON.stringify({ ...documents[i], ...kind }, null, 1));
    fs.writeFileSync(this.configFile, text.join('\n---\n'));
  }

  /** The newest process's output. */
  get logFile(): string {
    return path.join(this.dir, `agent-${this.#starts}.log`);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get flags(): string[] {
    return ['--config', this.configFile, '--root-dir', this.root, '--hostname-override', NODE_NAME];
  }

  /** Starts `islet run` or another command of the agent; resolves when its port answers. */
  async start(command = 'run', ...more: readonly string[]): Promise<void> {
    // A test that failed before this one may have left it running.
    await this.stop('SIGKILL');
    this.#starts += 1;
    const log = fs.openSync(this.logFile, 'a');
    const child = spawn(ISLET, [command, ...this.flags, ...more], { stdio: ['ignore', log, log] });
    fs.closeSync(log);
    this.#child = child;
    this.#ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    void this.#ended.then((ended) => {
      if (this.#child === child) this.#child = undefined;
      return ended;
    });
    await until('the agent answers', async () => {
      if (!this.#child) return 'ended';
      return (await this.pods()) && 'answers';
    });
    if (!this.#child) throw new Error(`the agent ended; it said:\n${this.log()}`);
  }

  /** Sends the signal and waits for the end; nothing to do when it does not run. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.#child?.kill(signal);
    return this.#ended;
  }

  async restart(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.stop(signal);
    await this.start();
  }

  /** A command that asks the agent. */
  cli(...args: readonly string[]): Promise<CliResult> {
    return islet(...args, '--root-dir', this.root);
  }

  /** What the newest process has said. */
  log(): string {
    return fs.readFileSync(this.logFile, 'utf8');
  }

  /** Puts a manifest in place the way that never shows half a file. */
  apply(file: string, manifest: string | object): void {
    const temporary = path.join(this.dir, 'next-manifest');
    fs.writeFileSync(temporary, typeof manifest === 'string' ? manifest : toJson(manifest));
    fs.renameSync(temporary, path.join(this.manifests, file));
  }

  remove(file: string): void {
    fs.rmSync(path.join(this.manifests, file));
  }

  /** From the read-only port. */
  get(address: string): Promise<string> {
    return ask({ host: '127.0.0.1', port: this.port, path: address });
  }

  /** From the command line's socket, without the cost of a command. */
  async #ask<T>(address: string): Promise<readonly T[]> {
    const socketPath = path.join(this.root, 'islet.sock');
    return (JSON.parse(await ask({ socketPath, path: address })) as { items: T[] }).items;
  }

  async pods(): Promise<Pod[]> {
    const { items } = JSON.parse(await this.get('/pods')) as { items: Pod[] };
    for (const { metadata } of items) this.#uids.add(metadata.uid);
    return items;
  }

  /** The pod that its manifest calls `name`. */
  async pod(name: string, namespace = 'default'): Promise<Pod | undefined> {
    return (await this.pods()).find(
      ({ metadata }) =>
        metadata.name === `${name}-${NODE_NAME}` && metadata.namespace === namespace,
    );
  }

  /** The verdict on a file of the manifest directory. */
  async file(name: string): Promise<FileView | undefined> {
    const files = await this.#ask<FileView>('/v1/files');
    return files.find((one) => one.file === path.join(this.manifests, name));
  }

  events(pod: string): Promise<readonly EventView[]> {
    return this.#ask(`/v1/events?pod=${pod}-${NODE_NAME}`);
  }

  /** Ends pods where it can, then the agent, then whatever is left of either. */
  async dispose(): Promise<void> {
    if (this.#child) {
      for (const file of fs.readdirSync(this.manifests))
        fs.rmSync(path.join(this.manifests, file), { recursive: true });
      await until('all pods are gone', async () => (await this.pods()).length === 0, 30).catch(
        () => undefined,
      );
      await this.stop();
    }
    for (const mount of mountsBelow(this.dir).reverse())
      execFileSync('umount', ['-l', mount], { stdio: 'ignore' });
    for (const uid of this.#uids) for (const cgroup of cgroupsOf(uid)) removeCgroup(cgroup);
    for (const link of logLinks(this.podLogs)) fs.rmSync(link);
    fs.rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

function ask(where: http.RequestOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = http.get({ ...where, agent: false, timeout: 5000 }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (part: string) => (body += part));
      answer.on('end', () => resolve(body)).on('error', reject);
    });
    asked.on('timeout', () => asked.destroy(new Error('no answer'))).on('error', reject);
  });
}

/** Mount points below a directory, in the order in which they were mounted. */
export function mountsBelow(directory: string): string[] {
  const lines = fs.readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return lines
    .map((line) => line.split(' ')[1] ?? '')
    .filter((mount) => mount.startsWith(`${directory}/`));
}

/** The cgroup of a pod in every hierarchy, where it is there. */
export function cgroupsOf(uid: string): string[] {
  const top = '/sys/fs/cgroup';
  const hierarchies = [top, ...fs.readdirSync(top).map((name) => path.join(top, name))];
  const parents = ['kubepods', 'kubepods/burstable', 'kubepods/besteffort'];
  const found = hierarchies.flatMap((h) => parents.map((p) => path.join(h, p, `pod${uid}`)));
  return found.filter((directory) => fs.existsSync(directory));
}

/** Links in the node's directory of container logs that lead below `podLogs`. */
export function logLinks(podLogs: string): string[] {
  if (!fs.existsSync(CONTAINER_LOGS)) return [];
  return fs
    .readdirSync(CONTAINER_LOGS)
    .map((name) => path.join(CONTAINER_LOGS, name))
    .filter((link) => {
      try {
        return fs.readlinkSync(link).startsWith(`${podLogs}/`);
      } catch {
        return false; // gone meanwhile, or no link
      }
    });
}

export function removeCgroup(directory: string): void {
  try {
    for (const entry of fs.readdirSync(directory, { withFileTypes: true }))
      if (entry.isDirectory()) removeCgroup(path.join(directory, entry.name));
    fs.rmdirSync(directory);
  } catch {
    // In use, or gone meanwhile; containerd's own clean-up comes next.
  }
}

function toJson(manifest: object): string {
  return JSON.stringify(manifest, null, 2);
}
