/**
 * Owns: directories whose mounts are to travel between the host and containers (`mountPropagation`): the
 * runtime wants them on a shared mount.
 * Unlike the kubelet, which makes its whole root directory shared when it starts: only the volume that
 * needs it becomes a mount of its own, so a host whose mounts are private stays as it is, and nothing is
 * left when the pod has gone.
 */
import { mountHolding } from './mount-table.ts';
import type { Mounter } from './mounter.ts';

/** `dir` is free of symbolic links. Safe to repeat. */
export async function ensureShared(
  dir: string,
  mounter: Mounter,
  signal: AbortSignal,
): Promise<void> {
  const holder = mountHolding(await mounter.list(), dir);
  if (holder?.shared === true) return;
  if (holder?.mountPoint !== dir) await mounter.bind(dir, dir, signal);
  await mounter.share(dir, signal);
}
