/**
 * Owns: `/metrics/resource` (spec http-api.md §7), what a metrics server scrapes: CPU and memory of the
 * node, of pods and of containers, with the time at which each was read.
 */
import { Exposition } from '../metrics/exposition.ts';
import type { CpuStats, MemoryStats, NodeStats, PodStats, SwapStats } from './model.ts';

const counter = (name: string, help: string) => ({ name, help, kind: 'counter' }) as const;
const gauge = (name: string, help: string) => ({ name, help, kind: 'gauge' }) as const;

const CPU = 'Cumulative cpu time consumed by the';
const MEMORY = 'Current working set in bytes of the';
const SWAP = 'Current amount of swap usage in bytes of the';

const FAMILY = {
  node: {
    cpu: counter('node_cpu_usage_seconds_total', `${CPU} node in core-seconds`),
    memory: gauge('node_memory_working_set_bytes', `${MEMORY} node`),
    swap: gauge('node_swap_usage_bytes', `${SWAP} node`),
  },
  pod: {
    cpu: counter('pod_cpu_usage_seconds_total', `${CPU} pod in core-seconds`),
    memory: gauge('pod_memory_working_set_bytes', `${MEMORY} pod`),
    swap: gauge('pod_swap_usage_bytes', `${SWAP} pod`),
  },
  container: {
    cpu: counter('container_cpu_usage_seconds_total', `${CPU} container in core-seconds`),
    memory: gauge('container_memory_working_set_bytes', `${MEMORY} container`),
    swap: gauge('container_swap_usage_bytes', `${SWAP} container`),
  },
  swapLimit: gauge(
    'container_swap_limit_bytes',
    'Current amount of the container swap limit in bytes',
  ),
  startTime: gauge(
    'container_start_time_seconds',
    'Start time of the container since unix epoch in seconds',
  ),
  error: gauge(
    'resource_scrape_error',
    '1 if there was an error while getting metrics, 0 otherwise',
  ),
} as const;

type Labels = Readonly<Record<string, string>>;

/** undefined: the numbers could not be read. */
export function resourceMetrics(
  read: { readonly node: NodeStats; readonly pods: readonly PodStats[] } | undefined,
): string {
  const out = new Exposition();
  if (read) {
    addUsage(out, FAMILY.node, {}, read.node);
    for (const pod of read.pods) {
      const { name, namespace } = pod.ref;
      addUsage(out, FAMILY.pod, { namespace, pod: name }, pod);
      for (const container of pod.containers) {
        const labels = { container: container.name, namespace, pod: name };
        addUsage(out, FAMILY.container, labels, container);
        const { swap, startTimeMs } = container;
        const limit = swap?.available === undefined ? undefined : swap.available + swap.usage;
        out.add(FAMILY.swapLimit, labels, limit, swap?.timeMs);
        out.add(FAMILY.startTime, labels, startTimeMs / 1000);
      }
    }
  }
  out.add(FAMILY.error, {}, read ? 0 : 1);
  return out.text();
}

function addUsage(
  out: Exposition,
  family: (typeof FAMILY)['node' | 'pod' | 'container'],
  labels: Labels,
  stats: { readonly cpu?: CpuStats; readonly memory?: MemoryStats; readonly swap?: SwapStats },
): void {
  const { cpu, memory, swap } = stats;
  out.add(family.cpu, labels, cpu && cpu.usageCoreNanoSeconds / 1e9, cpu?.timeMs);
  out.add(family.memory, labels, memory?.workingSet, memory?.timeMs);
  out.add(family.swap, labels, swap?.usage, swap?.timeMs);
}
