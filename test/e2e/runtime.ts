/**
 * Owns: what the runtime itself says of the pods, past the agent: its records over CRI, its processes
 * and its event stream through `ctr`.
 */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import { createInterface } from 'node:readline';
import { createCriClient } from '../../src/cri/client.ts';
import type { CriClient } from '../../src/cri/client.ts';
import type { Container, PodSandbox } from '../../src/cri/model.ts';
import type { ContainerStats } from '../../src/cri/usage.ts';
import { SystemClock } from '../../src/util/clock.ts';
import { createLogger } from '../../src/util/log.ts';
import { until } from '../support/agent.ts';

/** Where a containerd is and which `ctr` speaks to it. */
export interface RuntimeAddress {
  readonly socket: string;
  readonly ctr: string;
}

export interface TaskEvent {
  readonly kind: 'start' | 'exit';
  /** Id of the container. */
  readonly id: string;
  /** Wall milliseconds. */
  readonly at: number;
  readonly exitStatus: number;
}

export class Runtime {
  readonly #address: RuntimeAddress;
  readonly #client: CriClient;
  #watcher: ChildProcess | undefined;

  constructor(address: RuntimeAddress) {
    this.#address = address;
    const sink = { write: () => undefined };
    this.#client = createCriClient({
      endpoint: `unix://${address.socket}`,
      requestTimeoutMs: 30_000,
      clock: new SystemClock(),
      logger: createLogger({ sink, level: 'error', wall: () => 0 }),
    });
  }

  containers(podUid: string): Promise<Container[]> {
    return this.#client.runtime.listContainers({ podUid });
  }

  sandboxes(podUid: string): Promise<PodSandbox[]> {
    return this.#client.runtime.listPodSandboxes({ podUid });
  }

  /** Sandboxes of every pod that ever had this name and whose record is still there. */
  async sandboxesNamed(podName: string): Promise<PodSandbox[]> {
    const all = await this.#client.runtime.listPodSandboxes({});
    return all.filter(({ metadata }) => metadata.name === podName);
  }

  /** As `crictl stopp` does, and the end of the machine. */
  stopSandbox(id: string): Promise<void> {
    return this.#client.runtime.stopPodSandbox(id);
  }

  stats(id: string): Promise<ContainerStats> {
    return this.#client.runtime.containerStats(id);
  }

  removeContainer(id: string): Promise<void> {
    return this.#client.runtime.removeContainer(id);
  }

  /** Removes sandboxes and containers of a pod as an administrator with `crictl` would. */
  async removePod(podUid: string): Promise<void> {
    for (const { id } of await this.sandboxes(podUid)) {
      await this.#client.runtime.stopPodSandbox(id);
      await this.#client.runtime.removePodSandbox(id);
    }
  }

  /** Host pids of the processes that run, by container id, sandboxes included. */
  processes(): Map<string, number> {
    const { ctr, socket } = this.#address;
    const args = ['-a', socket, '-n', 'k8s.io', 'tasks', 'ls'];
    const lines = execFileSync(ctr, args, { encoding: 'utf8' }).trim().split('\n').slice(1);
    const found = lines.map((line) => line.trim().split(/\s+/));
    const live = found.filter(([, , status]) => status === 'RUNNING');
    return new Map(live.map(([id = '', pid = '']) => [id, Number(pid)]));
  }

  /** Starts and exits of processes from now on, in the runtime's own order; grows by itself. */
  async watch(): Promise<TaskEvent[]> {
    const { ctr, socket } = this.#address;
    const args = ['-a', socket, '-n', 'k8s.io', 'events'];
    const watcher = spawn(ctr, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#watcher = watcher;
    const seen: TaskEvent[] = [];
    let heard = false;
    createInterface({ input: watcher.stdout }).on('line', (line) => {
      heard = true;
      const event = taskEvent(line);
      if (event) seen.push(event);
    });
    // ctr does not say when it listens: something harmless happens until it tells of it.
    let tries = 0;
    await until('the events of the runtime are heard', () => {
      const label = ['-a', socket, 'namespaces', 'label', 'k8s.io', `islet-test=${tries++}`];
      if (!heard) execFileSync(ctr, label);
      return heard;
    });
    return seen;
  }

  async close(): Promise<void> {
    this.#client.close();
    const watcher = this.#watcher;
    if (!watcher?.kill()) return;
    await until('ctr has ended', () => watcher.exitCode !== null || watcher.signalCode !== null);
  }
}

/** The id alone of `containerd://<id>`. */
export function idOf(containerID: string | undefined): string {
  return containerID?.replace(/^containerd:\/\//, '') ?? '';
}

/** The first event of this kind about a container. */
export function eventOf(
  tasks: readonly TaskEvent[],
  kind: TaskEvent['kind'],
  id: string,
): TaskEvent | undefined {
  return tasks.find((task) => task.kind === kind && task.id === id);
}

export function lives(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** `2025-01-01 00:00:00.123456789 +0000 UTC k8s.io /tasks/exit {"container_id":…}`. */
function taskEvent(line: string): TaskEvent | undefined {
  const match =
    /^(\S+) (\d\d:\d\d:\d\d(?:\.\d+)?) \S+ \S+ \S+ \/tasks\/(start|exit) (\{.*\})$/.exec(line);
  if (!match) return undefined;
  const [, date, time, kind, json = ''] = match;
  const body = JSON.parse(json) as { container_id: string; id?: string; exit_status?: number };
  // The exit of an exec'd process names its container too.
  if (body.id !== undefined && body.id !== body.container_id) return undefined;
  const at = Date.parse(`${date}T${time?.slice(0, 12)}Z`);
  const exitStatus = body.exit_status ?? 0;
  return { kind: kind as TaskEvent['kind'], id: body.container_id, at, exitStatus };
}
