/**
 * Owns: the words of an eviction (spec eviction.md §7); they are the kubelet's, the space at their end
 * included.
 */
import type { Pod } from '../api/pod.ts';
import { namedContainer } from '../api/pod.ts';
import { amountsOf } from '../api/qos.ts';
import type { ParsedQuantity } from '../api/quantity.ts';
import { amountText, formatQuantity, parseQuantity } from '../api/quantity.ts';
import type { PodStats } from '../stats/model.ts';
import type { EvictionResource, Observations } from './signal.ts';
import { SIGNALS } from './signal.ts';
import type { Threshold } from './threshold.ts';
import { amountOf } from './threshold.ts';
import { containerUsage } from './usage.ts';

export interface EvictionNotice {
  readonly resource: EvictionResource;
  /** The thresholds that are being acted on. */
  readonly due: readonly Threshold[];
  readonly observations: Observations;
}

export function reclaimMessage(resource: EvictionResource): string {
  return `Attempting to reclaim ${resource}`;
}

export function evictionMessage(
  { resource, due, observations }: EvictionNotice,
  pod: Pod,
  stats: PodStats | undefined,
): string {
  const parts = [`The node was low on resource: ${resource}. `];
  const threshold = due.find(({ signal }) => SIGNALS[signal].resource === resource);
  const seen = threshold && observations.get(threshold.signal);
  if (threshold && seen) {
    const least = thresholdText(threshold, amountOf(threshold, seen));
    const available = amountText(seen.available, isCount(resource) ? 'DecimalSI' : 'BinarySI');
    parts.push(`Threshold quantity: ${least}, available: ${available}. `);
  }
  if (stats && (resource === 'memory' || resource === 'ephemeral-storage')) {
    parts.push(...consumers(resource, pod, stats));
  }
  return parts.join('');
}

/** Who uses more than was asked for. */
function consumers(resource: 'memory' | 'ephemeral-storage', pod: Pod, stats: PodStats): string[] {
  const say = (who: string, usage: number | undefined, request: ParsedQuantity | undefined) => {
    if (usage === undefined || wholeNano(usage) <= (request?.nano ?? 0n)) return [];
    const asked = request ? formatQuantity(request) : '0';
    return [
      `${who} was using ${amountText(usage)}, request is ${asked}, has larger consumption of ${resource}. `,
    ];
  };
  const whole = amountsOf(pod.spec.resources?.requests).get('memory');
  if (resource === 'memory' && whole) {
    return say(`Pod ${pod.metadata.name}`, stats.memory?.workingSet, whole);
  }
  return stats.containers.flatMap((container) => {
    const spec = namedContainer(pod, container.name);
    if (!spec) return [];
    const request = amountsOf(spec.resources?.requests).get(resource);
    return say(`Container ${container.name}`, containerUsage(container, resource), request);
  });
}

/** A quantity keeps its spelling, a percentage is told as what it amounts to. */
function thresholdText({ value }: Threshold, amount: number): string {
  const written = value.endsWith('%') ? undefined : parseQuantity(value);
  return written ? formatQuantity(written) : amountText(amount);
}

function isCount(resource: EvictionResource): boolean {
  return resource === 'inodes' || resource === 'pids';
}

function wholeNano(amount: number): bigint {
  return BigInt(Math.trunc(amount)) * 1_000_000_000n;
}
