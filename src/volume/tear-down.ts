/**
 * Owns: taking away everything below a pod's directory: mounts first, then data (spec: volumes.md §2).
 * Invariant: nothing is deleted while anything is mounted below, so no content of a hostPath or of a
 * bind mount is ever deleted through a pod's directory. Safe to repeat and to cut off.
 */
import { realpath } from 'node:fs/promises';
import type { Clock } from '../util/clock.ts';
import { IsletError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { mountsBelow } from './mount-table.ts';
import type { Mounter } from './mounter.ts';
import { removeTree } from './remove-tree.ts';
import { errnoOf, volumeError } from './volume-error.ts';

export interface TearDownDeps {
  readonly mounter: Mounter;
  readonly clock: Clock;
  readonly logger: Logger;
}

const POLITE_TRIES = 3;
const BETWEEN_TRIES_MS = 200;

/** A directory that is not there is a success. */
export async function tearDownDir(
  dir: string,
  deps: TearDownDeps,
  signal: AbortSignal,
): Promise<void> {
  try {
    // The mount table knows resolved paths only.
    const resolved = await resolveIfThere(dir);
    if (resolved === undefined) return;
    await unmountBelow(resolved, deps, signal);
    await removeTree(resolved, signal);
  } catch (cause) {
    throw volumeError(`removing ${dir}`, cause);
  }
}

async function unmountBelow(dir: string, deps: TearDownDeps, signal: AbortSignal): Promise<void> {
  const { mounter, clock, logger } = deps;
  for (let attempt = 1; ; attempt++) {
    const mounts = mountsBelow(await mounter.list(), dir);
    if (mounts.length === 0) return;
    if (attempt > POLITE_TRIES + 1) {
      const left = mounts.map((m) => m.mountPoint).join(', ');
      throw new IsletError('failed', `still mounted: ${left}`);
    }
    // Whoever keeps it busy after its containers are gone may keep it: it goes out of the tree.
    const lazy = attempt > POLITE_TRIES;
    if (attempt > 1) await clock.sleep(BETWEEN_TRIES_MS, signal);
    for (const { mountPoint } of mounts) {
      try {
        await mounter.unmount(mountPoint, lazy, signal);
      } catch (err) {
        signal.throwIfAborted();
        logger.debug('unmounting failed', { path: mountPoint, lazy, err });
      }
    }
  }
}

async function resolveIfThere(dir: string): Promise<string | undefined> {
  try {
    return await realpath(dir);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
