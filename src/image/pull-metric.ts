/**
 * Owns: `kubelet_image_pull_duration_seconds`, labelled by the size of the image in steps (spec:
 * gc-logs-images.md §4).
 */
import type { Histogram, Registry } from '../metrics/registry.ts';

const SECONDS = [1, 5, 10, 20, 30, 60, 180, 300, 600, 900, 1200, 1800, 2700, 3600];
const MB = 1024 * 1024;
const GB = 1024 * MB;
/** Upper bounds in bytes, each with the name of the step below it. */
const STEPS: readonly (readonly [number, string])[] = [
  [10 * MB, '0-10MB'],
  [100 * MB, '10MB-100MB'],
  [500 * MB, '100MB-500MB'],
  [GB, '500MB-1GB'],
  [5 * GB, '1GB-5GB'],
  [10 * GB, '5GB-10GB'],
  [20 * GB, '10GB-20GB'],
  [30 * GB, '20GB-30GB'],
  [40 * GB, '30GB-40GB'],
  [60 * GB, '40GB-60GB'],
  [100 * GB, '60GB-100GB'],
];

export function pullDuration(registry: Registry): Histogram {
  return registry.histogram(
    'kubelet_image_pull_duration_seconds',
    'Duration in seconds to pull an image.',
    SECONDS,
    ['image_size_in_bytes'],
  );
}

export function sizeBucket(bytes: number): string {
  return STEPS.find(([bound]) => bytes <= bound)?.[1] ?? 'GT100GB';
}
