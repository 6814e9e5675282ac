/**
 * Owns: giving volumes of a pod to its fsGroup, and saying so when that takes long (spec: volumes.md §6).
 * Leaves to others: the walk over the files (fs-group.ts).
 */
import type { Pod } from '../api/pod.ts';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { applyFsGroup } from './fs-group.ts';

export interface OwnershipDeps {
  readonly logger: Logger;
}

export interface OwnedVolume {
  readonly dir: string;
  /** The agent keeps the content; the group may only read it. */
  readonly readOnly: boolean;
}

/** Does nothing for a pod without fsGroup. What cannot be changed stays as it is, and is logged. */
export async function giveToGroup(
  pod: Pod,
  { dir, readOnly }: OwnedVolume,
  { logger }: OwnershipDeps,
  signal: AbortSignal,
): Promise<void> {
  const gid = pod.spec.securityContext.fsGroup;
  if (gid === undefined) return;
  // One line for a file system that knows no owners, not one for each file.
  const failed = { count: 0, first: '' };
  const onError = (path: string, error: unknown): void => {
    if (failed.count++ === 0) failed.first = `${path}: ${messageOf(error)}`;
  };
  await applyFsGroup(dir, { gid, readOnly, signal, onError });
  if (failed.count === 0) return;
  logger.warn('giving files of a volume to the fsGroup failed', { dir, ...failed });
}
