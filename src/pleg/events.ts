/**
 * Owns: the runtime's event stream as a wake-up for the relist. An event carries no state into the agent:
 * it only says "look again" (rule "level-driven").
 *
 *            open              an event              a death that was
 *   closed ────────► unproven ──────────► trusted ──────────────────────► distrusted
 *     ▲                 │                    │       listed, not told         │
 *     └─────────────────┴───── break ────────┴────────────────────────────────┘
 *   unimplemented: the runtime knows no such call; ends only when it comes back as another version
 *
 * Only a trusted stream lets the relist slow down. Trust must be earned because opening a stream is never
 * answered, and because a runtime may serve several streams from one queue (containerd 1.7 did): then a
 * subscriber that is gone takes events away, and another one beside us takes half of them. A distrusted
 * stream still wakes the relist, it just replaces nothing.
 */
import type { ContainerEvent, RuntimeService } from '../cri/model.ts';
import { nextDelay } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { codeOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { Wakeup } from '../util/wakeup.ts';
import type { Change } from '../wasm/relister.ts';
import type { PlegMetrics } from './metric.ts';

/** Creating and starting a container are two events a few milliseconds apart: one relist for both. */
const DEBOUNCE_MS = 5;
const RETRY = { baseMs: 1000, maxMs: 60_000 };
/** How much later than the list an event may come and still count. */
const LATE_MS = 2000;
/** More announced ids than this between two relists are forgotten; costs at most some trust. */
const MAX_ANNOUNCED = 1000;

export type StreamState = 'closed' | 'unproven' | 'trusted' | 'distrusted' | 'unimplemented';

export interface EventStreamDeps {
  readonly runtime: Pick<RuntimeService, 'containerEvents' | 'version'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PlegMetrics;
  readonly relistNow: () => void;
}

export class EventStream {
  readonly #deps: EventStreamDeps;
  readonly #cameBack = new Wakeup();
  /** Id and time of events since the last relist. */
  readonly #announced = new Map<string, number>();
  /** Id and time of deaths that a list showed and no event has told. */
  readonly #untold = new Map<string, number>();
  #state: StreamState = 'closed';
  #trustedSince = 0;
  #previousList = 0;
  #debouncing = false;

  constructor(deps: EventStreamDeps) {
    this.#deps = deps;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Reads the stream until the signal aborts; never fails. */
  async run(signal: AbortSignal): Promise<void> {
    let delay: number | undefined;
    while (!signal.aborted) {
      const { error, proven } = await this.#readToTheEnd(signal);
      if (signal.aborted) return;
      const broke = this.#state;
      this.#state = 'closed';
      if (codeOf(error) === 'unimplemented') {
        if (!(await this.#untilOtherRuntime(signal))) return;
        delay = undefined;
        continue;
      }
      this.#deps.metrics.streamFailed();
      if (broke === 'trusted') this.#deps.relistNow(); // what came while it broke is lost
      delay = nextDelay(RETRY, proven ? undefined : delay);
      this.#deps.log.debug('event stream ended', { err: error, retryMs: delay });
      if (!(await sleepUnlessAborted(this.#deps.clock, delay, signal))) return;
    }
  }

  /** A list failed before and one succeeded now: whatever answers may be another runtime. */
  runtimeCameBack(): void {
    this.#cameBack.poke();
  }

  /** A good list, begun at `at`, showed `changes`. Takes trust away where a death was not announced. */
  listed(at: number, changes: readonly Change[]): void {
    if (this.#state === 'trusted' && this.#previousList >= this.#trustedSince) {
      for (const change of changes) {
        if (isDeath(change) && !this.#announced.has(change.id)) this.#untold.set(change.id, at);
      }
      for (const [id, listedAt] of this.#untold) {
        if (at - listedAt > LATE_MS) this.#distrust(id);
      }
    }
    for (const [id, toldAt] of this.#announced) if (toldAt <= at) this.#announced.delete(id);
    this.#previousList = at;
  }

  async #readToTheEnd(signal: AbortSignal): Promise<{ error: unknown; proven: boolean }> {
    let proven = false;
    this.#state = 'unproven';
    this.#announced.clear();
    this.#untold.clear();
    try {
      for await (const event of this.#deps.runtime.containerEvents(signal)) {
        if (!proven) this.#trust();
        proven = true;
        this.#onEvent(event, signal);
      }
      return { error: undefined, proven };
    } catch (error) {
      return { error, proven };
    }
  }

  #trust(): void {
    this.#state = 'trusted';
    this.#trustedSince = this.#deps.clock.monotonic();
    this.#deps.metrics.streamWorks();
  }

  #distrust(id: string): void {
    this.#state = 'distrusted';
    this.#untold.clear();
    this.#deps.log.warn(
      'the event stream of the runtime leaves events out, relisting every second',
      {
        untold: id,
      },
    );
  }

  #onEvent(event: ContainerEvent, signal: AbortSignal): void {
    this.#deps.metrics.eventLatency(
      Math.max(0, this.#deps.clock.wall() - Number(event.createdAt / 1_000_000n)),
    );
    this.#untold.delete(event.containerId);
    if (this.#announced.size >= MAX_ANNOUNCED) this.#announced.clear();
    this.#announced.set(event.containerId, this.#deps.clock.monotonic());
    if (this.#debouncing) return;
    this.#debouncing = true;
    void sleepUnlessAborted(this.#deps.clock, DEBOUNCE_MS, signal).then((slept) => {
      this.#debouncing = false;
      if (slept) this.#deps.relistNow();
    });
  }

  /** False when the signal aborted. Asks for the version only when the runtime was away. */
  async #untilOtherRuntime(signal: AbortSignal): Promise<boolean> {
    this.#state = 'unimplemented';
    let without = await this.#version(signal);
    try {
      for (;;) {
        await this.#cameBack.wait(this.#deps.clock, Number.POSITIVE_INFINITY, signal);
        const now = await this.#version(signal);
        without ??= now;
        if (now !== undefined && now !== without) return true;
      }
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  async #version(signal: AbortSignal): Promise<string | undefined> {
    try {
      const version = await this.#deps.runtime.version(signal);
      return `${version.runtimeName} ${version.runtimeVersion}`;
    } catch {
      return undefined; // it is away again; its next coming back asks again
    }
  }
}

function isDeath(change: Change): boolean {
  return change.to === 'exited' || (change.to === 'non-existent' && change.from === 'running');
}

async function sleepUnlessAborted(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch {
    return false;
  }
}
