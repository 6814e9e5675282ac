/**
 * Owns: which volume sources islet does not set up, and saying so in one clear sentence.
 */
import type { Volume } from '../api/volume.ts';
import { IsletError } from '../util/errors.ts';

/** Read from an API server, which a standalone agent does not have. */
const NEED_API: ReadonlySet<string> = new Set(['configMap', 'secret', 'projected']);
const SET_UP: ReadonlySet<string> = new Set(['emptyDir', 'hostPath', 'image', 'downwardAPI']);

/** Throws IsletError `unimplemented` when the volume has a source that cannot be set up. */
export function refuseForeign(volume: Volume): void {
  const kind = Object.entries(volume).find(
    ([key, value]) => key !== 'name' && value !== undefined && value !== null && !SET_UP.has(key),
  )?.[0];
  if (kind === undefined) return;
  throw new IsletError(
    'unimplemented',
    NEED_API.has(kind)
      ? `cannot setup ${kind} volume ${volume.name} because kube client is not configured`
      : `volumes of type ${kind} are not supported by islet`,
  );
}
