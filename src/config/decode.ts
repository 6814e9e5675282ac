/**
 * Owns: reading a plain value by its description: type, range, form, unknown fields, each fault with
 * the path of the field. Durations become milliseconds, paths absolute; all else stays as written.
 * Invariant: null means absent, as it does for the kubelet; absent fields stay absent.
 */
import path from 'node:path';
import { parseDuration } from './duration.ts';
import { formProblem } from './form.ts';
import { shown } from './problem.ts';
import type { FieldType, Fields } from './schema.ts';
import { nearest } from './suggest.ts';

export type Path = readonly (string | number)[];

export interface DecodeOptions {
  /** What relative paths are relative to; absolute. */
  readonly directory: string;
  /** Told about each fault; `path` leads to the field. */
  readonly report: (path: Path, found: string, expected: string) => void;
}

type Decoded = Record<string, unknown>;

export function decodeFields(
  value: Readonly<Record<string, unknown>>,
  fields: Fields,
  at: Path,
  options: DecodeOptions,
): Decoded {
  const out: Decoded = {};
  for (const [name, given] of Object.entries(value)) {
    const type = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (type === undefined) {
      const meant = nearest(name, Object.keys(fields));
      const expected = meant === undefined ? `one of ${brief(fields)}` : `${meant}?`;
      options.report([...at, name], 'an unknown field', expected);
    } else if (given !== null && given !== undefined) {
      const read = decode(given, type, [...at, name], options);
      if (read !== undefined) out[name] = read;
    }
  }
  return out;
}

/** The value to keep, or undefined after a report. */
function decode(value: unknown, type: FieldType, at: Path, options: DecodeOptions): unknown {
  const wrong = (expected: string): undefined => {
    options.report(at, shown(value), expected);
    return undefined;
  };
  switch (type.kind) {
    case 'bool':
      return typeof value === 'boolean' ? value : wrong('true or false');
    case 'int':
      return decodeInt(value, type) ?? wrong(range('a whole number', type.min, type.max));
    case 'number': {
      const inside = typeof value === 'number' && value > type.above && value <= type.max;
      return inside ? value : wrong(`a number above ${type.above} and up to ${type.max}`);
    }
    case 'duration':
      return decodeDuration(value, type) ?? wrong(durationExpected(type));
    case 'string':
      return decodeString(value, type, wrong, options.directory);
    case 'list':
      if (!Array.isArray(value)) return wrong('a list');
      return value.map((item: unknown, index) => decode(item, type.of, [...at, index], options));
    case 'map':
      return isMapping(value) ? decodeMap(value, type, at, options) : wrong('a mapping');
    case 'object':
      return isMapping(value)
        ? decodeFields(value, type.fields, at, options)
        : wrong(`a mapping with ${brief(type.fields)}`);
  }
}

function decodeInt(value: unknown, type: { min: number; max: number }): number | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
  return value >= type.min && value <= type.max ? value : undefined;
}

type DurationType = Extract<FieldType, { kind: 'duration' }>;

function decodeDuration(value: unknown, type: DurationType): number | undefined {
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (ms === undefined || (ms === 0 && type.zero)) return ms;
  return ms >= type.min && ms <= type.max ? ms : undefined;
}

function durationExpected(type: DurationType): string {
  const seconds = (ms: number): string => (ms < 1000 ? `${ms}ms` : `${ms / 1000}s`);
  const zero = type.zero && type.min > 0 ? '0s, or ' : '';
  const what = `${zero}a duration such as "1m30s"`;
  if (type.max !== Infinity) return `${what} from ${seconds(type.min)} to ${seconds(type.max)}`;
  if (type.min === -Infinity) return what;
  return type.min > 0 ? `${what} of at least ${seconds(type.min)}` : `${what}, not negative`;
}

function decodeString(
  value: unknown,
  type: Extract<FieldType, { kind: 'string' }>,
  wrong: (expected: string) => undefined,
  directory: string,
): string | undefined {
  if (typeof value !== 'string') return wrong(type.form === 'quantity' ? QUOTED : 'a string');
  // An empty string is a field that was not set.
  if (value === '') return value;
  if (type.oneOf && !type.oneOf.includes(value)) return wrong(type.oneOf.join(' or '));
  const problem = type.form === undefined ? undefined : formProblem(value, type.form);
  if (problem !== undefined) return wrong(problem);
  return type.form === 'path' ? path.resolve(directory, value) : value;
}

const QUOTED = 'a quantity in quotes such as "500m" or "100Mi"';

function decodeMap(
  value: Readonly<Record<string, unknown>>,
  type: Extract<FieldType, { kind: 'map' }>,
  at: Path,
  options: DecodeOptions,
): Decoded {
  const out: Decoded = {};
  for (const [key, given] of Object.entries(value)) {
    if (type.keys && !type.keys.includes(key))
      options.report([...at, key], `the key ${shown(key)}`, type.keys.join(' or '));
    else {
      const read = decode(given, type.of, [...at, key], options);
      if (read !== undefined) out[key] = read;
    }
  }
  return out;
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
  );
}

function range(what: string, min: number, max: number): string {
  if (max === 2 ** 31 - 1 && min >= -1) return `${what} of at least ${min}`;
  return Math.abs(min) >= 2 ** 31 - 1 ? what : `${what} from ${min} to ${max}`;
}

function brief(fields: Fields): string {
  const names = Object.keys(fields);
  return names.length > 8 ? 'the fields of this kind' : names.join(', ');
}
