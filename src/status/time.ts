/**
 * Owns: times as the API writes them: RFC 3339, UTC, whole seconds.
 */

const NANOSECONDS_PER_MILLISECOND = 1_000_000n;

/** Rounds down to the second. */
export function apiTime(wallMs: number): string {
  return `${new Date(Math.floor(wallMs / 1000) * 1000).toISOString().slice(0, -5)}Z`;
}

/**
 * A time of the runtime, in nanoseconds since 1970; 0 (it never happened) gives undefined.
 * Unlike the kubelet: which shows 1970 for a container that never started.
 */
export function runtimeTime(nanoseconds: bigint): string | undefined {
  if (nanoseconds <= 0n) return undefined;
  return apiTime(Number(nanoseconds / NANOSECONDS_PER_MILLISECOND));
}
