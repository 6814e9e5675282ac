/**
 * Owns: what is known of each image beside the runtime's list: when it was used, and whether it could be
 * had again.
 * Invariants: the order of uses is right over restarts and whatever the clock says after a boot: a
 * stamp is the wall time, or where that lies before an earlier stamp, one more than the highest. How long
 * ago something was is told by the monotonic clock, so only for this life of the agent.
 * An image can be had again only if a registry gave it to islet and that registry answered lately,
 * as far as the clock can tell; one that was imported cannot.
 */
import type { ImageSources } from '../store/image-sources.ts';
import type { ImageUse } from '../store/images.ts';
import type { Clock } from '../util/clock.ts';
import type { ImageLedger } from './puller.ts';
import { repositoryOf } from './repository.ts';

export interface UseLedgerDeps {
  readonly uses: ImageUse;
  readonly sources: ImageSources;
  readonly clock: Clock;
}

export interface Use {
  /** Tells which of two images was used later, also before this life of the agent. */
  readonly stamp: number | undefined;
  /** Monotonic milliseconds; undefined: not in this life of the agent. */
  readonly usedAt: number | undefined;
  /** When something was last about to be made of it. */
  readonly claimedAt: number | undefined;
}

interface Known {
  stamp: number;
  usedAt: number;
  claimedAt: number | undefined;
  writtenAt: number;
}

/** A use so long after the one on disk is written: running pods cost next to no writes. */
const FRESH_MS = 3_600_000;
/** A registry that answered so lately is believed to answer again. */
const TRUSTED_MS = 7 * 24 * 3_600_000;
/** By so much a clock may be put right. */
const SLACK_MS = 60_000;

export class UseLedger implements ImageLedger {
  readonly #deps: UseLedgerDeps;
  readonly #known = new Map<string, Known>();
  #highest = 0;

  constructor(deps: UseLedgerDeps) {
    this.#deps = deps;
    for (const { lastUsed } of deps.uses.all()) this.#highest = Math.max(this.#highest, lastUsed);
  }

  used(id: string): void {
    this.seen(id);
    const known = this.#known.get(id);
    if (known) known.claimedAt = this.#deps.clock.monotonic();
  }

  /** A container has it. */
  seen(id: string): void {
    const { uses, clock } = this.#deps;
    const usedAt = clock.monotonic();
    this.#highest = Math.max(Math.round(clock.wall()), this.#highest + 1);
    const stamp = this.#highest;
    const known = this.#known.get(id);
    const isFresh = known !== undefined && usedAt - known.writtenAt < FRESH_MS;
    if (!isFresh) uses.put(id, stamp);
    const writtenAt = isFresh ? known.writtenAt : usedAt;
    this.#known.set(id, { stamp, usedAt, claimedAt: known?.claimedAt, writtenAt });
  }

  use(id: string): Use {
    const known = this.#known.get(id);
    return (
      known ?? { stamp: this.#deps.uses.lastUsed(id), usedAt: undefined, claimedAt: undefined }
    );
  }

  pulled(name: string, id: string): void {
    const { sources, clock } = this.#deps;
    sources.pulled(id, name);
    sources.answered(hostOf(name), clock.wall());
  }

  notPulled(name: string, answered: boolean): void {
    const { sources, clock } = this.#deps;
    if (answered) sources.answered(hostOf(name), clock.wall());
    else sources.silent(hostOf(name));
  }

  canBeHadAgain(id: string): boolean {
    const { sources, clock } = this.#deps;
    const name = sources.sourceOf(id);
    const registry = name === undefined ? undefined : sources.registry(hostOf(name));
    if (!registry?.reachable) return false;
    const age = clock.wall() - registry.answeredAt;
    // A time to come: the clock is not set, and nothing can be said.
    return age >= -SLACK_MS && age <= TRUSTED_MS;
  }

  /** Every image that anything is known of. */
  images(): Set<string> {
    const { uses, sources } = this.#deps;
    return new Set([
      ...this.#known.keys(),
      ...uses.all().map(({ ref }) => ref),
      ...sources.images(),
    ]);
  }

  forget(id: string): void {
    this.#known.delete(id);
    this.#deps.uses.delete(id);
    this.#deps.sources.delete(id);
  }
}

function hostOf(name: string): string {
  return repositoryOf(name).split('/', 1)[0] ?? '';
}
