/**
 * Owns: huge page sizes, which the API, the kernel and the runtime each spell in their own way.
 */
import type { Quantity } from '../api/pod.ts';
import { quantityValue } from '../api/quantity.ts';

const PREFIX = 'hugepages-';
const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** `2MB`, `1GB`: as runtimes and the hugetlb controller name a size in bytes. */
export function hugepageName(size: number): string {
  let rest = size;
  let unit = 0;
  while (rest >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${rest}${UNITS[unit] ?? ''}`;
}

/** Bytes of a resource name such as `hugepages-2Mi`; undefined for other resources. */
export function hugepageSize(resource: string): number | undefined {
  return resource.startsWith(PREFIX) ? quantityValue(resource.slice(PREFIX.length)) : undefined;
}

/** One limit per size that the kernel has: 0 unless the list says more. */
export function hugepageLimits(
  sizes: readonly number[],
  limits: Readonly<Record<string, Quantity>> | undefined,
): { pageSize: string; limit: number }[] {
  const bySize = new Map<number, number>();
  for (const [resource, text] of Object.entries(limits ?? {})) {
    const size = hugepageSize(resource);
    if (size !== undefined) bySize.set(size, quantityValue(text));
  }
  return sizes.map((size) => ({ pageSize: hugepageName(size), limit: bySize.get(size) ?? 0 }));
}
