/**
 * Owns: keeping the logs of islet's containers within their bound (spec: gc-logs-images.md §3.1).
 *
 *            a write                      due
 *   resting ─────────► growing ───────────────────► look: rotate, clear, compress
 *      ▲   (inotify)      ▲                            │ grows: due again the sooner the faster
 *      │                  └────────────────────────────┤
 *      └───────────────────────────────────────────────┘ does not
 *
 * Invariants: a log that rests costs one look an interval; a log has at most one look at a time, and none
 * waits for another's; a container has no more on disk than maxSize × maxFiles but for what it
 * writes within a few milliseconds, over all its instances.
 * Unlike the kubelet: the interval is a safety net only; older parts are compressed once the log has not
 * been rotated for a while, so that a flood is not compressed just to be deleted; `containerLogMaxWorkers`
 * bounds what is compressed at once, and no log waits for that with its rotation.
 */
import { statSync, watch, type FSWatcher } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { compressLog } from '../log/compress.ts';
import { blindMs, grown, nextLookMs, type Growth } from '../log/growth.ts';
import { parseLogName } from '../log/log-name.ts';
import { boundOf, planDirectory, type LogLimits } from '../log/rotation-plan.ts';
import { cutToTail, emptyLog, logsIn, moveAway, putBack, removeLogs } from '../log/rotate.ts';
import type { Clock } from '../util/clock.ts';
import type { Limiter } from '../util/limiter.ts';
import type { Logger } from '../util/log.ts';
import { Wakeup } from '../util/wakeup.ts';

export interface ContainerLog {
  readonly id: string;
  /** `<directory of the container>/<instance>.log`. */
  readonly path: string;
  readonly running: boolean;
}

export interface LogKeeperDeps {
  /** Every instance of every container that is islet's and runs or has ended. */
  readonly logs: () => Iterable<ContainerLog>;
  /** ReopenContainerLog. */
  readonly reopen: (id: string, signal: AbortSignal) => Promise<void>;
  readonly limits: LogLimits;
  readonly intervalMs: number;
  /** Bounds what is compressed at once. */
  readonly workers: Limiter;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The newest log of one container. */
interface Entry {
  readonly directory: string;
  log: ContainerLog;
  growth: Growth;
  due: number;
  busy: boolean;
  watcher: FSWatcher | undefined;
  /** When older parts may be compressed; Infinity: there are none. */
  compressAt: number;
  compressing: AbortController | undefined;
  /** Looks that failed in a row. */
  failures: number;
  /** Monotonic. */
  readonly madeAt: number;
  /** Bytes of all but the current log, as of the last look at the directory. */
  others: number;
}

const CALM_MS = 5_000;
/** A look at a log that cannot be watched. */
const UNWATCHED_MS = 1_000;
const RETRY_MS = 500;
const LONGEST_RETRY_MS = 2_000;

export class LogKeeper {
  readonly #deps: LogKeeperDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #wakeup = new Wakeup();
  readonly #running = new Set<Promise<void>>();
  #changed = true;

  constructor(deps: LogKeeperDeps) {
    this.#deps = deps;
  }

