/**
 * Owns: what an emptyDir is made of: a directory, a tmpfs of a certain size, or huge pages (spec:
 * volumes.md §3). Pure.
 */
import { amountValue, podLimits } from '../api/qos.ts';
import { parseQuantity, quantityValue, value } from '../api/quantity.ts';
import type { Pod } from '../api/pod.ts';
import { allContainers } from '../api/pod.ts';
import type { EmptyDirSource } from '../api/volume.ts';
import { IsletError } from '../util/errors.ts';

export type EmptyDirMedium =
  | { kind: 'disk' }
  /** `sizeBytes` is finite and positive, or undefined: half of the memory, as the kernel has it. */
  | { kind: 'memory'; sizeBytes: number | undefined }
  | { kind: 'hugepages'; pageBytes: number };

/** `memoryCapacity`: bytes that pods of this node may use at most. */
export function mediumOf(source: EmptyDirSource, pod: Pod, memoryCapacity: number): EmptyDirMedium {
  const medium = source.medium ?? '';
  if (medium === '') return { kind: 'disk' };
  if (medium === 'Memory')
    return { kind: 'memory', sizeBytes: tmpfsSize(source, pod, memoryCapacity) };
  if (medium === 'HugePages' || medium.startsWith('HugePages-')) {
    return { kind: 'hugepages', pageBytes: pageSizeOf(medium, pod) };
  }
  throw new IsletError('invalid', `unknown storage medium ${JSON.stringify(medium)}`);
}

/** The smallest of what the node has, the pod may use and the volume asks for; never without a cap. */
function tmpfsSize(source: EmptyDirSource, pod: Pod, memoryCapacity: number): number | undefined {
  const bounds = [memoryCapacity, podMemoryLimit(pod), quantityValue(source.sizeLimit)];
  const positive = bounds.filter((bytes) => bytes > 0);
  return positive.length === 0 ? undefined : Math.min(...positive);
}

/** 0 unless the pod as a whole, or every single container, has a limit: one without has no bound. */
function podMemoryLimit(pod: Pod): number {
  const containers = allContainers(pod);
  const bounded =
    pod.spec.resources?.limits?.['memory'] !== undefined ||
    containers.every((c) => quantityValue(c.resources.limits?.['memory']) > 0);
  return bounded ? amountValue(podLimits(pod), 'memory') : 0;
}

/** In bytes. */
function pageSizeOf(medium: string, pod: Pod): number {
  const wanted = medium.slice('HugePages-'.length);
  const requested = new Set<number>();
  const { containers, initContainers = [], resources: podLevel = {} } = pod.spec;
  for (const { limits, requests } of [
    podLevel,
    ...[...containers, ...initContainers].map(({ resources }) => resources),
  ]) {
    for (const name of Object.keys({ ...limits, ...requests })) {
      if (!name.startsWith('hugepages-')) continue;
      requested.add(sizeOf(name.slice('hugepages-'.length)));
    }
  }
  const found = wanted === '' ? [...requested] : [sizeOf(wanted)].filter((s) => requested.has(s));
  if (found.length > 1) {
    throw new IsletError(
      'invalid',
      `medium: ${medium} can't be used if container requests multiple huge page sizes`,
    );
  }
  const [size] = found;
  if (size === undefined) {
    throw new IsletError(
      'invalid',
      `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`,
    );
  }
  return size;
}

function sizeOf(text: string): number {
  const quantity = parseQuantity(text);
  return quantity === undefined ? Number.NaN : value(quantity);
}
