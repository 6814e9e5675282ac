/**
 * Owns: the file events of one directory, as hints: "look again", without a word on what changed.
 * Invariants: a hint comes within milliseconds; a lost hint costs a delay, never a change, because the
 * source lists the directory periodically. A watcher that fails is reported once and made again later.
 * Chokidar's own events are held back for up to 100 ms (change throttle, unlink pairing), so its `raw`
 * event is what counts here; its part is to keep watches on the directory, on each file in it and on
 * what symlinks lead to.
 */
import { basename, resolve } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';

export interface DirectoryWatchDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onHint: () => void;
}

export interface WatchTarget {
  readonly path: string;
  /** Identity of the directory: another one under the same path is watched anew. */
  readonly dev: bigint;
  readonly ino: bigint;
  /** Only this name matters; undefined: every name does. */
  readonly only: string | undefined;
}

const RETRY_MS = 20_000;

export class DirectoryWatch {
  readonly #deps: DirectoryWatchDeps;
  #watcher: FSWatcher | undefined;
  #target: WatchTarget | undefined;
  /** Monotonic time at which a watcher that failed is made again. */
  #retryAt: number | undefined;
  #reported = false;

  constructor(deps: DirectoryWatchDeps) {
    this.#deps = deps;
  }

  /** Watches `target`; cheap when it is watched already. */
  point(target: WatchTarget): void {
    const failed = this.#retryAt !== undefined && this.#deps.clock.monotonic() >= this.#retryAt;
    if (this.#watcher && !failed && this.#target && isSame(this.#target, target)) return;
    this.close();
    if (this.#target && !isSame(this.#target, target)) this.#reported = false;
    this.#target = target;
    this.#watcher = this.#open(target);
  }

  close(): void {
    const watcher = this.#watcher;
    this.#watcher = undefined;
    this.#retryAt = undefined;
    // It closes its handles at once; the promise only tells of the rest.
    watcher?.close().catch((error: unknown) => {
      this.#deps.logger.debug('closing the manifest watcher', { err: error });
    });
  }

  #open(target: WatchTarget): FSWatcher {
    const root = resolve(target.path);
    const watcher = watch(root, {
      depth: 0,
      ignoreInitial: true,
      ignorePermissionErrors: true,
      atomic: false,
      ignored: (path) => resolve(path) !== root && !matters(target, basename(path)),
    });
    watcher.on('raw', (_event, path) => {
      // A name comes from the directory, a path from one file; without either it may be anything.
      const name = typeof path === 'string' && path !== '' ? basename(path) : undefined;
      if (target.only === undefined || name === undefined || name === target.only) {
        this.#deps.onHint();
      }
    });
    // What changed before the watches were in place.
    watcher.on('ready', this.#deps.onHint);
    watcher.on('error', (error) => this.#failed(watcher, target, error));
    return watcher;
  }

  #failed(watcher: FSWatcher, target: WatchTarget, error: unknown): void {
    if (watcher !== this.#watcher || this.#retryAt !== undefined) return;
    this.#retryAt = this.#deps.clock.monotonic() + RETRY_MS;
    if (this.#reported) return;
    this.#reported = true;
    this.#deps.logger.warn('watching manifests failed; changes are found by the periodic list', {
      path: target.path,
      err: error,
    });
  }
}

/** Hidden entries cannot be manifests; a change of one that a link leads through is an event of the directory. */
function matters(target: WatchTarget, name: string): boolean {
  return target.only === undefined ? !name.startsWith('.') : name === target.only;
}

function isSame(a: WatchTarget, b: WatchTarget): boolean {
  return a.path === b.path && a.dev === b.dev && a.ino === b.ino && a.only === b.only;
}
