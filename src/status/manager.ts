/**
 * Owns: the current status of every pod, in memory and, through a StatusStore, over restarts.
 * Invariants: what is stored is what was set last; nothing is written or announced when nothing
 * changed; a store or a listener that fails hurts no pod.
 * Leaves to others: making statuses (generate.ts), when to forget a pod (pod/).
 */
import type { PodStatus } from '../api/status.ts';
import type { Logger } from '../util/log.ts';
import { jsonEqual } from './equal.ts';
import { isTerminalPhase } from './generate.ts';

/** What the manager needs of a pod: who it is. */
export interface StatusPod {
  readonly metadata: { readonly uid: string; readonly name: string; readonly namespace: string };
}

/** Where statuses outlive the agent. */
export interface StatusStore {
  /** `finished` once the pod has ended for good. */
  put(record: {
    readonly uid: string;
    readonly namespace: string;
    readonly name: string;
    readonly status: PodStatus;
    readonly finished?: 'Succeeded' | 'Failed' | undefined;
  }): void;
  get(uid: string): { readonly status: PodStatus } | undefined;
  delete(uid: string): void;
}

/** `status` is undefined when the pod was forgotten. */
export interface StatusChange {
  readonly uid: string;
  readonly status: PodStatus | undefined;
  readonly before: PodStatus | undefined;
}

export type StatusListener = (change: StatusChange) => void;

export interface StatusManagerDeps {
  readonly store: StatusStore;
  readonly logger: Logger;
}

export class StatusManager {
  readonly #deps: StatusManagerDeps;
  readonly #current = new Map<string, PodStatus>();
  readonly #listeners = new Set<StatusListener>();

  constructor(deps: StatusManagerDeps) {
    this.#deps = deps;
  }

  get(uid: string): PodStatus | undefined {
    return this.#current.get(uid);
  }

  /**
   * The status from before the agent started, to be asked for when the agent meets a pod for the first
   * time; a status that is known already wins. undefined: never seen.
   */
  restore(uid: string): PodStatus | undefined {
    const known = this.#current.get(uid);
    if (known !== undefined) return known;
    const status = this.#stored(uid);
    if (status !== undefined) this.#current.set(uid, status);
    return status;
  }

  /** Returns whether the status differs from the one before. */
  set(pod: StatusPod, status: PodStatus): boolean {
    const { uid, name, namespace } = pod.metadata;
    const before = this.#current.get(uid);
    if (before !== undefined && jsonEqual(before, status)) return false;
    this.#current.set(uid, status);
    this.#guard(`storing the status of ${name}_${namespace}(${uid})`, () =>
      this.#deps.store.put({ uid, name, namespace, status, finished: finishedAs(status) }),
    );
    this.#announce({ uid, status, before });
    return true;
  }

  /** Forgets a pod, also in the store. */
  remove(uid: string): void {
    const before = this.#current.get(uid);
    this.#current.delete(uid);
    this.#guard(`deleting the status of ${uid}`, () => this.#deps.store.delete(uid));
    if (before !== undefined) this.#announce({ uid, status: undefined, before });
  }

  /** Calls `listener` after every change, until the returned function is called. */
  subscribe(listener: StatusListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #stored(uid: string): PodStatus | undefined {
    return this.#guard(
      `reading the stored status of ${uid}`,
      () => this.#deps.store.get(uid)?.status,
    );
  }

  #announce(change: StatusChange): void {
    for (const listener of [...this.#listeners]) {
      this.#guard('announcing a status', () => listener(change));
    }
  }

  #guard<T>(doing: string, action: () => T): T | undefined {
    try {
      return action();
    } catch (err) {
      this.#deps.logger.warn(`${doing} failed`, { err });
      return undefined;
    }
  }
}

function finishedAs(status: PodStatus): 'Succeeded' | 'Failed' | undefined {
  return isTerminalPhase(status.phase) ? status.phase : undefined;
}
