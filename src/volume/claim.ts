/**
 * Owns: persistentVolumeClaim volumes: claim `data` of namespace `ns` is `<dir>/ns/data`, where `dir` is
 * the agent's `persistentVolumeDir`. There is no storage class, no size and no access mode: whoever wants
 * the data on another disk puts a symbolic link, or the mount of the disk, in place of the directory.
 * A block device, or a link to one, is what `volumeDevices` takes.
 * Invariants: what is there is never deleted, and never replaced; a link that leads nowhere is not
 * followed by making anything, because the disk behind it may come later.
 */
import { chmod, mkdir, readlink, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { IsletError } from '../util/errors.ts';
import type { VolumeUse } from './use.ts';
import { errnoOf } from './volume-error.ts';

export type ClaimPlace =
  /** Without symbolic links. */
  { kind: 'directory'; path: string } | { kind: 'device'; path: string };

export interface ClaimRequest {
  /** Name of the volume. */
  readonly volume: string;
  readonly claim: string;
  /** `persistentVolumeDir/namespace/claim`. */
  readonly path: string;
  readonly use: VolumeUse;
}

/** Throws IsletError when the claim cannot be used in the way that the pod wants. */
export async function findClaim(request: ClaimRequest): Promise<ClaimPlace> {
  const { volume, path, use } = request;
  const found = (await statIfThere(path)) ?? (await makeClaim(request));
  const misused = (mode: string, field: string): IsletError =>
    new IsletError(
      'invalid',
      `volume ${volume} has volumeMode ${mode}, but is specified in ${field}`,
    );
  if (found.isDirectory()) {
    if (use.device) throw misused('Filesystem', 'volumeDevices');
    return { kind: 'directory', path: await realpath(path) };
  }
  if (found.isBlockDevice()) {
    if (use.mount) throw misused('Block', 'volumeMounts');
    return { kind: 'device', path: await realpath(path) };
  }
  throw fault(request, 'is neither a directory nor a block device');
}

async function makeClaim(request: ClaimRequest): ReturnType<typeof stat> {
  const { path, use } = request;
  const link = await readlink(path).catch(() => undefined);
  if (link !== undefined) throw fault(request, `is a link to ${link}, where nothing is`);
  if (use.device) throw fault(request, 'is not there; it is to be a block device or a link to one');
  // The way there is the agent's alone, so that what is open to every user of a pod is not to those of the host.
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  try {
    await mkdir(path);
    await chmod(path, 0o777);
  } catch (error) {
    // Another pod with the same claim was faster.
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
  return stat(path);
}

function fault({ claim, path }: ClaimRequest, what: string): IsletError {
  return new IsletError('invalid', `persistentvolumeclaim "${claim}": ${path} ${what}`);
}

async function statIfThere(path: string): Promise<Awaited<ReturnType<typeof stat>> | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
