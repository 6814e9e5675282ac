/**
 * Owns: `$(NAME)` in commands, arguments, env values and sub paths (spec cri-mapping.md §3.1).
 * Invariant: one pass; what a value holds is never expanded again.
 */
import { ConfigError } from './config-error.ts';

/**
 * Longest result, in characters: no program can be given a longer string (the kernel's MAX_ARG_STRLEN). Without
 * a bound, variables that double each other make gigabytes of a few lines.
 */
const LONGEST = 128 * 1024;

export type EnvVars = ReadonlyMap<string, string>;

/**
 * `$(NAME)` becomes its value, an unknown one stays as written; `$$` becomes `$`.
 * @throws ConfigError when the result is longer than any program could be given.
 */
export function expand(text: string, vars: EnvVars): string {
  return expandWith(text, (name) => vars.get(name) ?? `$(${name})`);
}

/**
 * As `expand`, but every name must have a value that is not empty.
 * @throws ConfigError naming all that have none, sorted.
 */
export function expandStrictly(text: string, vars: EnvVars): string {
  const missing = new Set<string>();
  const out = expandWith(text, (name) => {
    const value = vars.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0)
    throw new ConfigError(`missing value for ${[...missing].sort().join(', ')}`);
  return out;
}

function expandWith(text: string, valueOf: (name: string) => string): string {
  let out = '';
  let from = 0;
  for (;;) {
    const dollar = text.indexOf('$', from);
    if (dollar < 0 || dollar === text.length - 1) return out + text.slice(from);
    out += text.slice(from, dollar);
    const next = text[dollar + 1];
    const end = next === '(' ? text.indexOf(')', dollar + 2) : -1;
    from = dollar + 2;
    if (end >= 0) {
      out += valueOf(text.slice(dollar + 2, end));
      from = end + 1;
      if (out.length > LONGEST) {
        throw new ConfigError(
          `"${text.slice(0, 40)}" is longer than ${LONGEST} characters after expansion`,
        );
      }
    } else if (next === '$') {
      out += '$';
    } else {
      // `$x` stays, and so does `$(` that nothing closes.
      out += text.slice(dollar, from);
    }
  }
}
