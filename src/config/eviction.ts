/**
 * Owns: what the configuration says of eviction (spec eviction.md §2): which thresholds there are, as
 * written, and how patiently they are acted on.
 * Leaves to others: what a threshold means on this node (src/eviction/threshold.ts).
 */
import { quantityValue } from '../api/quantity.ts';
import { parseDuration } from './duration.ts';

type Written = Readonly<Record<string, unknown>>;
export type BySignal<T> = Readonly<Record<string, T>>;

export interface EvictionSettings {
  /** Signal to quantity or percentage. */
  readonly hard: BySignal<string>;
  readonly soft: BySignal<string>;
  /** Milliseconds; one for each soft signal. */
  readonly softGraceMs: BySignal<number>;
  readonly minimumReclaim: BySignal<string>;
  /** How long a condition is reported after it was last seen. */
  readonly transitionMs: number;
  /** Most seconds that a pod gets when a soft threshold evicts it. */
  readonly maxPodGraceSeconds: number;
}

const DEFAULT_HARD: BySignal<string> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};
const TRANSITION_MS = 300_000;

export const EVICTION_FIELDS = [
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMinimumReclaim',
  'evictionPressureTransitionPeriod',
  'evictionMaxPodGracePeriod',
  'mergeDefaultEvictionSettings',
] as const;

/** From decoded fields. Flags alone set no thresholds, a file has those of the kubelet unless it names its own. */
export function evictionSettings(written: Written, fileUsed: boolean): EvictionSettings {
  const named = written['evictionHard'] as BySignal<string> | undefined;
  const merged = written['mergeDefaultEvictionSettings'] === true;
  const defaults = (named === undefined || merged) && fileUsed ? DEFAULT_HARD : {};
  return {
    hard: { ...defaults, ...named },
    soft: (written['evictionSoft'] ?? {}) as BySignal<string>,
    softGraceMs: graceMs(written['evictionSoftGracePeriod']),
    minimumReclaim: (written['evictionMinimumReclaim'] ?? {}) as BySignal<string>,
    transitionMs: (written['evictionPressureTransitionPeriod'] as number) || TRANSITION_MS,
    maxPodGraceSeconds: Math.max(0, (written['evictionMaxPodGracePeriod'] as number) || 0),
  };
}

/**
 * Whole units of a threshold or a minimum reclaim on a resource of this capacity; undefined: switched
 * off. A percentage counts with the 32 bits that the kubelet gives it.
 */
export function thresholdAmount(text: string, capacity: number): number | undefined {
  if (text === '0%' || text === '100%') return undefined;
  const percent = percentageOf(text);
  return percent === undefined ? quantityValue(text) : Math.trunc(capacity * percent);
}

/** A share from 0 to 1, or undefined where the text is no percentage. */
function percentageOf(text: string): number | undefined {
  return text.endsWith('%') ? Math.fround(Math.fround(Number(text.slice(0, -1))) / 100) : undefined;
}

function graceMs(written: unknown): BySignal<number> {
  const entries = Object.entries((written ?? {}) as BySignal<string>);
  return Object.fromEntries(entries.map(([signal, text]) => [signal, parseDuration(text) ?? 0]));
}
