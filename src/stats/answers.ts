/**
 * Owns: the answers that are served about usage: the summary and the lists of metrics, each made when
 * it is asked for. The code that writes them is loaded then: many nodes are never asked.
 */
import type { Stats } from './reader.ts';
import { IsletError } from '../util/errors.ts';

export interface StatsAnswersDeps {
  readonly nodeName: string;
  /** Logical cores of the node. */
  readonly cpus: number;
  /** undefined until the runtime has answered. */
  readonly reader: () => Stats | undefined;
}

export class StatsAnswers {
  readonly #deps: StatsAnswersDeps;

  constructor(deps: StatsAnswersDeps) {
    this.#deps = deps;
  }

  /** @throws IsletError `unavailable` before the runtime has answered, `failed` */
  async summary(
    options: { readonly onlyCpuAndMemory: boolean },
    signal: AbortSignal,
  ): Promise<object> {
    const reader = this.#reader();
    const { summary } = await import('./summary.ts');
    await reader.settle(signal);
    const disk = !options.onlyCpuAndMemory;
    const [node, pods] = await Promise.all([reader.node(signal), reader.pods(signal, { disk })]);
    return summary({ nodeName: this.#deps.nodeName, node, pods, ...options });
  }

  /** Tells a failure in the metrics themselves. */
  async resourceMetrics(signal: AbortSignal): Promise<string> {
    const { resourceMetrics } = await import('./resource-metrics.ts');
    try {
      const reader = this.#reader();
      const asked = [reader.node(signal), reader.pods(signal, { disk: false })] as const;
      const [node, pods] = await Promise.all(asked);
      return resourceMetrics({ node, pods });
    } catch {
      signal.throwIfAborted();
      return resourceMetrics(undefined);
    }
  }

  /** @throws IsletError `unavailable` before the runtime has answered, `failed` */
  async cadvisorMetrics(signal: AbortSignal): Promise<string> {
    const reader = this.#reader();
    const { cadvisorMetrics } = await import('./cadvisor-metrics.ts');
    const [node, pods] = await Promise.all([reader.node(signal), reader.pods(signal)]);
    return cadvisorMetrics({ node, pods, cpus: this.#deps.cpus, cgroups: reader.cgroups });
  }

  /** What `/metrics` tells of disks; nothing while it cannot be had. */
  async diskMetrics(signal: AbortSignal): Promise<string> {
    const { diskMetrics } = await import('./disk-metrics.ts');
    try {
      const kept = await this.#deps.reader()?.kept(signal);
      return kept ? diskMetrics(kept) : '';
    } catch {
      signal.throwIfAborted();
      return '';
    }
  }

  #reader(): Stats {
    const reader = this.#deps.reader();
    if (reader) return reader;
    throw new IsletError('unavailable', 'the container runtime has not answered yet');
  }
}
