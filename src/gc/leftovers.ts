/**
 * Owns: finding what earlier agents left behind: pods that the runtime, the disk or the store still has
 * something of.
 * Invariant: only what is certainly islet's is named. Unlike the kubelet, which ends every pod of the
 * runtime that it does not know: on a runtime that others use too, their pods are left alone. Ours are
 * those with a directory below the root directory, with a record in the store, or with the name
 * of a pod that is wanted.
 */
import type { PodRef } from '../pod/ports.ts';

export interface LeftoverDeps {
  /** Pods that the runtime has containers or sandboxes of. */
  readonly inRuntime: () => readonly PodRef[];
  /** Uids that have a directory below the root directory. */
  readonly onDisk: () => Promise<readonly string[]>;
  /** Pods that have a log directory: what an uid alone was called. */
  readonly inLogs: () => Promise<readonly PodRef[]>;
  /** Pods with a record in the store. */
  readonly inStore: () => readonly PodRef[];
  /** `<name>_<namespace>` of the wanted pods. */
  readonly wantedNames: () => ReadonlySet<string>;
}

export async function findLeftovers(deps: LeftoverDeps): Promise<PodRef[]> {
  const stored = new Map(deps.inStore().map((ref) => [ref.uid, ref]));
  const running = new Map(deps.inRuntime().map((ref) => [ref.uid, ref]));
  const disk = await deps.onDisk();
  const names = deps.wantedNames();
  const own = new Set([...stored.keys(), ...disk]);
  for (const { uid, name, namespace } of running.values()) {
    if (names.has(`${name}_${namespace}`)) own.add(uid);
  }
  const known = [...own].map((uid) => running.get(uid) ?? stored.get(uid) ?? nameless(uid));
  if (known.every(({ namespace }) => namespace !== '')) return known;
  // Its logs go with it, and their directory has its name.
  const logs = new Map((await deps.inLogs()).map((ref) => [ref.uid, ref]));
  return known.map((ref) => (ref.namespace === '' ? (logs.get(ref.uid) ?? ref) : ref));
}

/** A directory that nobody knows the pod of: it is removed all the same. */
function nameless(uid: string): PodRef {
  return { uid, name: uid, namespace: '' };
}
