/**
 * Owns: what watches over the node beside eviction, put together: out-of-memory kills, its shutdown.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { EventRecorder, EventTarget } from './api/event.ts';
import { containerTarget, podTarget } from './api/event.ts';
import { namedContainer } from './api/pod.ts';
import type { Config } from './config/model.ts';
import type { Registry } from './metrics/registry.ts';
import type { Pleg } from './pleg/relist.ts';
import { systemLogind } from './pod/logind.ts';
import type { PodManager } from './pod/manager.ts';
import { OomWatch } from './pod/oom.ts';
import { Shutdown } from './pod/shutdown.ts';
import { ShutdownWatch } from './pod/shutdown-watch.ts';
import { KernelLog } from './stats/kmsg.ts';
import type { Clock } from './util/clock.ts';
import { messageOf } from './util/errors.ts';
import type { Logger } from './util/log.ts';
import type { TaskGroup } from './util/task-group.ts';

export interface LiveGuardDeps {
  readonly config: Config;
  readonly registry: Registry;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tasks: TaskGroup;
  readonly pleg: Pleg;
  readonly manager: () => PodManager;
}

const STATE_FILE = 'graceful_node_shutdown_state';

export class LiveGuard {
  readonly #deps: LiveGuardDeps;
  readonly #oom: OomWatch;
  readonly #shutdown: Shutdown;

  constructor(deps: LiveGuardDeps) {
    const { config, events, clock, logger, manager } = deps;
    const { nodeName, kubelet } = config;
    this.#deps = deps;
    this.#oom = new OomWatch({
      open: () => new KernelLog(),
      target: (uid, containerId) => this.#targetOf(uid, containerId),
      ...{ nodeName, events, clock, logger },
    });
    this.#shutdown = new Shutdown({
      periods: kubelet.shutdownGracePeriods,
      pods: {
        active: () => manager().active(),
        evict: (uid, eviction) => manager().evict(uid, eviction),
        isEnding: (uid) => manager().isEnding(uid),
        reconsider: () => manager().reconsider(),
      },
      ...{ nodeName, events, clock },
      onTimes: ({ startMs, endMs }) => this.#note(startMs, endMs),
    });
  }

  start(): void {
    const { config, tasks, pleg, clock, logger } = this.#deps;
    tasks.spawn('out-of-memory kills', (stop) => this.#oom.run(stop));
    pleg.onEvent(() => this.#oom.poke());
    const { shutdownGracePeriods: periods } = config.kubelet;
    if (periods.length === 0) return;
    const watch = new ShutdownWatch({
      logind: systemLogind(),
      totalMs: periods.reduce((sum, { periodMs }) => sum + periodMs, 0),
      shutdown: this.#shutdown,
      ...{ clock, logger },
    });
    tasks.spawn('node shutdown', (stop) => watch.run(stop));
  }

  isShuttingDown(): boolean {
    return this.#shutdown.isUnderWay;
  }

  /** Stops all pods, by priority; they come back with the next agent. */
  async stopPods(signal: AbortSignal): Promise<void> {
    await this.#shutdown.begin(signal);
  }

  #targetOf(uid: string, containerId: string | undefined): EventTarget | undefined {
    const { manager, pleg } = this.#deps;
    const pod = manager()
      .pods()
      .find(({ metadata }) => metadata.uid === uid);
    if (!pod) return undefined;
    const record = pleg.statusOf(uid)?.containers.find(({ id }) => id === containerId);
    const container = record && namedContainer(pod, record.name);
    return container ? containerTarget(pod, container) : podTarget(pod);
  }

  #note(startMs: number, endMs: number | undefined): void {
    const { config, registry, logger } = this.#deps;
    const time = (ms: number | undefined): string | null =>
      ms === undefined ? null : new Date(ms).toISOString();
    const text = JSON.stringify({ startTime: time(startMs), endTime: time(endMs) });
    try {
      fs.writeFileSync(path.join(config.rootDir, STATE_FILE), text);
    } catch (error) {
      logger.debug('the times of the shutdown are not kept', { why: messageOf(error) });
    }
    const gauge = (which: 'start' | 'end', ms: number): void =>
      registry
        .gauge(
          `kubelet_graceful_shutdown_${which}_time_seconds`,
          `Last graceful shutdown ${which} time since unix epoch in seconds`,
          [],
        )
        .set(ms / 1000);
    gauge('start', startMs);
    if (endMs !== undefined) gauge('end', endMs);
  }
}
