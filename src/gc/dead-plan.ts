/**
 * Owns: which dead containers go: pure (spec: gc-logs-images.md §2, steps 1 to 4).
 * Unlike the kubelet, where a limit may take any dead container: the newest record of a container of a
 * pod that has not ended stays, whatever the limits; it is what tells that the container has run,
 * and without it a finished one would run again.
 */
import type { DeadContainerSettings } from '../config/model.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../runtime/model.ts';

export interface GcPod {
  readonly status: RuntimePodStatus;
  /** Finished for good, its manifest still there. */
  readonly ended: boolean;
}

export interface DeadContainer {
  readonly pod: RuntimePodStatus;
  readonly record: RuntimeContainerStatus;
}

type Group = (DeadContainer & { readonly needed: boolean })[];

/** `wallMs`: the runtime's times are wall times too. Oldest first within a container. */
export function deadToRemove(
  pods: readonly GcPod[],
  { minAgeMs, maxPerContainer, maxTotal }: DeadContainerSettings,
  wallMs: number,
): DeadContainer[] {
  const groups = pods.flatMap((pod) => groupsOf(pod, minAgeMs, wallMs));
  const going: DeadContainer[] = [];
  const limit = (most: number): void => {
    for (const group of groups) {
      const beyond = group.splice(most);
      group.push(...beyond.filter(({ needed }) => needed));
      going.push(...beyond.filter(({ needed }) => !needed));
    }
  };
  if (maxPerContainer >= 0) limit(maxPerContainer);
  const count = (): number => groups.reduce((sum, { length }) => sum + length, 0);
  if (maxTotal < 0 || count() <= maxTotal) return going;
  limit(Math.max(1, Math.floor(maxTotal / groups.length)));
  const spare = groups.flat().filter(({ needed }) => !needed);
  spare.sort((a, b) => Number(a.record.createdAt - b.record.createdAt));
  const oldest = spare.slice(0, Math.max(0, count() - maxTotal));
  return [...going, ...oldest];
}

/** What disk pressure takes: all that no pod needs any more, however young. */
export function deadToReclaim(pods: readonly GcPod[]): DeadContainer[] {
  return deadToRemove(pods, { minAgeMs: -Infinity, maxPerContainer: 0, maxTotal: -1 }, 0);
}

/** Sandboxes that serve nothing: all but the newest of a pod that goes on. */
export function sandboxesToRemove({ status, ended }: GcPod, gone: ReadonlySet<string>): string[] {
  const used = new Set(
    status.containers.filter(({ id }) => !gone.has(id)).map(({ sandboxId }) => sandboxId),
  );
  return status.sandboxes
    .slice(ended ? 0 : 1)
    .filter(({ id, state }) => state === 'notready' && !used.has(id))
    .map(({ id }) => id);
}

/** The dead instances of each container, newest first. */
function groupsOf({ status, ended }: GcPod, minAgeMs: number, wallMs: number): Group[] {
  const newest = new Set<string>();
  const groups = new Map<string, Group>();
  for (const record of status.containers) {
    const needed = !ended && !newest.has(record.name);
    newest.add(record.name);
    if (record.state !== 'exited') continue;
    const group = groups.get(record.name) ?? [];
    groups.set(record.name, group);
    const isYoung = wallMs - Number(record.createdAt / 1_000_000n) < minAgeMs;
    if (!isYoung) group.push({ pod: status, record, needed });
  }
  return [...groups.values()];
}

/** How many dead instances a pass over a pod leaves beside a newer one; the rest is the periodic pass's. */
export function deadToKeep({ minAgeMs, maxPerContainer }: DeadContainerSettings): number {
  return minAgeMs > 0 || maxPerContainer < 0 ? Infinity : Math.max(1, maxPerContainer);
}
