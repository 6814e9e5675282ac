/**
 * Owns: what the runtime says its containers use: writable layers, and where the kernel's files are not
 * found (a runtime of virtual machines) CPU and memory too.
 * Invariant: never throws but for an abort; what cannot be had is left out. A runtime that fails a list
 * because of one entry (containerd 1.6 does) is asked for one after the other.
 */
import type { RuntimeService } from '../cri/model.ts';
import type { ContainerStats, SandboxStats } from '../cri/usage.ts';
import { mapSome } from './wait-for.ts';

export type UsageRuntime = Pick<
  RuntimeService,
  | 'containerStats'
  | 'listContainerStats'
  | 'listPodSandboxStats'
  | 'listPodSandboxes'
  | 'podSandboxStats'
>;

const AT_ONCE = 4;

/** By id, of the containers asked for at least. */
export async function containerUsage(
  runtime: UsageRuntime,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ContainerStats>> {
  if (ids.length === 0) return new Map();
  const list = await orUndefined(runtime.listContainerStats({}, signal), signal);
  const found = new Map((list ?? []).map((stats) => [stats.id, stats]));
  const missing = ids.filter((id) => !found.has(id));
  await mapSome(missing, AT_ONCE, async (id) => {
    const stats = await orUndefined(runtime.containerStats(id, signal), signal);
    if (stats) found.set(id, stats);
  });
  return found;
}

/** By uid of the pod; of several sandboxes the one that was made last. */
export async function sandboxUsage(
  runtime: UsageRuntime,
  uids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, SandboxStats>> {
  if (uids.length === 0) return new Map();
  const list = await orUndefined(runtime.listPodSandboxStats({}, signal), signal);
  if (list) return byUid(list);
  const sandboxes = (await orUndefined(runtime.listPodSandboxes({}, signal), signal)) ?? [];
  const wanted = sandboxes.filter(
    ({ state, metadata }) => state === 'ready' && uids.includes(metadata.uid),
  );
  const each = await mapSome(wanted, AT_ONCE, ({ id }) =>
    orUndefined(runtime.podSandboxStats(id, signal), signal),
  );
  return byUid(each.filter((stats) => stats !== undefined));
}

function byUid(list: readonly SandboxStats[]): Map<string, SandboxStats> {
  const newestLast = [...list].sort((a, b) => a.metadata.attempt - b.metadata.attempt);
  return new Map(newestLast.map((stats) => [stats.metadata.uid, stats]));
}

async function orUndefined<T>(call: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await call;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
