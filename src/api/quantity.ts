/**
 * Owns: Kubernetes quantities (`250m`, `64Mi`, `1e3`), exactly. Kept from upstream: the grammar and its
 * error texts, rounding up to 1n, the cap of binary quantities at 2^63-1, and the canonical form, which
 * is one for every spelling of a value within a suffix family.
 * Leaves to others: which resources may have which values (manifest/validate-resources.ts).
 */

/** The suffix family decides the canonical spelling: `1024Ki` is `1Mi`, while `1048576` stays. */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

export interface ParsedQuantity {
  /** The value in units of 10^-9. */
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

export type QuantityResult = { ok: true; quantity: ParsedQuantity } | { ok: false; error: string };

const NANO = 1_000_000_000n;
const MILLI = 1_000_000n;
const LARGEST_BINARY = (2n ** 63n - 1n) * NANO;

const FORM_ERROR =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_ERROR = "unable to parse quantity's suffix";
/** Unlike the kubelet, which would compute 10 to the power of anything: more is refused. */
const MOST_DIGITS = 300;
const RANGE_ERROR = `quantity has more than ${MOST_DIGITS} digits`;

const GRAMMAR = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const DECIMAL_POWERS = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const BINARY_POWERS = new Map([
  ['Ki', 10n],
  ['Mi', 20n],
  ['Gi', 30n],
  ['Ti', 40n],
  ['Pi', 50n],
  ['Ei', 60n],
]);

/** Reads a quantity or says, in upstream's words, why it is none. */
export function readQuantity(text: string): QuantityResult {
  const match = text === '' ? null : GRAMMAR.exec(text);
  if (!match) return { ok: false, error: FORM_ERROR };
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  const binary = BINARY_POWERS.get(suffix);
  const exponent = binary === undefined ? decimalExponent(suffix) : 0;
  if (exponent === undefined) return { ok: false, error: SUFFIX_ERROR };
  if (whole.length + fraction.length + Math.abs(exponent) > MOST_DIGITS) {
    return { ok: false, error: RANGE_ERROR };
  }
  const digits = BigInt(whole + fraction || '0') << (binary ?? 0n);
  let nano = scaled(digits, exponent - fraction.length + 9);
  let format: QuantityFormat = /^[eE]./.test(suffix) ? 'DecimalExponent' : 'DecimalSI';
  if (binary !== undefined) {
    if (nano > LARGEST_BINARY) nano = LARGEST_BINARY;
    format = nano > 0n && nano < NANO ? 'DecimalSI' : 'BinarySI';
  }
  return { ok: true, quantity: { nano: sign === '-' ? -nano : nano, format } };
}

function decimalExponent(suffix: string): number | undefined {
  const power = DECIMAL_POWERS.get(suffix);
  if (power !== undefined) return power;
  return /^[eE][-+]?[0-9]+$/.test(suffix) ? Number(suffix.slice(1)) : undefined;
}

/** `value * 10^power`, rounded up: who asks for a little gets at least the smallest amount. */
function scaled(value: bigint, power: number): bigint {
  return power >= 0 ? value * 10n ** BigInt(power) : ceilDivide(value, 10n ** BigInt(-power));
}

function ceilDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by > 0n ? quotient + 1n : quotient;
}

/** The quantity, or undefined when `text` is none. */
export function parseQuantity(text: string): ParsedQuantity | undefined {
  const result = readQuantity(text);
  return result.ok ? result.quantity : undefined;
}

/** In whole units (bytes, cores), rounded up. */
export function value(quantity: ParsedQuantity): number {
  return Number(ceilDivide(quantity.nano, NANO));
}

/** In thousandths, rounded up. */
export function milliValue(quantity: ParsedQuantity): number {
  return Number(ceilDivide(quantity.nano, MILLI));
}

/** Negative, zero or positive, as `a` is less than, equal to or greater than `b`. */
export function compareQuantities(a: ParsedQuantity, b: ParsedQuantity): number {
  return a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0;
}

/** The sum, in the format of the first that is not zero, as upstream adds. */
export function addQuantities(a: ParsedQuantity, b: ParsedQuantity): ParsedQuantity {
  return { nano: a.nano + b.nano, format: a.nano === 0n ? b.format : a.format };
}

/** Away from zero to whole thousandths: the default for every resource amount. */
export function roundUpToMilli(quantity: ParsedQuantity): ParsedQuantity {
  const { nano, format } = quantity;
  const size = ceilDivide(nano < 0n ? -nano : nano, MILLI) * MILLI;
  return { nano: nano < 0n ? -size : size, format };
}

/** The one spelling of this value in its family, as the API serves it. */
export function formatQuantity(quantity: ParsedQuantity): string {
  const { nano, format } = quantity;
  if (nano === 0n) return '0';
  const size = nano < 0n ? -nano : nano;
  const sign = nano < 0n ? '-' : '';
  if (format === 'BinarySI' && size >= 1024n * NANO && size % NANO === 0n) {
    return sign + binaryText(size / NANO);
  }
  return sign + decimalText(size, format === 'DecimalExponent');
}

/** The spelling of an amount of whole units, such as bytes; what is behind the point is cut off. */
export function amountText(amount: number, format: QuantityFormat = 'BinarySI'): string {
  return formatQuantity({ nano: BigInt(Math.trunc(amount)) * NANO, format });
}

function binaryText(size: bigint): string {
  let rest = size;
  let suffix = '';
  for (const next of BINARY_POWERS.keys()) {
    if (rest % 1024n !== 0n) break;
    rest /= 1024n;
    suffix = next;
  }
  return `${rest}${suffix}`;
}

function decimalText(size: bigint, exponential: boolean): string {
  let rest = size;
  let exponent = -9;
  while (rest % 1000n === 0n && (exponential || exponent < 18)) {
    rest /= 1000n;
    exponent += 3;
  }
  if (exponential) return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
  const suffix = [...DECIMAL_POWERS].find(([, power]) => power === exponent)?.[0] ?? '';
  return `${rest}${suffix}`;
}

/** Whole units (bytes, cores) of a quantity that was decoded before, rounded up; 0 when it is none. */
export function quantityValue(text: string | undefined): number {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity === undefined ? 0 : value(quantity);
}

/** Thousandths of a quantity that was decoded before, rounded up; 0 when it is none. */
export function quantityMilli(text: string | undefined): number {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity === undefined ? 0 : milliValue(quantity);
}
