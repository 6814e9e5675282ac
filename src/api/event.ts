/**
 * Owns: what an event is. Whoever decides something about a pod says so through an EventRecorder;
 * where events are kept and shown is the store's and the CLI's business.
 */
import type { Container, Pod } from './pod.ts';

export type EventType = 'Normal' | 'Warning';

export interface EventTarget {
  kind: 'Pod' | 'Node';
  namespace: string;
  name: string;
  uid: string;
  /** e.g. `spec.containers{app}`. */
  fieldPath?: string;
}

export interface EventRecorder {
  /** Never throws and never waits: losing an event must not hurt a pod. */
  event(target: EventTarget, type: EventType, reason: string, message: string): void;
}

/** Events about the node carry its name as uid, as the kubelet's do. */
export function nodeTarget(nodeName: string): EventTarget {
  return { kind: 'Node', namespace: 'default', name: nodeName, uid: nodeName };
}

export function podTarget(pod: Pod): EventTarget {
  const { namespace, name, uid } = pod.metadata;
  return { kind: 'Pod', namespace, name, uid };
}

export function containerTarget(pod: Pod, container: Container): EventTarget {
  const list = pod.spec.initContainers?.some((c) => c.name === container.name)
    ? 'initContainers'
    : pod.spec.ephemeralContainers?.some((c) => c.name === container.name)
      ? 'ephemeralContainers'
      : 'containers';
  return { ...podTarget(pod), fieldPath: `spec.${list}{${container.name}}` };
}
