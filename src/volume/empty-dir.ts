/**
 * Owns: setting up emptyDir volumes (spec: volumes.md §3).
 * Invariants: once the marker is there, and for a mounted medium the mount too, nothing is touched any
 * more, so content and ownership live as long as the pod; without the marker every step is done again.
 * Leaves to others: size and kind of the medium (empty-dir-medium.ts), tear-down (tear-down.ts).
 */
import { chmod, mkdir } from 'node:fs/promises';
import { release } from 'node:os';
import { IsletError, unreachable } from '../util/errors.ts';
import type { EmptyDirMedium } from './empty-dir-medium.ts';
import { exists, isMarked, mark } from './marker.ts';
import { mountAt } from './mount-table.ts';
import type { Mounter } from './mounter.ts';

export interface EmptyDirPlace {
  readonly dir: string;
  /** Directory of the marker. */
  readonly metaDir: string;
}

/** `onFresh` runs on a volume that was just made, before it counts as set up. */
export async function setUpEmptyDir(
  place: EmptyDirPlace,
  medium: EmptyDirMedium,
  mounter: Mounter,
  onFresh: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const mounted = medium.kind !== 'disk' && (await isMounted(place.dir, mounter));
  const marked = await isMarked(place.metaDir);
  if (marked && (medium.kind === 'disk' ? await exists(place.dir) : mounted)) return;
  if (!mounted) {
    await makeOpenDir(place.dir);
    await mountMedium(place.dir, medium, mounter, signal);
  }
  await onFresh();
  await mark(place.metaDir);
}

/** Whoever the containers run as may write; the umask of the agent has no say. */
async function makeOpenDir(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o750 });
  await chmod(dir, 0o777);
}

async function mountMedium(
  dir: string,
  medium: EmptyDirMedium,
  mounter: Mounter,
  signal: AbortSignal,
): Promise<void> {
  switch (medium.kind) {
    case 'disk':
      return;
    case 'memory':
      return mountTmpfs(
        dir,
        medium.sizeBytes === undefined ? [] : [`size=${medium.sizeBytes}`],
        mounter,
        signal,
      );
    case 'hugepages':
      return mountHugePages(dir, medium.pageBytes, mounter, signal);
    default:
      return unreachable(medium);
  }
}

/** The kernel's own answer to a page size that it does not have is of no use to anybody. */
async function mountHugePages(
  dir: string,
  pageBytes: number,
  mounter: Mounter,
  signal: AbortSignal,
): Promise<void> {
  const size = `${pageBytes / 1024}K`;
  try {
    await mounter.mount({ fsType: 'hugetlbfs', options: [`pagesize=${size}`] }, dir, signal);
  } catch (error) {
    if (await exists(`/sys/kernel/mm/hugepages/hugepages-${pageBytes / 1024}kB`)) throw error;
    const shown = pageBytes % 2 ** 20 === 0 ? `${pageBytes / 2 ** 20}Mi` : `${size}i`;
    const text = `this machine has no huge pages of size ${shown}`;
    throw new IsletError('invalid', text, { cause: error });
  }
}

/** A tmpfs that is never swapped out, where the kernel can (6.3 and later). */
export async function mountTmpfs(
  dir: string,
  options: readonly string[],
  mounter: Mounter,
  signal: AbortSignal,
): Promise<void> {
  if (!kernelHasNoswap(release())) {
    return mounter.mount({ fsType: 'tmpfs', options }, dir, signal);
  }
  try {
    await mounter.mount({ fsType: 'tmpfs', options: [...options, 'noswap'] }, dir, signal);
  } catch {
    // The version may lie (a patched or sandboxed kernel); what fails for another reason fails again.
    await mounter.mount({ fsType: 'tmpfs', options }, dir, signal);
  }
}

export function kernelHasNoswap(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 3);
}

async function isMounted(dir: string, mounter: Mounter): Promise<boolean> {
  return mountAt(await mounter.list(), dir) !== undefined;
}
