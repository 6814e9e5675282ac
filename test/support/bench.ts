/**
 * Owns: the whole agent in this process against a runtime in memory: the protocol, the files and the
 * database are real, only the runtime behind the socket is not.
 * Invariant: when the test ends, so do the agent and the runtime, and their directory is gone.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { Agent } from '../../src/agent.ts';
import type { AgentDeps } from '../../src/agent.ts';
import type { Node } from '../../src/api/node.ts';
import type { Pod } from '../../src/api/pod.ts';
import { loadConfig } from '../../src/config/load.ts';
import { ContainerState } from '../../src/cri/gen/cri_pb.ts';
import type { EventView, FileView } from '../../src/server/view.ts';
import { SystemClock } from '../../src/util/clock.ts';
import { createLogger } from '../../src/util/log.ts';
import { mountsBelow } from './agent.ts';
import { FakeCri } from './fake-cri.ts';

/** What the runtime has. */
export const IMAGE = 'docker.io/library/app:1';
const WAIT_MS = 60_000;
const STATE = Object.fromEntries(
  Object.entries(ContainerState).map(([name, value]) => [value, name]),
);
const clock = new SystemClock();

export class Bench {
  readonly dir = mkdtempSync(path.join(os.tmpdir(), 'islet-faults-'));
  readonly cri: FakeCri;
  /** All that agents have logged, from debug on. */
  readonly logs: string[] = [];
  #agent: Agent | undefined;

  /** Fields of the two documents, over the ones that tests want. */
  private constructor(cri: FakeCri, kubelet: object, islet: object) {
    this.cri = cri;
    cri.runtime.addImage(IMAGE);
    mkdirSync(path.join(this.dir, 'manifests'));
    const documents = [
      {
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        staticPodPath: path.join(this.dir, 'manifests'),
        containerRuntimeEndpoint: `unix://${cri.socket}`,
        podLogsDir: path.join(this.dir, 'logs'),
        cgroupsPerQOS: false,
        enforceNodeAllocatable: [],
        failCgroupV1: false,
        failSwapOn: false,
        readOnlyPort: 0,
        healthzPort: 0,
        ...kubelet,
      },
      { apiVersion: 'islet.dev/v1alpha1', kind: 'IsletConfiguration', ...islet },
    ];
    const text = documents.map((document) => JSON.stringify(document)).join('\n---\n');
    writeFileSync(path.join(this.dir, 'config.yaml'), text);
  }

  static async start(t: TestContext, kubelet: object = {}, islet: object = {}): Promise<Bench> {
    const bench = new Bench(await FakeCri.start(), kubelet, islet);
    t.after(() => bench.end());
    return bench;
  }

  /** `stats`: what the agent is told instead of what this machine has. */
  async startAgent(stats?: NonNullable<AgentDeps['stats']>): Promise<void> {
    const config = loadConfig({
      config: path.join(this.dir, 'config.yaml'),
      rootDir: this.root,
      hostnameOverride: 'f1',
    });
    const sink = { write: (line: string) => this.logs.push(line) };
    const logger = createLogger({ sink, level: 'debug', wall: () => 0, format: 'json' });
    this.#agent = new Agent({
      config,
      version: '0',
      clock,
      random: () => 0,
      logger,
      localImages: [],
      ...(stats && { stats }),
    });
    await this.#agent.start();
  }

  async stopAgent(): Promise<void> {
    await this.#agent?.stop();
    this.#agent = undefined;
  }

  async end(): Promise<void> {
    this.cri.stop(); // first: a call that hangs would hold the agent's stop
    await this.stopAgent();
    for (const mount of mountsBelow(this.dir).reverse()) execFileSync('umount', ['-l', mount]);
    rmSync(this.dir, { recursive: true, force: true });
  }

  apply(name: string, spec: object = {}): void {
    const containers = [{ name: 'app', image: IMAGE, imagePullPolicy: 'IfNotPresent' }];
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { terminationGracePeriodSeconds: 1, containers, ...spec },
    };
    this.write(name, JSON.stringify(pod));
  }

  /** Puts a manifest in place as one change. */
  write(name: string, text: string, mode = 0o600): void {
    const temporary = path.join(this.dir, 'next-manifest');
    writeFileSync(temporary, text, { mode });
    renameSync(temporary, this.file(name));
  }

  file(name: string): string {
    return path.join(this.dir, 'manifests', `${name}.yaml`);
  }

  get root(): string {
    return path.join(this.dir, 'root');
  }

  remove(name: string): void {
    rmSync(this.file(name));
  }

  events(): readonly EventView[] {
    return this.#agent?.view.events({}) ?? [];
  }

  /** In Prometheus' text form. */
  metrics(): string {
    return this.#agent?.view.metrics() ?? '';
  }

  node(): Node {
    assert.ok(this.#agent);
    return this.#agent.view.node();
  }

  verdict(name: string): FileView | undefined {
    return this.#agent?.view.files().find(({ file }) => file === this.file(name));
  }

  pod(name: string): Pod | undefined {
    return this.#agent?.view.pods().find((p) => p.metadata.name === `${name}-f1`);
  }

  isRunning(name: string): boolean {
    return this.pod(name)?.status.containerStatuses?.[0]?.state.running !== undefined;
  }

  /** Containers of a pod that the runtime has, as `<state>#<attempt>`. */
  containers(name: string): string[] {
    return [...this.cri.runtime.containers.values()]
      .filter((c) => c.status.labels['io.kubernetes.pod.name'] === `${name}-f1`)
      .map((c) => `${STATE[c.status.state]}#${c.status.metadata?.attempt}`);
  }

  /** Ids of those that run. */
  containerIds(name: string): string[] {
    const statuses = this.pod(name)?.status.containerStatuses ?? [];
    return statuses.flatMap(({ containerID, state }) => (state.running ? [containerID ?? ''] : []));
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    const end = clock.monotonic() + WAIT_MS;
    while (!holds()) {
      if (clock.monotonic() > end)
        assert.fail(
          `never: ${what}; ${JSON.stringify(this.#agent?.view.pods().map((p) => p.status))}`,
        );
      await clock.sleep(20, new AbortController().signal);
    }
  }
}
