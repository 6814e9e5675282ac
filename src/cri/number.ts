/**
 * Owns: numbers at the border. The protocol's 64-bit integers are bigint, islet's are number, except
 * times, which need all their digits.
 */

const INT64_MAX = 2n ** 63n - 1n;

/** Toward zero, and to the nearest int64: an amount nobody can have must not fail the call. */
export function toInt64(value: number): bigint {
  if (Number.isNaN(value)) return 0n;
  if (value >= 2 ** 63) return INT64_MAX;
  if (value <= -(2 ** 63)) return -INT64_MAX - 1n;
  return BigInt(Math.trunc(value));
}

export function toUint64(value: number): bigint {
  return value <= 0 ? 0n : toInt64(value);
}
