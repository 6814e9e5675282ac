/**
 * Owns: how important a pod is. The two classes of the system are resolved here, where there is no API
 * server to look a class up in.
 */
import type { Pod } from './pod.ts';
import { Annotation } from './reasons.ts';

/** The system classes begin here: such a pod counts as critical. */
const SYSTEM_CRITICAL = 2_000_000_000;

const SYSTEM_CLASS: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': SYSTEM_CRITICAL,
};

/** A 32-bit integer; 0 where nothing says anything. */
export function podPriority(pod: Pod): number {
  return pod.spec.priority ?? SYSTEM_CLASS[pod.spec.priorityClassName ?? ''] ?? 0;
}

/**
 * Critical pods are never evicted, and are taken whatever the pressure.
 * Unlike the kubelet: where every static pod is critical, islet asks what the pod says of itself; with
 * `staticPodEviction` false it is as in the kubelet.
 */
export function isCriticalPod(pod: Pod, staticPodEviction: boolean): boolean {
  if (podPriority(pod) >= SYSTEM_CRITICAL) return true;
  return !staticPodEviction && isStaticPod(pod);
}

/** From a manifest, and not a mirror of one. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[Annotation.configSource];
  return source !== undefined && source !== 'api';
}
