/**
 * Owns: in which order pods start and which pod waits for which (design: scheduling of work).
 */
import type { Pod } from '../api/pod.ts';

const SYSTEM_CLASS: Record<string, number> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

/** More pods than a node can hold, so that priority always outweighs the order of files. */
const ORDERS = 100_000;

/** Smaller starts first: by priority, then by the order of files. */
export function startRank(pod: Pod, order: number): number {
  const priority = pod.spec.priority ?? SYSTEM_CLASS[pod.spec.priorityClassName ?? ''] ?? 0;
  return -priority * ORDERS + Math.min(order, ORDERS - 1);
}

/** `<protocol>/<port>` of every port that the pod takes on the host. */
export function hostPorts(pod: Pod): string[] {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return containers.flatMap((c) =>
    (c.ports ?? []).flatMap((p) => (p.hostPort ? [`${p.protocol}/${p.hostPort}`] : [])),
  );
}
