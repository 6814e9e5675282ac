/**
 * Owns: what is known about every pod's containers and sandboxes from the lists.
 *
 *   object   delivered   the state that consumers have been told
 *            current     the state in the newest list
 *
 * Invariants: `current` always is the newest list's, `delivered` only moves by `deliver`, and only to a
 * state that was current when the inspection behind it began; so an inspection that fails loses no event:
 * the same pair gives the same events next time. An object goes when both are `non-existent`, a pod with
 * its last object. Objects without Kubernetes labels belong to no pod and are not kept.
 * Leaves to others: reading statuses (inspect.ts), telling anyone (relist.ts).
 */
import type { RuntimeService } from '../cri/model.ts';
import { podOfLabels } from '../runtime/model.ts';
import type { Change, ObjectKind, ObjectState } from '../wasm/relister.ts';
import { transitions, type Transition } from './transition.ts';

export interface KnownPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** One object as an inspection sees it. */
export interface ListedObject {
  /** Unique among all objects. */
  readonly key: string;
  readonly kind: ObjectKind;
  readonly id: string;
  /** Of the sandbox that a container belongs to; its own id for a sandbox. */
  readonly sandboxId: string;
  readonly state: ObjectState;
}

/** The objects of one pod at one list. */
export interface PodSnapshot extends KnownPod {
  readonly objects: readonly ListedObject[];
}

interface Tracked extends Omit<ListedObject, 'state'> {
  readonly uid: string;
  delivered: ObjectState;
  current: ObjectState;
}

interface PodRecord extends KnownPod {
  readonly objects: Map<string, Tracked>;
}

export interface RecordsDeps {
  readonly decode: Pick<RuntimeService, 'decodeContainer' | 'decodePodSandbox'>;
  /** Told about an entry that cannot be decoded; it is left alone until it changes again. */
  readonly onUndecodable: (change: Change, error: unknown) => void;
}

export class Records {
  readonly #deps: RecordsDeps;
  readonly #objects = new Map<string, Tracked>();
  readonly #pods = new Map<string, PodRecord>();

  constructor(deps: RecordsDeps) {
    this.#deps = deps;
  }

  /** Takes in one list's changes; the uids of the pods that they belong to. */
  apply(changes: readonly Change[]): Set<string> {
    const uids = new Set<string>();
    for (const change of changes) {
      const key = `${change.kind} ${change.id}`;
      const tracked = this.#objects.get(key) ?? this.#track(key, change);
      if (!tracked) continue;
      tracked.current = change.to;
      uids.add(tracked.uid);
    }
    return uids;
  }

  /** undefined when no list ever had the pod, or when everything about it has been told. */
  snapshot(uid: string): PodSnapshot | undefined {
    const pod = this.#pods.get(uid);
    if (!pod) return undefined;
    const objects = [...pod.objects.values()].map(({ key, kind, id, sandboxId, current }) => ({
      key,
      kind,
      id,
      sandboxId,
      state: current,
    }));
    return { uid, name: pod.name, namespace: pod.namespace, objects };
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /** Whether the newest list still has anything of the pod. */
  isListed(uid: string): boolean {
    for (const object of this.#pods.get(uid)?.objects.values() ?? []) {
      if (object.current !== 'non-existent') return true;
    }
    return false;
  }

  /** Whether the newest list has a sandbox that is ready or a container that runs. */
  isRunning(uid: string): boolean {
    for (const object of this.#pods.get(uid)?.objects.values() ?? []) {
      if (object.current === 'running') return true;
    }
    return false;
  }

  /** Whether the newest list differs from what has been told. */
  isDirty(uid: string): boolean {
    for (const object of this.#pods.get(uid)?.objects.values() ?? []) {
      if (object.current !== object.delivered) return true;
    }
    return false;
  }

  /** Moves `delivered` on to the states of `snapshot` and says what that means, in list order. */
  deliver(snapshot: PodSnapshot): { id: string; transition: Transition }[] {
    const told: { id: string; transition: Transition }[] = [];
    const pod = this.#pods.get(snapshot.uid);
    if (!pod) return told;
    for (const { key, id, state } of snapshot.objects) {
      const tracked = pod.objects.get(key);
      if (!tracked) continue;
      for (const transition of transitions(tracked.delivered, state)) told.push({ id, transition });
      tracked.delivered = state;
      if (state === 'non-existent' && tracked.current === 'non-existent') this.#drop(pod, tracked);
    }
    return told;
  }

  /** Pods of which the runtime has any object, or had one that nobody has been told the end of. */
  known(): KnownPod[] {
    return [...this.#pods.values()].map(({ uid, name, namespace }) => ({ uid, name, namespace }));
  }

  #track(key: string, change: Change): Tracked | undefined {
    if (!change.entry) return undefined; // a foreign object went
    const entry = this.#decode(change, change.entry);
    const pod = entry && podOfLabels(entry.labels);
    if (!pod) return undefined;
    const tracked: Tracked = {
      key,
      uid: pod.uid,
      kind: change.kind,
      id: entry.id,
      sandboxId: entry.sandboxId,
      delivered: 'non-existent',
      current: change.to,
    };
    const record = this.#pods.get(pod.uid) ?? { ...pod, objects: new Map<string, Tracked>() };
    this.#pods.set(pod.uid, record);
    record.objects.set(key, tracked);
    this.#objects.set(key, tracked);
    return tracked;
  }

  #decode(change: Change, bytes: Uint8Array) {
    try {
      if (change.kind === 'container') return this.#deps.decode.decodeContainer(bytes);
      const sandbox = this.#deps.decode.decodePodSandbox(bytes);
      return { id: sandbox.id, labels: sandbox.labels, sandboxId: sandbox.id };
    } catch (error) {
      this.#deps.onUndecodable(change, error);
      return undefined;
    }
  }

  #drop(pod: PodRecord, tracked: Tracked): void {
    this.#objects.delete(tracked.key);
    pod.objects.delete(tracked.key);
    if (pod.objects.size === 0) this.#pods.delete(pod.uid);
  }
}
