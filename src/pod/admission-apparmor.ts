/**
 * Owns: refusing pods whose AppArmor profile this host cannot enforce, and what the host has of them.
 * A container without its profile would run with more rights than its manifest says.
 */
import fs from 'node:fs';
import type { Pod } from '../api/pod.ts';
import { AdmissionReason } from '../api/reasons.ts';
import { appArmorProfiles } from '../runtime/security.ts';
import type { AdmissionInput, Refusal } from './admission.ts';

export interface AppArmorHost {
  readonly isEnabled: () => boolean;
  /** Names of the loaded profiles; undefined when the kernel does not tell. */
  readonly loaded: () => ReadonlySet<string> | undefined;
}

export const systemAppArmor: AppArmorHost = {
  isEnabled: () => readText('/sys/module/apparmor/parameters/enabled')?.startsWith('Y') ?? false,
  // One `name (mode)` a line.
  loaded: () => {
    const text = readText('/sys/kernel/security/apparmor/profiles');
    return text === undefined
      ? undefined
      : new Set(text.split('\n').map((line) => line.replace(/ \(\w+\)$/, '')));
  },
};

export function appArmor({ pod, node }: AdmissionInput): Refusal | undefined {
  const trouble = troubleOf(pod, node.appArmor);
  if (trouble === undefined) return undefined;
  const message = `Cannot enforce AppArmor: ${trouble}`;
  return { reason: AdmissionReason.AppArmor, message };
}

/** Unlike the kubelet: which finds out that a profile is missing only when the runtime fails. */
function troubleOf(pod: Pod, host: AppArmorHost): string | undefined {
  const confining = appArmorProfiles(pod).filter((profile) => profile.type !== 'unconfined');
  if (confining.length === 0) return undefined;
  if (!host.isEnabled()) return 'AppArmor is not enabled on the host';
  const local = confining.flatMap(({ localhostRef }) => localhostRef ?? []);
  const loaded = local.length > 0 ? host.loaded() : undefined;
  const missing = loaded && local.find((name) => !loaded.has(name));
  return missing === undefined ? undefined : `profile "${missing}" is not loaded`;
}

function readText(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
