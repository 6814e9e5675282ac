/**
 * Owns: what one look at the node means (spec eviction.md §3, steps 2 to 7 and 10): which thresholds
 * are to be acted on and which conditions the node has. Pure: state in, state out.
 * Invariant: times are monotonic milliseconds, those of statistics only compared with one another.
 */
import type { Observations, PressureCondition, Signal } from './signal.ts';
import { CONDITIONS, SIGNALS } from './signal.ts';
import type { Threshold } from './threshold.ts';
import { metThresholds } from './threshold.ts';

export interface CycleState {
  /** Since when each threshold has been met without a break. */
  readonly firstMet: ReadonlyMap<Threshold, number>;
  readonly lastSeen: ReadonlyMap<PressureCondition, number>;
  /** Met for their grace period in the last cycle. */
  readonly met: readonly Threshold[];
  /** When the statistics of the last cycle were taken. */
  readonly statsTimes: ReadonlyMap<Signal, number>;
}

export interface CycleInput {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  readonly state: CycleState;
  readonly nowMs: number;
  readonly transitionMs: number;
}

export interface CycleResult {
  readonly state: CycleState;
  /** Seen within the transition period, in the order of CONDITIONS. */
  readonly conditions: readonly PressureCondition[];
  /** To be acted on, memory first; empty: nothing to do. */
  readonly due: readonly Threshold[];
}

export const NO_CYCLE_YET: CycleState = {
  firstMet: new Map(),
  lastSeen: new Map(),
  met: [],
  statsTimes: new Map(),
};

export function evaluate(input: CycleInput): CycleResult {
  const { thresholds, observations, state, nowMs, transitionMs } = input;
  const metNow = metThresholds(thresholds, observations);
  const unresolved = metThresholds(state.met, observations, true);
  const met = [...metNow, ...unresolved.filter((t) => !metNow.includes(t))];
  const firstMet = new Map(met.map((t) => [t, state.firstMet.get(t) ?? nowMs]));
  const lastSeen = new Map(state.lastSeen);
  for (const { signal } of met) lastSeen.set(SIGNALS[signal].condition, nowMs);
  const due = met.filter((t) => nowMs - (firstMet.get(t) ?? nowMs) >= (t.graceMs ?? 0));
  const fresh = due.filter((t) => isNewer(t.signal, observations, state.statsTimes));
  const statsTimes = new Map([...observations].map(([signal, { timeMs }]) => [signal, timeMs]));
  return {
    state: { firstMet, lastSeen, met: due, statsTimes },
    conditions: CONDITIONS.filter((one) => {
      const seen = lastSeen.get(one);
      return seen !== undefined && nowMs - seen < transitionMs;
    }),
    due: [...fresh.filter(isMemory), ...fresh.filter((t) => !isMemory(t))],
  };
}

/** Whether memory is short in a way that the last cycle has not seen: no reason to wait for the next. */
export function isNewMemoryPressure(
  thresholds: readonly Threshold[],
  observations: Observations,
  state: CycleState,
): boolean {
  const met = metThresholds(thresholds.filter(isMemory), observations);
  return met.some((threshold) => !state.firstMet.has(threshold));
}

function isMemory({ signal }: Threshold): boolean {
  return SIGNALS[signal].resource === 'memory';
}

function isNewer(
  signal: Signal,
  observations: Observations,
  before: ReadonlyMap<Signal, number>,
): boolean {
  const last = before.get(signal);
  const now = observations.get(signal)?.timeMs;
  return last === undefined || now === undefined || now !== last;
}
