/**
 * Owns: durations as Go writes them (`1h2m3.5s`, `100ms`), which is how a KubeletConfiguration and
 * the kubelet's flags have them.
 */
const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5, micro sign
  μs: 1e-3, // U+03BC, Greek letter mu
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;
/** Go counts nanoseconds in 64 bits: about 292 years. */
const LONGEST_MS = 2 ** 63 / 1e6;

/** Milliseconds, or undefined where Go's `time.ParseDuration` reports an error. */
export function parseDuration(text: string): number | undefined {
  const negative = text.startsWith('-');
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  if (body === '0') return 0;
  if (body === '') return undefined;
  let total = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < body.length) {
    const match = PART.exec(body);
    if (!match) return undefined;
    total += Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0);
  }
  if (total >= LONGEST_MS) return undefined;
  // Fractions of a nanosecond are cut, which also removes the noise of the floating point sum.
  const rounded = Math.round(total * 1e6) / 1e6;
  return negative && rounded !== 0 ? -rounded : rounded;
}
