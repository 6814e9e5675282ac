/**
 * Owns: the growth of a pause. Waiting is left to the caller, so the sequence can be tested as data.
 */
export interface BackoffRange {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** The pause after `previous` (undefined or 0: none yet): base, then doubled up to the maximum. */
export function nextDelay(range: BackoffRange, previous: number | undefined): number {
  if (!previous) return Math.min(range.baseMs, range.maxMs);
  return Math.min(previous * 2, range.maxMs);
}

/** A Go duration without fractions below a second, as the kubelet's messages have it: `10s`, `2m40s`, `5m0s`. */
export function goSeconds(ms: number): string {
  const total = Math.round(ms / 1000);
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const seconds = total % 60;
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

/** A Go duration with up to millisecond digits: `430ms`, `1.53s`, `2m3.5s`. */
export function goDuration(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)}µs`;
  if (ms < 1000) return `${trimmed(ms)}ms`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = trimmed((ms - minutes * 60_000) / 1000);
  if (minutes === 0) return `${seconds}s`;
  const hours = Math.floor(minutes / 60);
  return hours > 0 ? `${hours}h${minutes % 60}m${seconds}s` : `${minutes}m${seconds}s`;
}

function trimmed(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
