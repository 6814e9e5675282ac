/**
 * Owns: reading the full status of one pod from the runtime and putting it together (spec: pleg.md §3.3,
 * §3.4, §3.1 step 4).
 * Leaves to others: which pods to read and when (relist.ts).
 */
import type { RuntimeService, SandboxStatus } from '../cri/model.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../runtime/model.ts';
import { codeOf } from '../util/errors.ts';
import type { PodSnapshot } from './record.ts';

export type StatusReader = Pick<RuntimeService, 'podSandboxStatus' | 'containerStatus'>;

/**
 * Asks for every object of `snapshot` that was listed; what is gone meanwhile is left out. Rejects with
 * the first other error of the runtime.
 */
export async function inspectPod(
  runtime: StatusReader,
  snapshot: PodSnapshot,
  cached: RuntimePodStatus,
  signal: AbortSignal,
): Promise<RuntimePodStatus> {
  const sandboxes: Promise<SandboxStatus | undefined>[] = [];
  const containers: Promise<RuntimeContainerStatus | undefined>[] = [];
  for (const { kind, id, sandboxId, state } of snapshot.objects) {
    if (state === 'non-existent') continue;
    if (kind === 'sandbox') sandboxes.push(unlessGone(runtime.podSandboxStatus(id, signal)));
    else {
      const status = unlessGone(runtime.containerStatus(id, signal));
      containers.push(status.then((found) => found && { ...found, sandboxId }));
    }
  }
  const found = await Promise.all([Promise.all(sandboxes), Promise.all(containers)]);
  return podStatus(snapshot, found[0].filter(isFound), found[1].filter(isFound), cached);
}

/** Pure: orders what was read and decides which addresses the pod has. */
export function podStatus(
  pod: { readonly uid: string; readonly name: string; readonly namespace: string },
  sandboxes: readonly SandboxStatus[],
  containers: readonly RuntimeContainerStatus[],
  cached: RuntimePodStatus,
): RuntimePodStatus {
  const newestFirst = [...sandboxes].sort(
    (a, b) => b.metadata.attempt - a.metadata.attempt || descending(a.createdAt, b.createdAt),
  );
  return {
    uid: pod.uid,
    name: pod.name,
    namespace: pod.namespace,
    ips: addresses(newestFirst, cached),
    sandboxes: newestFirst,
    containers: [...containers].sort((a, b) => descending(a.createdAt, b.createdAt)),
  };
}

/**
 * Those of the newest sandbox while it is ready. Without any, the last known ones stay — the sandbox
 * died and the address is worth keeping in the status — unless some sandbox is ready: then none is true.
 */
function addresses(newestFirst: readonly SandboxStatus[], cached: RuntimePodStatus) {
  const [newest] = newestFirst;
  if (newest?.state === 'ready' && newest.ips.length > 0) return newest.ips;
  return newestFirst.some((sandbox) => sandbox.state === 'ready') ? [] : cached.ips;
}

function descending(a: bigint, b: bigint): number {
  return a < b ? 1 : a > b ? -1 : 0;
}

async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (codeOf(error) === 'not-found') return undefined;
    throw error;
  }
}

function isFound<T>(value: T | undefined): value is T {
  return value !== undefined;
}
