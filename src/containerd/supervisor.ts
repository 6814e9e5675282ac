/**
 * Owns: keeping one containerd of our own alive.
 *
 *   start() ─► adopt or spawn ─► wait until CRI answers ─► running ─► it died ─► back-off ─┐
 *                    ▲                                                                     │
 *                    └─────────────────────────────────────────────────────────────────────┘
 *
 * Invariants: never two at once for one root directory; a containerd found running with the wanted
 * configuration is adopted, one with another configuration is stopped first. Pods do not notice:
 * their shims live on, keep exit codes, and are found again.
 * Leaves to others: the choice between a containerd of our own and a given one (mode.ts).
 *
 * At the end of the agent there are two ways. `release()` leaves containerd running for the next
 * agent to adopt: containers' output goes through containerd, and a pod that writes much would stall
 * without it, so an agent restart should not take it away. `stop()` leaves nothing of ours running
 * but the shims of pods.
 */
import type { Clock, Random } from '../util/clock.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { lastComplaints, trimLog } from './logfile.ts';
import type { ContainerdPaths } from './paths.ts';
import { prepare } from './prepare.ts';
import type { PrepareOptions } from './prepare.ts';
import { findContainerdProcess, spawnContainerd, terminateContainerd } from './process.ts';
import type { ContainerdProcess } from './process.ts';

export interface SupervisorDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Absolute path of the containerd binary. */
  readonly binary: string;
  readonly options: PrepareOptions;
  /** Whether CRI answers on the socket; false or a throw means not yet. */
  readonly ready: (socket: string, signal: AbortSignal) => Promise<boolean>;
}

const READY_POLL_MS = 100;
const READY_POLL_MAX_MS = 1000;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** One that does not answer for so long hangs. Finding hundreds of containers again takes a while. */
const UNANSWERED_MS = 180_000;
/** One that ran this long was well; the next death starts the back-off anew. */
const HEALTHY_MS = 60_000;
const TRIM_PERIOD_MS = 60_000;

/** Wait before the next start: doubling from 0.5 s to 30 s, with up to a tenth of jitter. */
export function restartDelayMs(failures: number, random: Random): number {
  const base = Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, failures - 1), LONGEST_DELAY_MS);
  return base * (1 + random() / 10);
}

export class ContainerdSupervisor {
  readonly #deps: SupervisorDeps;
  readonly #paths: ContainerdPaths;
  readonly #stopping = new AbortController();
  #current: ContainerdProcess | undefined;
  #loop: Promise<void> | undefined;
  #restarts = 0;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#paths = deps.options.paths;
  }

  get socket(): string {
    return this.#paths.socket;
  }

  /** The pid of the containerd that runs now, or undefined between two. */
  get pid(): number | undefined {
    return this.#current?.pid;
  }

  /** How often it was started again after it died. */
  get restarts(): number {
    return this.#restarts;
  }

  /**
   * Starts or adopts containerd and resolves when CRI answers for the first time. From then on it is
   * kept alive in the background. Throws `failed` when its files cannot be written, and the signal's
   * reason when that aborts first (supervision ends with it).
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#loop !== undefined) throw new Error('started twice');
    const first = await this.#adopt();
    return new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#stopping.abort();
        reject(new IsletError('aborted', 'wait for containerd', { cause: signal.reason }));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const answered = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      this.#loop = this.#keepAlive(first, answered);
      if (signal.aborted) onAbort();
    });
  }

  /** Ends supervision and containerd itself; pods live on. Repeatable. */
  async stop(): Promise<void> {
    await this.release();
    const left = this.#current ?? findContainerdProcess(this.#paths, this.#deps.clock);
    if (left) await terminateContainerd(left.pid, this.#paths, this.#deps.clock);
    this.#current = undefined;
  }

  /** Ends supervision only; the next agent with this root directory adopts what runs. */
  async release(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #adopt(): Promise<ContainerdProcess | undefined> {
    const { clock, log, options } = this.#deps;
    const { changed } = prepare(options);
    const found = findContainerdProcess(this.#paths, clock);
    if (!found) return undefined;
    if (!changed) {
      log.info('adopted the containerd that was left running', { pid: found.pid });
      return found;
    }
    log.info('stopping containerd: its configuration has changed', { pid: found.pid });
    await terminateContainerd(found.pid, this.#paths, clock);
    return undefined;
  }

  async #keepAlive(first: ContainerdProcess | undefined, answered: () => void): Promise<void> {
    const { clock, random, log } = this.#deps;
    const signal = this.#stopping.signal;
    let failures = 0;
    let next = first;
    while (!signal.aborted) {
      const began = clock.monotonic();
      let reason: string;
      try {
        this.#current = next ?? (await spawnContainerd(this.#deps.binary, this.#paths));
        reason = await this.#watch(this.#current, answered);
      } catch (error) {
        if (signal.aborted) return;
        reason = messageOf(error);
      }
      this.#current = undefined;
      next = undefined;
      failures = clock.monotonic() - began >= HEALTHY_MS ? 1 : failures + 1;
      const delay = restartDelayMs(failures, random);
      log.error('containerd ended, pods run on; it is started again', {
        reason,
        inMs: Math.round(delay),
        said: lastComplaints(this.#paths.logFile),
      });
      await clock.sleep(delay, signal).catch(() => undefined);
      this.#restarts += 1;
    }
  }

  /** Resolves with the way it ended; meanwhile tells once that CRI answers and trims the log. */
  async #watch(running: ContainerdProcess, answered: () => void): Promise<string> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, over.signal]);
    const side = [this.#awaitReady(running, answered, signal), this.#trim(signal)];
    try {
      return await running.ended(this.#stopping.signal);
    } finally {
      over.abort();
      await Promise.all(side.map((task) => task.catch(() => undefined)));
    }
  }

  async #awaitReady(
    running: ContainerdProcess,
    answered: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log, ready } = this.#deps;
    const began = clock.monotonic();
    for (let wait = READY_POLL_MS; ; wait = Math.min(wait * 1.5, READY_POLL_MAX_MS)) {
      if (await ready(this.socket, signal).catch(() => false)) break;
      await clock.sleep(wait, signal);
      if (clock.monotonic() - began < UNANSWERED_MS) continue;
      log.error('containerd does not answer and is ended', { pid: running.pid });
      return terminateContainerd(running.pid, this.#paths, clock);
    }
    const afterMs = Math.round(clock.monotonic() - began);
    log.info('containerd is ready', { pid: running.pid, socket: this.socket, afterMs });
    answered();
  }

  async #trim(signal: AbortSignal): Promise<void> {
    for (;;) {
      trimLog(this.#paths.logFile);
      await this.#deps.clock.sleep(TRIM_PERIOD_MS, signal);
    }
  }
}
