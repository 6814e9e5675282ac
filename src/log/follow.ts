/**
 * Owns: noticing that a log file may have grown, was rotated or was made anew.
 * Invariant: events of the file system are a hint; a forced check every `checkEveryMs` carries on when
 * they are lost or cannot be had (spec: gc-logs-images.md §3.2: 1 s).
 * Leaves to others: reading (reader.ts), which file comes next (rotated.ts).
 */
import { watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { Wakeup } from '../util/wakeup.ts';

export interface FollowOptions {
  readonly clock: Clock;
  /** Whether the container still runs; asked at most once per forced check. */
  readonly isRunning: () => boolean;
  readonly checkEveryMs?: number;
}

export class LogWatch {
  readonly #options: FollowOptions;
  readonly #wakeup = new Wakeup();
  readonly #checkEveryMs: number;
  #watcher: FSWatcher | undefined;
  #nextCheck: number;
  #ended = false;

  constructor(path: string, options: FollowOptions) {
    this.#options = options;
    this.#checkEveryMs = options.checkEveryMs ?? 1000;
    this.#nextCheck = options.clock.monotonic();
    this.#watcher = this.#watch(dirname(path), basename(path));
  }

  /**
   * Whether the container had ended. To be asked before reading, so that everything it wrote is read
   * after it was seen ended.
   */
  ended(): boolean {
    const now = this.#options.clock.monotonic();
    if (!this.#ended && now >= this.#nextCheck) {
      this.#nextCheck = now + this.#checkEveryMs;
      this.#ended = !this.#options.isRunning();
    }
    return this.#ended;
  }

  /** Resolves at a change in the directory that may concern the log, or when a check is due. */
  async changed(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await this.#wakeup.wait(clock, Math.max(1, this.#nextCheck - clock.monotonic()), signal);
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #watch(directory: string, name: string): FSWatcher | undefined {
    try {
      const watcher = watch(directory, { persistent: false }, (_event, changed) => {
        if (changed === null || changed === name) this.#wakeup.poke();
      });
      watcher.on('error', () => this.close());
      return watcher;
    } catch {
      return undefined; // no inotify instances left, or the directory is gone: the checks carry on
    }
  }
}
