/**
 * Owns: CPU rates: of each cgroup the last sample, so that two readings make nanoseconds per second.
 * Invariants: a rate spans at least SHORTEST_MS, so that two who ask at once do not see noise; a sample
 * older than OLDEST_MS makes none; a counter that went back (a new cgroup of an old name) starts anew.
 */
import type { CpuStats } from './model.ts';

/** Milliseconds. */
const SHORTEST_MS = 450;
/** How long to wait for a second sample; more than the shortest, since timers may be early. */
export const SETTLE_MS = 500;
const OLDEST_MS = 120_000;

interface Track {
  baseMs: number;
  baseUsage: number;
  rate: number | undefined;
}

export class CpuRates {
  readonly #tracks = new Map<string, Track>();

  /** The reading with its rate, when there is an older one to compare with. `nowMs` is monotonic. */
  withRate(cgroup: string, cpu: CpuStats, nowMs: number): CpuStats {
    const usageNanoCores = this.#sample(cgroup, cpu.usageCoreNanoSeconds, nowMs);
    return usageNanoCores === undefined ? cpu : { ...cpu, usageNanoCores };
  }

  /** Whether a reading now would have a rate. */
  has(cgroup: string, nowMs: number): boolean {
    const track = this.#tracks.get(cgroup);
    if (track === undefined) return false;
    const age = nowMs - track.baseMs;
    return age < SHORTEST_MS ? track.rate !== undefined : age <= OLDEST_MS;
  }

  /** Forgets cgroups that are gone. */
  retain(isThere: (cgroup: string) => boolean): void {
    for (const cgroup of this.#tracks.keys()) if (!isThere(cgroup)) this.#tracks.delete(cgroup);
  }

  #sample(cgroup: string, usage: number, nowMs: number): number | undefined {
    const track = this.#tracks.get(cgroup);
    const age = track ? nowMs - track.baseMs : Infinity;
    if (track === undefined || age > OLDEST_MS || usage < track.baseUsage) {
      this.#tracks.set(cgroup, { baseMs: nowMs, baseUsage: usage, rate: undefined });
      return undefined;
    }
    if (age < SHORTEST_MS) return track.rate;
    track.rate = Math.round(((usage - track.baseUsage) / age) * 1000);
    track.baseMs = nowMs;
    track.baseUsage = usage;
    return track.rate;
  }
}
