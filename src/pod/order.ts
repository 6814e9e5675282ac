/**
 * Owns: in which order pods start and which pod waits for which (design: scheduling of work).
 */
import type { ContainerPort, Pod } from '../api/pod.ts';
import { podPriority } from '../api/priority.ts';
import type { RuntimePodStatus } from '../runtime/model.ts';
import { rememberedPorts } from '../runtime/stop-facts.ts';

/** More pods than a node can hold, so that priority always outweighs the order of files. */
const ORDERS = 100_000;

/** Smaller starts first: by priority, then by the order of files. */
export function startRank(pod: Pod, order: number): number {
  return -podPriority(pod) * ORDERS + Math.min(order, ORDERS - 1);
}

/** `<protocol>/<port>` of every port that the pod takes on the host. */
export function hostPorts(pod: Pod): string[] {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return containers.flatMap(({ ports = [] }) => taken(ports));
}

/** The same of a pod whose manifest is gone, from what its containers remember. */
export function rememberedHostPorts(status: RuntimePodStatus): string[] {
  return status.containers.flatMap((container) => taken(rememberedPorts(container)));
}

function taken(ports: readonly ContainerPort[]): string[] {
  return ports.flatMap((p) => (p.hostPort ? [`${p.protocol}/${p.hostPort}`] : []));
}
