/**
 * Owns: what an unquoted YAML scalar is. These are the rules of the upstream's YAML reader, which are
 * neither YAML 1.1 nor 1.2: `yes` and `y` are booleans, `0644` and `0o644` are octal, `08` is eight,
 * `12:30:45` and dates are strings, `1_000` is a thousand.
 */

export type Resolved =
  | { type: 'string'; text: string }
  /** JSON text of the number. */
  | { type: 'number'; text: string }
  | { type: 'bool'; text: 'true' | 'false' }
  | { type: 'null' }
  /** Infinity and NaN are numbers in YAML, but JSON has no word for them. */
  | { type: 'unsupported'; text: string };

const TRUE = /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(?:n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const NULL = /^(?:|~|null|Null|NULL)$/;
const INFINITE = /^(?:\.nan|\.NaN|\.NAN|[-+]?\.(?:inf|Inf|INF))$/;
const DECIMAL = /^[-+]?(?:0|[1-9][0-9]*)$/;
const PREFIXED = /^([-+]?)0(?:[xX]([0-9a-fA-F]+)|[bB]([01]+)|[oO]?([0-7]+))$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const MOST = 2n ** 64n - 1n;
const LEAST = -(2n ** 63n);

/** The type and value of an unquoted, untagged scalar. */
export function resolvePlain(source: string): Resolved {
  if (NULL.test(source)) return { type: 'null' };
  if (TRUE.test(source)) return { type: 'bool', text: 'true' };
  if (FALSE.test(source)) return { type: 'bool', text: 'false' };
  if (INFINITE.test(source)) return { type: 'unsupported', text: source };
  const first = source.charCodeAt(0);
  const numeric = (first >= 48 && first <= 57) || source[0] === '-' || source[0] === '+';
  if (!numeric && source[0] !== '.') return { type: 'string', text: source };
  const digits = numeric ? source.replaceAll('_', '') : source;
  const integer = numeric ? parseInteger(digits) : undefined;
  if (integer !== undefined) return { type: 'number', text: String(integer) };
  if (FLOAT.test(digits)) {
    const float = Number(digits);
    return Number.isFinite(float)
      ? { type: 'number', text: String(float) }
      : { type: 'string', text: source };
  }
  return { type: 'string', text: source };
}

function parseInteger(digits: string): bigint | undefined {
  if (digits.length > 80) return undefined;
  let value: bigint;
  const prefixed = PREFIXED.exec(digits);
  if (DECIMAL.test(digits)) {
    value = BigInt(digits.replace(/^\+/, ''));
  } else if (prefixed) {
    const [, sign, hex, binary, octal] = prefixed;
    const size = BigInt(hex ? `0x${hex}` : binary ? `0b${binary}` : `0o${octal}`);
    value = sign === '-' ? -size : size;
  } else {
    return undefined;
  }
  return value <= MOST && value >= LEAST ? value : undefined;
}
