/**
 * Owns: the states of one pod uid.
 *
 *   rejected ─────┐
 *      ▲          ▼
 *   waiting ──▶ syncing ──▶ terminating ──▶ terminated ──▶ completed ──▶ purging ──▶ gone
 *      │           │             ▲               │                          ▲
 *      └───────────┴── removed ──┘               ├───────── removed ────────┘ ▲
 *                                                └───────── evicted ──────────┘
 *
 * - waiting: another pod of the same name (or with its host ports) has not ended yet
 * - rejected: the node does not take it; that is looked at again whenever something changes
 * - syncing: is to run; each pass compares and acts
 * - terminating: containers are being stopped; they may be running
 * - terminated: nothing runs; volumes and cgroup are being given back
 * - completed: ended by itself, still in the manifest directory: records stay for status and logs
 * - an evicted pod goes with its records, only its status stays: a new worker waits for its return
 * - purging: its manifest is gone: records, logs, memory are removed
 *
 * Invariant: never backwards.
 */
import type { KillOptions } from '../runtime/kill.ts';

/** Why a pod ends. Only `completed` keeps its records, and `evicted` its status. */
export type EndCause = 'completed' | 'evicted' | 'removed' | 'orphaned';

export type WorkerState =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'rejected' }
  | { readonly kind: 'syncing' }
  | { readonly kind: 'terminating'; readonly cause: EndCause; readonly options: KillOptions }
  | { readonly kind: 'terminated'; readonly cause: EndCause }
  | { readonly kind: 'completed' }
  | { readonly kind: 'purging' }
  | { readonly kind: 'gone' };

/** Where a pod goes once all that it held was given back. */
export function afterTerminated(now: WorkerState): WorkerState {
  const cause = now.kind === 'terminated' ? now.cause : undefined;
  switch (cause) {
    case 'completed':
      return { kind: 'completed' };
    case 'evicted':
      return { kind: 'gone' };
    case 'removed':
    case 'orphaned':
    case undefined:
      return { kind: 'purging' };
  }
}
