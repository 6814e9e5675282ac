/**
 * Owns: leaving out what is not known, so that "absent" has one form.
 */
type Known<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The same object without the fields that are undefined. */
export function known<T extends object>(fields: T): Known<T> {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as Known<T>;
}
