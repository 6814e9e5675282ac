/**
 * Owns: giving volumes of a pod to its fsGroup: whether there is anything to do, and saying so when it
 * takes long (spec: volumes.md §6).
 * Leaves to others: the walk over the files (fs-group.ts).
 */
import type { EventRecorder } from '../api/event.ts';
import { podTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { EventReason } from '../api/reasons.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { applyFsGroup, rootBelongsToGroup } from './fs-group.ts';

export interface OwnershipDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventRecorder;
}

export interface OwnedVolume {
  readonly dir: string;
  /** The agent keeps the content; the group may only read it. */
  readonly readOnly: boolean;
  /** Whether `fsGroupChangePolicy` counts: it does not for what lives no longer than the pod. */
  readonly persistent?: boolean;
}

const FIRST_REPORT_MS = 30_000;
const REPORT_EVERY_MS = 60_000;
const ADVICE =
  'https://kubernetes.io/docs/tasks/configure-pod-container/security-context/' +
  '#configure-volume-permission-and-ownership-change-policy-for-pods';

/** Does nothing for a pod without fsGroup. What cannot be changed stays as it is, and is logged. */
export async function giveToGroup(
  pod: Pod,
  { dir, readOnly, persistent = false }: OwnedVolume,
  deps: OwnershipDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fsGroup: gid, fsGroupChangePolicy } = pod.spec.securityContext;
  if (gid === undefined) return;
  const lazily = persistent && fsGroupChangePolicy === 'OnRootMismatch';
  if (lazily && (await rootBelongsToGroup(dir, { gid, readOnly }))) return;
  let entries = 0;
  // One line for a file system that knows no owners, not one for each file.
  const failed = { count: 0, first: '' };
  const onError = (path: string, error: unknown): void => {
    if (failed.count++ === 0) failed.first = `${path}: ${messageOf(error)}`;
  };
  const done = new AbortController();
  const reports = reportProgress(pod, dir, () => entries, deps, done.signal);
  try {
    await applyFsGroup(dir, { gid, readOnly, signal, onError, onEntry: () => void entries++ });
  } finally {
    done.abort();
    await reports;
  }
  if (failed.count === 0) return;
  deps.logger.warn('giving files of a volume to the fsGroup failed', { dir, ...failed });
}

/** Events about a change that takes long, until `done`. */
async function reportProgress(
  pod: Pod,
  dir: string,
  entries: () => number,
  { clock, events }: OwnershipDeps,
  done: AbortSignal,
): Promise<void> {
  const { uid } = pod.metadata;
  const from = dir.indexOf(uid);
  const shown = from < 0 ? dir : dir.slice(from);
  const begin = `Setting volume ownership for ${shown}`;
  const say = (text: string): void =>
    events.event(podTarget(pod), 'Warning', EventReason.VolumePermissionChangeInProgress, text);
  try {
    await clock.sleep(FIRST_REPORT_MS, done);
    say(`${begin} is taking longer than expected, consider using OnRootMismatch - ${ADVICE}`);
    for (;;) {
      await clock.sleep(REPORT_EVERY_MS, done);
      say(`${begin}, processed ${entries()} files.`);
    }
  } catch (error) {
    if (!done.aborted) throw error;
  }
}
