/**
 * Owns: whether two JSON values say the same, whatever the order of their keys. A key that is
 * undefined counts as absent, as it does in JSON.
 */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => jsonEqual(item, b[index]))
    );
  }
  return covers(a, b) && covers(b, a);
}

/** Whether every key of `a` has an equal value in `b`. */
function covers(a: object, b: object): boolean {
  return Object.entries(a).every(([key, value]) =>
    jsonEqual(value, Object.hasOwn(b, key) ? (b as Record<string, unknown>)[key] : undefined),
  );
}