  /** How many logs rest under watch. */
  get watching(): number {
    return [...this.#entries.values()].filter(({ watcher }) => watcher).length;
  }

  /** Containers came, ended or went. */
  poke(): void {
    this.#changed = true;
    this.#wakeup.poke();
  }

  /** A container was started just now; its log is looked at before the runtime's lists tell of it. */
  started(id: string, log: string): void {
    this.#take({ id, path: log, running: true });
    this.#wakeup.poke();
  }

  /** Works until the signal aborts; resolves when nothing of it runs any more. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs } = this.#deps;
    let listedAt = -Infinity;
    try {
      while (!signal.aborted) {
        const now = clock.monotonic();
        if (this.#changed || now >= listedAt + intervalMs) {
          this.#changed = false;
          listedAt = now;
          this.#list();
        }
        this.#lookAtDue(signal);
        const next = Math.min(listedAt + intervalMs, this.#earliest());
        await this.#wakeup.wait(clock, Math.max(1, next - clock.monotonic()), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      for (const entry of this.#entries.values()) this.#forget(entry);
      await Promise.all(this.#running);
    }
  }

  #list(): void {
    const newest = new Map<string, ContainerLog>();
    for (const log of this.#deps.logs()) {
      const directory = path.dirname(log.path);
      const other = newest.get(directory);
      if (!other || instanceOf(log) > instanceOf(other)) newest.set(directory, log);
    }
    for (const log of newest.values()) this.#take(log);
    for (const [directory, entry] of this.#entries) {
      // One that was started a moment ago may not be listed yet: its log goes on being looked at.
      const isNew = this.#deps.clock.monotonic() - entry.madeAt < this.#deps.intervalMs;
      if (newest.has(directory) || (entry.log.running && isNew)) continue;
      this.#forget(entry);
    }
  }

  #take(log: ContainerLog): void {
    const directory = path.dirname(log.path);
    const now = this.#deps.clock.monotonic();
    const known = this.#entries.get(directory);
    if (known && instanceOf(known.log) > instanceOf(log)) return;
    if (known?.log.path === log.path) {
      if (known.log.running !== log.running) known.due = now;
      known.log = log;
      return;
    }
    if (known) this.#forget(known);
    this.#entries.set(directory, {
      ...{ directory, log, growth: { size: 0, atMs: now, rate: 0 }, due: now, busy: false },
      ...{ watcher: undefined, compressAt: now, compressing: undefined, failures: 0 },
      madeAt: now,
      others: 0,
    });
  }

  #forget(entry: Entry): void {
    entry.watcher?.close();
    entry.watcher = undefined;
    entry.compressing?.abort(new Error('the log is gone'));
    if (this.#entries.get(entry.directory) === entry) this.#entries.delete(entry.directory);
  }

  #earliest(): number {
    let earliest = Infinity;
    for (const { due, busy } of this.#entries.values()) if (!busy && due < earliest) earliest = due;
    return earliest;
  }

  #lookAtDue(signal: AbortSignal): void {
    const now = this.#deps.clock.monotonic();
    for (const entry of this.#entries.values()) {
      if (entry.busy || entry.due > now) continue;
      entry.busy = true;
      const look = this.#look(entry, signal)
        .catch((error: unknown) => {
          if (!signal.aborted) this.#failed(entry, error);
        })
        .finally(() => {
          entry.busy = false;
          this.#wakeup.poke();
        });
      this.#spawn(look);
    }
  }

  #spawn(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  #failed(entry: Entry, error: unknown): void {
    const { clock, logger } = this.#deps;
    entry.failures += 1;
    entry.due = clock.monotonic() + Math.min(LONGEST_RETRY_MS, RETRY_MS * entry.failures);
    const fields = { log: entry.log.path, err: error };
    if (entry.failures === 2)
      logger.warn('a container log cannot be rotated; it is tried again', fields);
    else logger.debug('a container log could not be rotated', fields);
  }

  async #look(entry: Entry, signal: AbortSignal): Promise<void> {
    const { limits, clock } = this.#deps;
    const { log } = entry;
    if (!log.running) return this.#lookAtEnded(entry, signal);
    const size = await this.#sizeOf(entry, signal);
    if (size === undefined) return;
    entry.growth = grown(entry.growth, size, clock.monotonic());
    if (size >= limits.maxSize) await this.#rotate(entry, size, signal);
    else if (size + entry.others > boundOf(limits) || entry.compressAt <= clock.monotonic())
      this.#clear(entry, signal);
    entry.failures = 0;
    this.#schedule(entry);
  }

  /** A log that went missing is made anew by its writer; undefined when that is gone too. */
  async #sizeOf(entry: Entry, signal: AbortSignal): Promise<number | undefined> {
    const { log } = entry;
    const found = statSync(log.path, { throwIfNoEntry: false });
    if (found) return found.size;
    this.#list();
    if (this.#entries.get(entry.directory) !== entry || !entry.log.running) return undefined;
    await mkdir(entry.directory, { recursive: true, mode: 0o755 });
    await this.#deps.reopen(log.id, signal);
    return 0;
  }

  async #rotate(entry: Entry, size: number, signal: AbortSignal): Promise<void> {
    const { limits, clock, reopen } = this.#deps;
    const { log } = entry;
    entry.compressing?.abort(new Error('the log is rotated'));
    const rotated = moveAway(log.path, clock.wall());
    entry.compressAt = Infinity;
    this.#clear(entry, signal, path.basename(rotated));
    try {
      await reopen(log.id, signal);
    } catch (error) {
      await putBack(rotated, log.path);
      if (size >= boundOf(limits) && !signal.aborted) await emptyLog(log.path);
      throw error;
    }
    const now = clock.monotonic();
    entry.growth = { ...entry.growth, size: 0, atMs: now };
    entry.compressAt = now + CALM_MS;
    this.#clear(entry, signal);
  }

