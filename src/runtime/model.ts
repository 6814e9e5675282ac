/**
 * Owns: what is known about one pod in the runtime. Made by pleg/, read by everyone above runtime/.
 */
import { Label } from '../api/reasons.ts';
import type { ContainerStatus, SandboxStatus } from '../cri/model.ts';

/**
 * Invariants: sandboxes are ordered newest first (attempt, then creation, descending), containers
 * newest first by creation; `ips` are those of the newest sandbox while it is ready, else the last
 * known ones (spec: pleg.md §3.3).
 */
export interface RuntimePodStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly ips: readonly string[];
  readonly sandboxes: readonly SandboxStatus[];
  readonly containers: readonly RuntimeContainerStatus[];
}

export interface RuntimeContainerStatus extends ContainerStatus {
  readonly sandboxId: string;
}

export function emptyRuntimeStatus(uid: string, name = '', namespace = ''): RuntimePodStatus {
  return { uid, name, namespace, ips: [], sandboxes: [], containers: [] };
}

/** The newest record of a container name, or undefined. */
export function newestContainer(
  status: RuntimePodStatus,
  name: string,
): RuntimeContainerStatus | undefined {
  return status.containers.find((c) => c.name === name);
}

export function isRunningPod(status: RuntimePodStatus): boolean {
  return (
    status.containers.some((c) => c.state === 'running') ||
    status.sandboxes.some((s) => s.state === 'ready')
  );
}

/** uid, name and namespace of the pod that a listed object belongs to; undefined for foreign ones. */
export function podOfLabels(
  labels: Record<string, string>,
): { uid: string; name: string; namespace: string } | undefined {
  const uid = labels[Label.podUid];
  if (!uid) return undefined;
  return { uid, name: labels[Label.podName] ?? '', namespace: labels[Label.podNamespace] ?? '' };
}
