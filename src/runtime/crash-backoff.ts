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
    if (!exited || isOtherImage(container, exited)) return { kind: 'go' };
    const record = this.#current(pod, container);
    if (!record || ranLongSince(record, exited)) return { kind: 'go' };
    const delayMs = Math.min(record.delayMs, this.#deps.range.maxMs);
    const leftMs = this.#finishedAt(pod, exited, delayMs) + delayMs - this.#deps.clock.monotonic();
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
    const anew =
      !exited || !record || ranLongSince(record, exited) || isOtherImage(container, exited);
    this.#deps.store.put(uid, container.name, {
      count,
      delayMs: exited ? nextDelay(this.#deps.range, anew ? undefined : record.delayMs) : 0,
      lastRestartWallMs: this.#deps.clock.wall(),
    });
    this.#finished.delete(`${uid}/${container.name}`);
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
    const record = this.#deps.store.get(pod.metadata.uid, container.name);
    return record && record.delayMs > 0 ? record : undefined; // 0: started once, no crash yet
  }

  /** When `exited` finished on the monotonic clock, fixed when it is first looked at. */
  #finishedAt(pod: Pod, exited: RuntimeContainerStatus, delayMs: number): number {
    const key = `${pod.metadata.uid}/${exited.name}`;
    const known = this.#finished.get(key);
    if (known?.id === exited.id) return known.atMs;
    const age = this.#deps.clock.wall() - Number(exited.finishedAt / NS_PER_MS);
    const atMs = this.#deps.clock.monotonic() - Math.min(Math.max(age, 0), delayMs);
    this.#finished.set(key, { id: exited.id, atMs });
    return atMs;
  }
}

function ranLongSince(record: RestartRecord, exited: RuntimeContainerStatus): boolean {
  const startedMs = record.lastRestartWallMs ?? Number(exited.startedAt / NS_PER_MS);
  return Number(exited.finishedAt / NS_PER_MS) - startedMs > FORGIVEN_AFTER_MS;
}

/** A changed image (of a manifest with a uid of its own) is not to blame for the crashes of the old one. */
function isOtherImage(container: Container, exited: RuntimeContainerStatus): boolean {
  const hash = exited.annotations[Annotation.containerHash];
  return hash !== undefined && hash !== containerHash(container);
}
