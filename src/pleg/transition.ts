/**
 * Owns: what a change of state of one container or sandbox means to a pod (spec: pleg.md §3.2). Pure.
 */
import type { ObjectState } from '../wasm/relister.ts';
import { unreachable } from '../util/errors.ts';

export type PodLifecycleEventType =
  | 'ContainerStarted'
  | 'ContainerDied'
  | 'ContainerRemoved'
  /** Nothing in the lists changed, but the status was read again because someone asked for it. */
  | 'PodSync';

export interface PodLifecycleEvent {
  readonly uid: string;
  readonly type: PodLifecycleEventType;
  /** Of the container or sandbox; of the pod for PodSync. */
  readonly id: string;
}

/** `ContainerChanged` refreshes the status cache and is told to nobody. */
export type Transition = Exclude<PodLifecycleEventType, 'PodSync'> | 'ContainerChanged';

const NONE: readonly Transition[] = [];
const STARTED: readonly Transition[] = ['ContainerStarted'];
const DIED: readonly Transition[] = ['ContainerDied'];
const CHANGED: readonly Transition[] = ['ContainerChanged'];
const REMOVED: readonly Transition[] = ['ContainerRemoved'];
const DIED_AND_REMOVED: readonly Transition[] = ['ContainerDied', 'ContainerRemoved'];

export function transitions(from: ObjectState, to: ObjectState): readonly Transition[] {
  if (from === to) return NONE;
  switch (to) {
    case 'running':
      return STARTED;
    case 'exited':
      return DIED;
    case 'unknown':
      return CHANGED;
    case 'non-existent':
      return from === 'exited' ? REMOVED : DIED_AND_REMOVED;
    default:
      return unreachable(to);
  }
}
