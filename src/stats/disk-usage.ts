/**
 * Owns: how old a walked size may be, and that not too much is walked at once. A size is kept for
 * `periodMs`, with some jitter so that not all directories are due together.
 * Unlike the kubelet: who needs fresh numbers (eviction) gets them as soon as they are older than a
 * hundred times what it took to get them, so a small volume is known to the second and a large one
 * costs no more than a hundredth of a core.
 */
import type { Clock, Random } from '../util/clock.ts';
import type { Limiter } from '../util/limiter.ts';
import { walkDirectory } from './disk-walk.ts';
import type { DirectoryUse } from './disk-walk.ts';
import { waitFor } from './wait-for.ts';

export interface DiskUsageDeps {
  /** `volumeStatsAggPeriod`. */
  readonly periodMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** How many directories are walked at once. */
  readonly walks: Limiter;
  /** Ends walks that nobody waits for any more: the agent's stop. */
  readonly stop: AbortSignal;
  readonly walk?: typeof walkDirectory;
}

interface Measured {
  readonly use: DirectoryUse | undefined;
  readonly atMs: number;
  readonly costMs: number;
  readonly keepMs: number;
}

const FRESH_FLOOR_MS = 1_000;
const COST_FACTOR = 100;
const JITTER = 0.1;

export class DiskUsage {
  readonly #deps: DiskUsageDeps;
  readonly #measured = new Map<string, Measured>();
  readonly #underWay = new Map<string, Promise<Measured>>();

  constructor(deps: DiskUsageDeps) {
    this.#deps = deps;
  }

  /** undefined when there is no such directory. Rejects when the signal aborts. */
  async of(
    directory: string,
    options: { readonly fresh: boolean },
    signal: AbortSignal,
  ): Promise<DirectoryUse | undefined> {
    const last = this.#measured.get(directory);
    if (last && this.#mayBeUsed(last, options.fresh)) return last.use;
    const walk = this.#underWay.get(directory) ?? this.#start(directory);
    return (await waitFor(walk, signal)).use;
  }

  /** Forgets directories that nobody asks for any more. */
  retain(wanted: ReadonlySet<string>): void {
    for (const directory of this.#measured.keys())
      if (!wanted.has(directory)) this.#measured.delete(directory);
  }

  #mayBeUsed({ atMs, costMs, keepMs }: Measured, fresh: boolean): boolean {
    const age = this.#deps.clock.monotonic() - atMs;
    return (
      age < (fresh ? Math.min(keepMs, Math.max(FRESH_FLOOR_MS, COST_FACTOR * costMs)) : keepMs)
    );
  }

  #start(directory: string): Promise<Measured> {
    const walk = this.#walk(directory).finally(() => this.#underWay.delete(directory));
    walk.catch(() => undefined); // whoever waits is told; nobody may be
    this.#underWay.set(directory, walk);
    return walk;
  }

  async #walk(directory: string): Promise<Measured> {
    const { clock, random, periodMs, walks, stop, walk = walkDirectory } = this.#deps;
    return walks.run(0, stop, async () => {
      const begun = clock.monotonic();
      const use = await walk(directory, stop);
      const atMs = clock.monotonic();
      const keepMs = periodMs * (1 + JITTER * random());
      const measured = { use, atMs, costMs: atMs - begun, keepMs };
      this.#measured.set(directory, measured);
      return measured;
    });
  }
}
