/**
 * Owns: the files of a downwardAPI volume (spec: volumes.md §5.2). Pure.
 * Leaves to others: what the fields say (api/downward.ts), writing (atomic-writer.ts).
 */
import { fieldValue, resourceFieldValue } from '../api/downward.ts';
import type { AllocatableFacts } from '../api/downward.ts';
import type { Pod } from '../api/pod.ts';
import type { DownwardApiFile } from '../api/volume.ts';
import type { VolumeFile } from './atomic-writer.ts';

const DEFAULT_MODE = 0o644;
/** Fields of the node and the status have no place in files. */
const NO_FACTS = { nodeName: '', nodeIps: [], podIps: [] };

/** By path. `fail` is told, with an IsletError `invalid`, of each field that there is not. */
export function downwardFiles(
  pod: Pod,
  source: { items?: DownwardApiFile[]; defaultMode?: number },
  allocatable: AllocatableFacts,
  fail: (error: unknown) => void,
): Map<string, VolumeFile> {
  const files = new Map<string, VolumeFile>();
  for (const item of source.items ?? []) {
    const mode = item.mode ?? source.defaultMode ?? DEFAULT_MODE;
    try {
      files.set(item.path, { content: contentOf(pod, item, allocatable), mode });
    } catch (error) {
      fail(error);
    }
  }
  return files;
}

function contentOf(pod: Pod, item: DownwardApiFile, allocatable: AllocatableFacts): string {
  if (item.fieldRef !== undefined) return fieldValue(pod, item.fieldRef, NO_FACTS);
  if (item.resourceFieldRef === undefined) return '';
  return resourceFieldValue(pod, item.resourceFieldRef, undefined, allocatable);
}
