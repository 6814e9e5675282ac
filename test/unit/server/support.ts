/** Owns: pods and an agent made by hand, and real requests to real servers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Node } from '../../../src/api/node.ts';
import type { Container, ObjectMeta, Pod, PodSpec } from '../../../src/api/pod.ts';
import type { ContainerStatus, PodStatus } from '../../../src/api/status.ts';
import type {
  AgentView,
  EventView,
  FileView,
  HealthCheck,
  StatsView,
} from '../../../src/server/view.ts';
import { createLogger, type Logger } from '../../../src/util/log.ts';

export const NODE = 'edge1';

export function container(name: string, more: Partial<Container> = {}): Container {
  return {
    name,
    image: `registry.test/${name}:1`,
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    ...more,
  };
}

export interface PodParts {
  metadata?: Partial<ObjectMeta>;
  spec?: Partial<PodSpec>;
  status?: PodStatus;
}

/** A static pod of one container `app` on node edge1; `name` is without the node's suffix. */
export function pod(name: string, parts: PodParts = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-${NODE}`,
      namespace: 'default',
      uid: `uid-${name}`,
      ...parts.metadata,
    },
    spec: {
      containers: [container('app')],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      nodeName: NODE,
      ...parts.spec,
    },
    status: parts.status ?? { phase: 'Pending' },
  };
}

export function status(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return {
    name,
    state: {},
    lastState: {},
    ready: false,
    started: false,
    restartCount: 0,
    image: '',
    imageID: '',
    ...more,
  };
}

/** A running and ready container, as status. */
export function up(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return status(name, {
    state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
    containerID: `containerd://${name}-0`,
    ready: true,
    started: true,
    ...more,
  });
}

/** A terminated state; `n` is the number of the instance. */
export function ended(name: string, n: number, exitCode = 1, reason = 'Error') {
  return {
    terminated: {
      exitCode,
      reason,
      startedAt: '2026-01-01T00:00:00Z',
      finishedAt: '2026-01-01T00:00:10Z',
      containerID: `containerd://${name}-${n}`,
    },
  };
}

export class FakeView implements AgentView {
  podList: Pod[] = [];
  fileList: FileView[] = [];
  eventList: EventView[] = [];
  checks: HealthCheck[] = [];
  warningsOf: Record<string, string[]> = {};

  pods(): readonly Pod[] {
    return this.podList;
  }

  files(): readonly FileView[] {
    return this.fileList;
  }

  events(filter: { namespace?: string; pod?: string; uid?: string; limit?: number }) {
    const found = this.eventList.filter(
      (e) =>
        (filter.namespace === undefined || e.namespace === filter.namespace) &&
        (filter.pod === undefined || e.name === filter.pod) &&
        (filter.uid === undefined || e.uid === filter.uid),
    );
    return filter.limit === undefined ? found : found.slice(-filter.limit);
  }

  readonly allocatable = { cpuMilli: 4000, memory: 8 * 2 ** 30 };
  readonly stats: StatsView = {
    summary: () => Promise.resolve({ node: { nodeName: NODE }, pods: [] }),
    resourceMetrics: () => Promise.resolve('resource_scrape_error 0\n'),
    diskMetrics: () => Promise.resolve('kubelet_volume_stats_used_bytes 7\n'),
    cadvisorMetrics: () => Promise.resolve('machine_cpu_cores 4\n'),
  };

  nodeObject: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE, labels: {} },
    status: { addresses: [], capacity: {}, allocatable: {}, conditions: [] },
  };

  node(): Node {
    return this.nodeObject;
  }

  version() {
    return {
      islet: '1.2.3',
      node: 'v20.0.0',
      containerRuntime: 'containerd',
      containerRuntimeVersion: '1.7.0',
      nodeName: NODE,
      uptimeSeconds: 300,
    };
  }

  health(): readonly HealthCheck[] {
    return this.checks;
  }

  probeMetrics(): string {
    return 'prober_probe_total 1\n';
  }

  metrics(): string {
    return '# TYPE kubelet_running_pods gauge\nkubelet_running_pods 1\n';
  }

  warnings(uid: string): readonly string[] {
    return this.warningsOf[uid] ?? [];
  }
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export type Target = { port: number } | { socketPath: string };

export function ask(target: Target, path: string, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { ...target, path, method, agent: false };
    const asked = request(options, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => (body += text));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
      response.on('error', reject);
    });
    asked.on('error', reject);
    asked.end();
  });
}

export async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'islet-srv-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A log whose lines the test can look at. */
export function memoryLog(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const sink = { write: (text: string) => lines.push(text) };
  return { log: createLogger({ sink, level: 'info', wall: () => 0 }), lines };
}
