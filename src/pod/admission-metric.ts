/**
 * Owns: the metrics of admission, with the kubelet's names.
 */
import type { Counter, Registry } from '../metrics/registry.ts';

export interface AdmissionMetrics {
  /** By `reason`. */
  readonly rejections: Counter;
  /** By `preemption_signal`: the resource that was short. */
  readonly preemptions: Counter;
}

export function admissionMetrics(registry: Registry): AdmissionMetrics {
  return {
    rejections: registry.counter(
      'kubelet_admission_rejections_total',
      'Cumulative number of pod admission rejections by the node.',
      ['reason'],
    ),
    preemptions: registry.counter(
      'kubelet_preemptions',
      'Cumulative number of pod preemptions by preemption resource',
      ['preemption_signal'],
    ),
  };
}
