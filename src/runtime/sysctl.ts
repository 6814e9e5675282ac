/**
 * Owns: the two spellings of a sysctl. Both are allowed in the API; the runtime wants dots.
 */

/** As sysctl(8): the first separator decides; then a dot stands for `/` and the other way round. */
export function dottedSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (c) => (c === '/' ? '.' : '/'));
}
