/**
 * Owns: which volume sources islet does not set up, and saying so in one clear sentence.
 */
import type { Volume } from '../api/volume.ts';
import { IsletError } from '../util/errors.ts';

const SET_UP: ReadonlySet<string> = new Set([
  'emptyDir',
  'hostPath',
  'image',
  'configMap',
  'secret',
  'downwardAPI',
  'projected',
  'persistentVolumeClaim',
]);

/** Throws IsletError `unimplemented` when the volume has a source that cannot be set up. */
export function refuseForeign(volume: Volume): void {
  const kind = foreignKind(volume);
  if (kind === undefined) return;
  throw new IsletError('unimplemented', `volumes of type ${kind} are not supported by islet`);
}

export function isForeign(volume: Volume): boolean {
  return foreignKind(volume) !== undefined;
}

function foreignKind(volume: Volume): string | undefined {
  return Object.entries(volume).find(
    ([key, value]) => key !== 'name' && value !== undefined && value !== null && !SET_UP.has(key),
  )?.[0];
}
