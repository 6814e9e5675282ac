/**
 * Owns: making sure that a seccomp profile of the node is there before a container needs it.
 * Unlike the kubelet: which leaves that to the runtime, whose error names no field of the manifest.
 */
import { stat } from 'node:fs/promises';
import type { SecurityProfile } from '../cri/model.ts';
import { ConfigError } from './config-error.ts';

/** @throws ConfigError when the profile is no file. */
export async function requireSeccompProfile(profile: SecurityProfile | undefined): Promise<void> {
  if (profile?.type !== 'localhost' || profile.localhostRef === undefined) return;
  const found = await stat(profile.localhostRef).catch(() => undefined);
  if (found?.isFile()) return;
  throw new ConfigError(
    `seccompProfile.localhostProfile: found ${found ? 'no file' : 'nothing'} at ` +
      `${profile.localhostRef}, expected a seccomp profile in JSON`,
  );
}
