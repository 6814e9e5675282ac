/**
 * Owns: the wiring of eviction: what of the configuration it works by, and what admission asks of it
 * before and while it runs.
 */
import type { EventRecorder } from './api/event.ts';
import type { NodeCondition } from './api/node.ts';
import type { Config } from './config/model.ts';
import { NodePressure } from './eviction/conditions.ts';
import type { EvictionDeps } from './eviction/manager.ts';
import { EvictionManager } from './eviction/manager.ts';
import type { MemoryUse } from './eviction/memory-watch.ts';
import { systemMemoryUse } from './eviction/memory-watch.ts';
import { evictionMetrics, pressureGauge } from './eviction/metric.ts';
import type { StrikeMemory } from './eviction/returns.ts';
import { Returns } from './eviction/returns.ts';
import type { PressureCondition } from './eviction/signal.ts';
import { ignoredSignals, thresholdsOf } from './eviction/threshold.ts';
import type { Registry } from './metrics/registry.ts';
import { podsCgroupPath } from './pod/cgroup-name.ts';
import type { CgroupDriver } from './pod/cgroup-name.ts';
import type { Clock } from './util/clock.ts';
import type { Logger } from './util/log.ts';
import { loadCore } from './wasm/core.ts';

export interface LiveEvictionDeps {
  readonly config: Config;
  readonly registry: Registry;
  readonly events: EventRecorder;
  /** Of earlier evictions. */
  readonly memory: StrikeMemory;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The kernel's files that tell, cheaply, how memory moves on this node; none where its numbers are made up. */
export function liveMemoryUse(node: {
  readonly config: Config;
  readonly facts: { readonly cgroupVersion: 1 | 2 };
  readonly cgroupDriver: CgroupDriver;
  readonly stats: unknown;
}): MemoryUse {
  if (node.stats !== undefined) return () => undefined;
  const { kubelet } = node.config;
  const limited = kubelet.cgroupsPerQOS && kubelet.enforceNodeAllocatable.includes('pods');
  if (!limited) return systemMemoryUse(undefined);
  const { cgroupDriver, facts } = node;
  const pods = podsCgroupPath({ ...kubelet, cgroupDriver });
  return systemMemoryUse(
    facts.cgroupVersion === 1
      ? `/sys/fs/cgroup/memory${pods}/memory.usage_in_bytes`
      : `/sys/fs/cgroup${pods}/memory.current`,
  );
}

export class LiveEviction {
  readonly #deps: LiveEvictionDeps;
  readonly #pressure: NodePressure;
  readonly #returns: Returns;

  constructor(deps: LiveEvictionDeps) {
    const { config, events, registry, clock } = deps;
    this.#deps = deps;
    this.#pressure = new NodePressure({
      nodeName: config.nodeName,
      events,
      gauge: pressureGauge(registry),
      wall: () => clock.wall(),
    });
    this.#returns = new Returns({
      transitionMs: config.kubelet.eviction.transitionMs,
      staticPodEviction: config.islet.staticPodEviction,
      memory: deps.memory,
      startMs: clock.monotonic(),
    });
  }

  /** The conditions of pressure that the node reports. */
  conditions(): readonly PressureCondition[] {
    return this.#pressure.current();
  }

  /** As the node's status has them. */
  nodeConditions(): NodeCondition[] {
    return this.#pressure.conditions();
  }

  /** Whether a pod that was evicted may start; a yes is good for one start. */
  mayReturn(uid: string): boolean {
    return this.#returns.mayReturn(uid, this.#deps.clock.monotonic());
  }

  async run(
    parts: Pick<EvictionDeps, 'stats' | 'memoryUse' | 'pods' | 'reclaimer'>,
    signal: AbortSignal,
  ): Promise<void> {
    const { config, registry, events, clock, logger } = this.#deps;
    const { kubelet, islet, nodeName } = config;
    const { transitionMs, maxPodGraceSeconds } = kubelet.eviction;
    for (const ignored of ignoredSignals(kubelet.eviction)) {
      const text = 'a threshold of the container file system is not its own and ignored';
      logger.error(text, { signal: ignored });
    }
    const manager = new EvictionManager({
      ...parts,
      ...{ nodeName, events, clock, logger, transitionMs, maxPodGraceSeconds },
      thresholds: thresholdsOf(kubelet),
      localStorage: kubelet.localStorageCapacityIsolation,
      staticPodEviction: islet.staticPodEviction,
      pressure: this.#pressure,
      returns: this.#returns,
      core: () => loadCore(),
      metrics: evictionMetrics(registry),
    });
    await manager.run(signal);
  }
}
