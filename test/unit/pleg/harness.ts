/** Owns: a Pleg on a fake runtime, a manual clock and recorded events, metrics and log lines. */
import { loadCore } from '../../../src/wasm/core.ts';
import { Relister } from '../../../src/wasm/relister.ts';
import type { PlegMetrics } from '../../../src/pleg/metric.ts';
import { Pleg } from '../../../src/pleg/relist.ts';
import { createLogger } from '../../../src/util/log.ts';
import { ManualClock, settle } from '../../support/clock.ts';
import { FakeRuntime } from './fake-runtime.ts';

export interface Harness {
  readonly runtime: FakeRuntime;
  readonly clock: ManualClock;
  readonly pleg: Pleg;
  /** Events since the last call, `type id`. */
  events(): string[];
  readonly metrics: Map<string, number>;
  readonly log: string[];
  readonly signal: AbortSignal;
  /** Starts the loop; the first relist has run when it resolves. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function newHarness(): Harness {
  const clock = new ManualClock();
  const runtime = new FakeRuntime();
  runtime.now = () => clock.monotonic();
  const metrics = new Map<string, number>();
  const log: string[] = [];
  const pleg = new Pleg({
    runtime,
    clock,
    relister: new Relister({ core: loadCore(), random: () => 0.5 }),
    metrics: recorded(metrics),
    log: createLogger({
      sink: { write: (line) => log.push(line) },
      level: 'info',
      wall: () => clock.wall(),
      format: 'json',
    }),
  });
  let events: string[] = [];
  pleg.onEvent(({ type, id }) => events.push(`${type} ${id}`));
  const controller = new AbortController();
  let running: Promise<void> = Promise.resolve();
  return {
    runtime,
    clock,
    pleg,
    metrics,
    log,
    signal: controller.signal,
    events: () => {
      const seen = events;
      events = [];
      return seen;
    },
    start: async () => {
      running = pleg.run(controller.signal);
      await settle();
    },
    stop: async () => {
      controller.abort(new Error('test ends'));
      await running;
    },
  };
}

/** Counters count, everything else keeps its last value. */
function recorded(into: Map<string, number>): PlegMetrics {
  const set = (name: string) => (value: number) => void into.set(name, value);
  const count = (name: string) => () => void into.set(name, (into.get(name) ?? 0) + 1);
  return {
    relisted: count('relisted'),
    interval: set('interval'),
    inspected: count('inspected'),
    lastSeen: set('lastSeen'),
    readySandboxes: set('readySandboxes'),
    containers: (state, value) => void into.set(`containers ${state}`, value),
    streamFailed: count('streamFailed'),
    streamWorks: count('streamWorks'),
    eventLatency: count('eventLatency'),
  };
}

/** Whether a promise has settled, without waiting for it. */
export async function stateOf(promise: Promise<unknown>): Promise<'waits' | 'done' | 'rejected'> {
  await settle();
  const waits = Symbol('waits');
  return Promise.race([promise, Promise.resolve(waits)]).then(
    (value) => (value === waits ? 'waits' : 'done'),
    () => 'rejected',
  );
}
