/**
 * Owns: handler 2 of admission (spec eviction.md §8): a node under pressure takes only pods that it
 * cannot do without, and under memory pressure alone those that say how much they need.
 */
import type { Pod } from '../api/pod.ts';
import { isCriticalPod } from '../api/priority.ts';
import { qosClass } from '../api/qos.ts';
import { AdmissionReason } from '../api/reasons.ts';
import type { AdmissionInput, Refusal } from './admission.ts';

const MEMORY_TAINT = 'node.kubernetes.io/memory-pressure';

export function evictionPressure({ pod, node }: AdmissionInput): Refusal | undefined {
  const conditions = node.pressure();
  if (conditions.length === 0 || isCriticalPod(pod, node.staticPodEviction)) return undefined;
  const onlyMemory = conditions.length === 1 && conditions[0] === 'MemoryPressure';
  if (onlyMemory && (qosClass(pod) !== 'BestEffort' || toleratesMemory(pod))) return undefined;
  const message = `The node had condition: [${conditions.join(' ')}]. `;
  return { reason: AdmissionReason.Evicted, message };
}

function toleratesMemory(pod: Pod): boolean {
  return (pod.spec.tolerations ?? []).some(({ key, operator, value, effect }) => {
    if (effect && effect !== 'NoSchedule') return false;
    // A toleration of every key must say Exists; the taint has no value.
    if (operator === 'Exists') return !key || key === MEMORY_TAINT;
    return key === MEMORY_TAINT && (value ?? '') === '';
  });
}