  /** Nothing of the container is written any more until its next instance. */
  async #lookAtEnded(entry: Entry, signal: AbortSignal): Promise<void> {
    const { limits } = this.#deps;
    const { path: file } = entry.log;
    entry.watcher?.close();
    entry.watcher = undefined;
    entry.due = Infinity;
    const found = statSync(file, { throwIfNoEntry: false });
    if (found && found.size >= boundOf(limits)) await cutToTail(file, limits.maxSize);
    this.#clear(entry, signal);
    entry.due = Math.max(entry.compressAt, this.#deps.clock.monotonic());
  }

  /**
   * Removes what is beyond the bound; compresses when it is time for that. `written`: a part that
   * is still written to, which stays.
   */
  #clear(entry: Entry, signal: AbortSignal, written?: string): void {
    const { limits, clock } = this.#deps;
    const { directory, log } = entry;
    if (entry.compressing && !entry.compressing.signal.aborted) return; // its copy is not a leftover
    const files = logsIn(directory);
    const current = path.basename(log.path);
    const plan = planDirectory(files, current, limits);
    const { compress } = plan;
    const remove = plan.remove.filter((name) => name !== written);
    removeLogs(directory, remove);
    const others = files.filter(({ name }) => name !== current && !remove.includes(name));
    entry.others = others.reduce((sum, { size }) => sum + size, 0);
    if (compress.length === 0) entry.compressAt = Infinity;
    else if (entry.compressAt === Infinity) entry.compressAt = clock.monotonic() + CALM_MS;
    else if (entry.compressAt <= clock.monotonic()) this.#compress(entry, compress, signal);
  }

  #compress(entry: Entry, names: readonly string[], signal: AbortSignal): void {
    const { workers, clock, intervalMs, logger } = this.#deps;
    const controller = new AbortController();
    const stop = (): void => controller.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    entry.compressing = controller;
    entry.compressAt = Infinity;
    const work = workers.run(0, controller.signal, async () => {
      for (const name of names) {
        controller.signal.throwIfAborted();
        await compressLog(path.join(entry.directory, name), controller.signal);
      }
    });
    const ended = work
      .catch((error: unknown) => {
        if (controller.signal.aborted) return;
        logger.debug('a rotated log could not be compressed', { log: entry.log.path, err: error });
        entry.compressAt = clock.monotonic() + intervalMs;
        entry.due = Math.min(entry.due, entry.compressAt);
      })
      .finally(() => {
        signal.removeEventListener('abort', stop);
        if (entry.compressing === controller) entry.compressing = undefined;
      });
    this.#spawn(ended);
  }

  #schedule(entry: Entry): void {
    const { limits, clock, intervalMs } = this.#deps;
    if (this.#entries.get(entry.directory) !== entry) return; // gone meanwhile: nobody would end a watch
    const now = clock.monotonic();
    const soon = nextLookMs(entry.growth, limits);
    if (soon !== undefined) {
      entry.due = now + soon;
      return;
    }
    const rest = this.#rest(entry) ? intervalMs : Math.min(intervalMs, UNWATCHED_MS);
    entry.due = Math.min(now + rest, entry.compressAt);
    // What was written before the watching began has no event.
    const found = statSync(entry.log.path, { throwIfNoEntry: false });
    if (found && found.size !== entry.growth.size)
      entry.due = Math.min(entry.due, now + blindMs(limits));
  }

  /** Has the next write tell of itself; false where the node cannot watch. */
  #rest(entry: Entry): boolean {
    if (entry.watcher) return true;
    try {
      const watcher = watch(entry.directory, { persistent: false }, () => this.#written(entry));
      watcher.on('error', () => this.#written(entry));
      entry.watcher = watcher;
      return true;
    } catch {
      return false; // no room for another watch
    }
  }

  /** One event is enough: until the log rests again, the looks follow the clock. */
  #written(entry: Entry): void {
    const { clock, limits } = this.#deps;
    entry.watcher?.close();
    entry.watcher = undefined;
    entry.growth = { ...entry.growth, atMs: clock.monotonic() };
    const due = clock.monotonic() + blindMs(limits);
    if (due >= entry.due) return;
    entry.due = due;
    this.#wakeup.poke();
  }
}

function instanceOf(log: ContainerLog): number {
  return parseLogName(path.basename(log.path))?.instance ?? -1;
}
