/**
 * Owns: CrashLoopBackOff (spec/pod-lifecycle.md §7): how long a container that ended must wait before it
 * runs again. The pause is measured from when it finished: 10 s, doubled up to the maximum; a run of
 * more than ten minutes starts the sequence anew.
 * Invariants: `check` decides, `restarted` records; waiting is measured on the monotonic clock, so a jump of the wall clock can
 * neither free a crash loop nor hold a container for longer than its pause.
 * Unlike the kubelet: pauses and counts are stored, so an agent restart neither resets nor repeats them.
 */
import type { Container, Pod } from '../api/pod.ts';
import { Annotation } from '../api/reasons.ts';
import type { BackoffRange } from '../util/backoff.ts';
import { nextDelay } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { containerHash } from './hash.ts';
import type { RuntimeContainerStatus } from './model.ts';

export interface RestartRecord {
  /** How often the container was restarted. */
  readonly count: number;
  readonly delayMs: number;
  readonly lastRestartWallMs?: number | undefined;
  /** When the newest run ended, where its record was removed although it counts (RestartAllContainers). */
  readonly endedWallMs?: number | undefined;
}

export interface RestartStore {
  get(uid: string, container: string): RestartRecord | undefined;
  put(uid: string, container: string, record: RestartRecord): void;
}

export interface CrashBackoffDeps {
  readonly clock: Clock;
  readonly store: RestartStore;
  readonly range: BackoffRange;
}

export type BackoffVerdict =
  | { readonly kind: 'go' }
  | { readonly kind: 'wait'; readonly delayMs: number; readonly leftMs: number };

/** A run longer than this forgives the crashes before it. */
const FORGIVEN_AFTER_MS = 600_000;
const NS_PER_MS = 1_000_000n;

export class CrashBackoff {
  readonly #deps: CrashBackoffDeps;
  /** When the newest exited container of `<uid>/<name>` finished, on the monotonic clock. */
  readonly #finished = new Map<string, { id: string; atMs: number }>();

  constructor(deps: CrashBackoffDeps) {
    this.#deps = deps;
  }

  /** May the container start now, given its newest record that exited? */
  check(
    pod: Pod,
    container: Container,
    exited: RuntimeContainerStatus | undefined,
  ): BackoffVerdict {
    const record = this.#current(pod, container);
    const end = endOf(container, exited, record);
    if (!record || !end || ranLongSince(record, end)) return { kind: 'go' };
    if (record.delayMs === 0) return { kind: 'go' }; // started once, no crash yet
    const delayMs = Math.min(record.delayMs, this.#deps.range.maxMs);
    const finishedMs = this.#finishedAt(pod, container, end, delayMs);
    const leftMs = finishedMs + delayMs - this.#deps.clock.monotonic();
    return leftMs > 0 ? { kind: 'wait', delayMs, leftMs } : { kind: 'go' };
  }

  /** Records that the container is started after `exited`, as number `count`. */
  restarted(
    pod: Pod,
    container: Container,
    exited: RuntimeContainerStatus | undefined,
    count: number,
  ): void {
    const uid = pod.metadata.uid;
    const record = this.#current(pod, container);
    const end = endOf(container, exited, record);
    const before = !end || !record || ranLongSince(record, end) ? 0 : record.delayMs;
    const crashed = exited !== undefined || record?.endedWallMs !== undefined;
    this.#deps.store.put(uid, container.name, {
      count,
      delayMs: crashed ? nextDelay(this.#deps.range, before > 0 ? before : undefined) : 0,
      lastRestartWallMs: this.#deps.clock.wall(),
    });
    this.#finished.delete(`${uid}/${container.name}`);
  }

  /** The record of `exited` is about to be removed, and yet the run counts. */
  removed(pod: Pod, exited: RuntimeContainerStatus): void {
    const { uid } = pod.metadata;
    const record = this.#deps.store.get(uid, exited.name);
    const count = Number(exited.annotations[Annotation.restartCount] ?? exited.attempt);
    this.#deps.store.put(uid, exited.name, {
      ...(record ?? { count, delayMs: 0 }),
      endedWallMs: wallMsOf(exited.finishedAt),
    });
  }

  /** The restart count that the store remembers, for when runtime and logs have forgotten it. */
  storedCount(uid: string, container: string): number | undefined {
    return this.#deps.store.get(uid, container)?.count;
  }

  forget(uid: string): void {
    for (const key of this.#finished.keys()) {
      if (key.startsWith(`${uid}/`)) this.#finished.delete(key);
    }
  }

  #current(pod: Pod, container: Container): RestartRecord | undefined {
    return this.#deps.store.get(pod.metadata.uid, container.name);
  }

  /** When the run finished on the monotonic clock, fixed when it is first looked at. */
  #finishedAt(pod: Pod, container: Container, end: RunEnd, delayMs: number): number {
    const key = `${pod.metadata.uid}/${container.name}`;
    const known = this.#finished.get(key);
    if (known?.id === end.id) return known.atMs;
    const age = this.#deps.clock.wall() - end.finishedWallMs;
    const atMs = this.#deps.clock.monotonic() - Math.min(Math.max(age, 0), delayMs);
    this.#finished.set(key, { id: end.id, atMs });
    return atMs;
  }
}

/** The end of a run, from its record or, where that is gone, from the store. */
interface RunEnd {
  /** Tells one end from the next. */
  readonly id: string;
  readonly finishedWallMs: number;
  readonly startedWallMs: number | undefined;
}

function endOf(
  container: Container,
  exited: RuntimeContainerStatus | undefined,
  record: RestartRecord | undefined,
): RunEnd | undefined {
  if (exited) {
    if (isOtherImage(container, exited)) return undefined;
    const startedWallMs = wallMsOf(exited.startedAt);
    return { id: exited.id, finishedWallMs: wallMsOf(exited.finishedAt), startedWallMs };
  }
  const finishedWallMs = record?.endedWallMs;
  if (finishedWallMs === undefined) return undefined;
  return { id: `ended ${finishedWallMs}`, finishedWallMs, startedWallMs: undefined };
}

function wallMsOf(nanoseconds: bigint): number {
  return Number(nanoseconds / NS_PER_MS);
}

function ranLongSince(record: RestartRecord, end: RunEnd): boolean {
  const startedMs = record.lastRestartWallMs ?? end.startedWallMs ?? end.finishedWallMs;
  return end.finishedWallMs - startedMs > FORGIVEN_AFTER_MS;
}

/** A changed image (of a manifest with a uid of its own) is not to blame for the crashes of the old one. */
function isOtherImage(container: Container, exited: RuntimeContainerStatus): boolean {
  const hash = exited.annotations[Annotation.containerHash];
  return hash !== undefined && hash !== containerHash(container);
}
