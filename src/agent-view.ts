/**
 * Owns: the answers that the servers give about the running agent, from what it holds in memory.
 * Before the runtime has listed what it runs for the first time there are no workers yet: then the pods are those
 * of the manifests, with their stored status.
 */
import type { Node } from './api/node.ts';
import type { Pod } from './api/pod.ts';
import type { FileSource } from './manifest/source.ts';
import type { Registry } from './metrics/registry.ts';
import type {
  AgentView,
  EventFilter,
  EventView,
  FileView,
  HealthCheck,
  VersionView,
} from './server/view.ts';
import { nodeLabels } from './pod/node-affinity.ts';
import type { RuntimeHalf } from './runtime-half.ts';
import type { NodeAmounts } from './runtime/node-amounts.ts';
import type { NodeFacts } from './runtime/node-facts.ts';
import { nodeObject, readyCondition } from './runtime/node-object.ts';
import { StatsAnswers } from './stats/answers.ts';
import type { StatusManager } from './status/manager.ts';
import type { Store } from './store/store.ts';
import type { Clock } from './util/clock.ts';

export interface AgentViewDeps {
  readonly islet: string;
  readonly nodeName: string;
  readonly facts: NodeFacts;
  /** `--node-labels`. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly source: FileSource;
  readonly statuses: StatusManager;
  readonly store: Store;
  readonly registry: Registry;
  readonly probeRegistry: Registry;
  readonly clock: Clock;
  /** undefined until the runtime has answered. */
  readonly runtimeHalf: () => RuntimeHalf | undefined;
}

export class LiveView implements AgentView {
  readonly #deps: AgentViewDeps;
  readonly #startedMs: number;
  readonly stats: StatsAnswers;

  constructor(deps: AgentViewDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonic();
    this.stats = new StatsAnswers({
      nodeName: deps.nodeName,
      cpus: deps.facts.capacity.cpuMilli / 1000,
      reader: () => deps.runtimeHalf()?.stats,
    });
  }

  get allocatable(): NodeAmounts {
    return this.#deps.facts.allocatable;
  }

  pods(): readonly Pod[] {
    const half = this.#deps.runtimeHalf();
    if (half?.manager.begun) return half.manager.pods();
    return this.#deps.source.current().map(({ pod }) => {
      const status = this.#deps.statuses.restore(pod.metadata.uid) ?? pod.status;
      return { ...pod, status };
    });
  }

  files(): readonly FileView[] {
    return this.#deps.source.verdicts().map((v) => ({
      file: v.file,
      state: v.state,
      messages: [...v.messages, ...v.warnings],
      pods: v.pods,
      usingLastGood: v.usingLastGood,
    }));
  }

  events(filter: EventFilter): readonly EventView[] {
    const { pod, ...rest } = filter;
    const wanted = pod === undefined ? rest : { ...rest, name: pod };
    return this.#deps.store.events.list(wanted).map((e) => ({
      type: e.type,
      reason: e.reason,
      message: e.message,
      kind: e.kind === 'Node' ? 'Node' : 'Pod',
      namespace: e.namespace,
      name: e.name,
      uid: e.uid,
      ...(e.fieldPath === '' ? {} : { fieldPath: e.fieldPath }),
      count: e.count,
      firstSeenMs: e.firstMs,
      lastSeenMs: e.lastMs,
    }));
  }

  version(): VersionView {
    const { islet, nodeName, clock, runtimeHalf } = this.#deps;
    const runtime = runtimeHalf()?.version;
    return {
      islet,
      node: process.version,
      containerRuntime: runtime?.runtimeName ?? '',
      containerRuntimeVersion: runtime?.runtimeVersion ?? '',
      nodeName,
      uptimeSeconds: Math.floor((clock.monotonic() - this.#startedMs) / 1000),
    };
  }

  node(): Node {
    const { facts, nodeName, nodeLabels: given, runtimeHalf } = this.#deps;
    const half = runtimeHalf();
    const pleg = half
      ? this.#plegTrouble()
      : 'container runtime status check may not have completed yet';
    const troubles = [
      ...(pleg === undefined ? [] : [pleg]),
      ...(half?.guard.isShuttingDown() ? ['node is shutting down'] : []),
    ];
    // Nobody has looked for pressure before the runtime has answered.
    const conditions = [...(half?.eviction.nodeConditions() ?? []), readyCondition(troubles)];
    return nodeObject({ facts, labels: nodeLabels(nodeName, given), conditions });
  }

  #plegTrouble(): string | undefined {
    const half = this.#deps.runtimeHalf();
    const pleg = half ? half.pleg.healthy() : 'the container runtime has not answered yet';
    return pleg && `PLEG is not healthy: ${pleg.replace(/^PLEG is not healthy: /, '')}`;
  }

  health(): readonly HealthCheck[] {
    const checks: [string, string | undefined][] = [
      ['pleg', this.#plegTrouble()],
      ['manifests', this.#deps.source.trouble()],
    ];
    return checks.map(([name, error]) => (error === undefined ? { name } : { name, error }));
  }

  metrics(): string {
    this.#deps.runtimeHalf()?.reportWorkers();
    return this.#deps.registry.expose();
  }

  probeMetrics(): string {
    return this.#deps.probeRegistry.expose();
  }

  warnings(uid: string): readonly string[] {
    return this.#deps.runtimeHalf()?.manager.warnings(uid) ?? [];
  }
}
