/**
 * Owns: where the runtime keeps images and writable layers, and how full that is. The runtime tells the
 * directories and how much of them is its; the file system itself is asked for room.
 * Invariant: asked again at most every ASK_MS; while the runtime does not answer, what it said last
 * counts, since a directory does not move.
 */
import type { FsUsage } from '../cri/usage.ts';
import type { Clock } from '../util/clock.ts';
import { readFileSystem } from './file-system.ts';
import type { NodeFsStats, NodeStats } from './model.ts';
import { waitFor } from './wait-for.ts';

export interface ImageFsDeps {
  /** The runtime's answer: both lists as it gives them, the first entry of each counts. */
  readonly ask: (signal: AbortSignal) => Promise<{ images: FsUsage[]; containers: FsUsage[] }>;
  readonly clock: Clock;
  /** The agent's stop: a question outlives whoever made it necessary. */
  readonly stop: AbortSignal;
}

interface Places {
  readonly images: FsUsage | undefined;
  readonly containers: FsUsage | undefined;
}

const ASK_MS = 10_000;
/** The first answer is worth waiting for, a little. */
const FIRST_ANSWER_MS = 2_000;

export class ImageFs {
  readonly #deps: ImageFsDeps;
  #places: Places | undefined;
  #askedMs = -Infinity;
  #asking: Promise<void> = Promise.resolve();

  constructor(deps: ImageFsDeps) {
    this.#deps = deps;
  }

  /** Empty until the runtime has told. */
  async read(
    timeMs: number,
    signal: AbortSignal,
  ): Promise<Pick<NodeStats, 'imageFs' | 'containerFs'>> {
    const places = await this.#current(signal);
    const imageFs = places.images && (await measured(places.images, timeMs));
    if (!imageFs) return {};
    const { containers } = places;
    if (containers === undefined || containers.mountpoint === places.images?.mountpoint) {
      return { imageFs, containerFs: imageFs };
    }
    const containerFs = await measured(containers, timeMs);
    return { imageFs, ...(containerFs && { containerFs }) };
  }

  async #current(signal: AbortSignal): Promise<Places> {
    const { clock } = this.#deps;
    const now = clock.monotonic();
    if (now - this.#askedMs >= ASK_MS) {
      this.#askedMs = now;
      this.#asking = this.#ask();
    }
    if (this.#places) return this.#places;
    return waitFor(this.#firstAnswer(this.#asking), signal);
  }

  /** Never rejects: a runtime that does not answer leaves things as they are. */
  async #ask(): Promise<void> {
    const { ask, stop } = this.#deps;
    const answer = await ask(stop).catch(() => undefined);
    if (!answer) return;
    const { images, containers } = answer;
    this.#places = { images: images[0], containers: containers[0] };
  }

  async #firstAnswer(asking: Promise<void>): Promise<Places> {
    const answered = new AbortController();
    const patience = this.#deps.clock.sleep(FIRST_ANSWER_MS, answered.signal);
    await Promise.race([asking, patience.catch(() => undefined)]);
    answered.abort(new Error('answered'));
    return this.#places ?? NOWHERE;
  }
}

const NOWHERE: Places = { images: undefined, containers: undefined };

/** The room is the file system's, what is used is what the runtime says of itself. */
async function measured(usage: FsUsage, timeMs: number): Promise<NodeFsStats | undefined> {
  const fs = await readFileSystem(usage.mountpoint, timeMs);
  if (!fs) return undefined;
  const { used, inodesUsed, ...room } = fs;
  return {
    ...room,
    used: usage.usedBytes ?? used ?? 0,
    inodesUsed: usage.inodesUsed ?? inodesUsed ?? 0,
  };
}
