/**
 * Owns: the words in which the fields of a configuration document are described as data.
 * Invariant: ranges are inclusive; a duration's range is in milliseconds.
 * Leaves to others: reading a document by them (decode.ts), rules over several fields (validate.ts).
 */
export type FieldType =
  | { readonly kind: 'string'; readonly oneOf?: readonly string[]; readonly form?: StringForm }
  | { readonly kind: 'bool' }
  | { readonly kind: 'int'; readonly min: number; readonly max: number }
  | { readonly kind: 'number'; readonly above: number; readonly max: number }
  | {
      readonly kind: 'duration';
      readonly min: number;
      readonly max: number;
      readonly zero: boolean;
    }
  | { readonly kind: 'list'; readonly of: FieldType }
  | { readonly kind: 'map'; readonly of: FieldType; readonly keys?: readonly string[] }
  | { readonly kind: 'object'; readonly fields: Fields };

export type Fields = Readonly<Record<string, FieldType>>;

/** Strings with a form of their own; `path` is also resolved against the file's directory. */
export type StringForm =
  | 'path'
  | 'quantity'
  | 'signed-quantity'
  | 'ip'
  | 'cidr'
  | 'endpoint'
  | 'threshold'
  | 'reclaim'
  | 'duration';

const INT32 = 2 ** 31 - 1;

export const text: FieldType = { kind: 'string' };
export const bool: FieldType = { kind: 'bool' };

export function form(name: StringForm): FieldType {
  return { kind: 'string', form: name };
}

export function oneOf(...values: string[]): FieldType {
  return { kind: 'string', oneOf: values };
}

export function int(min = -INT32 - 1, max = INT32): FieldType {
  return { kind: 'int', min, max };
}

export const int64: FieldType = {
  kind: 'int',
  min: Number.MIN_SAFE_INTEGER,
  max: Number.MAX_SAFE_INTEGER,
};

/** Any duration from `min`; zero is always allowed: it stands for the default or for off. */
export function duration(min = 0, max = Infinity): FieldType {
  return { kind: 'duration', min, max, zero: true };
}

/** A duration from `min` to `max`, zero only if that is in between. */
export function strictDuration(min: number, max = Infinity): FieldType {
  return { kind: 'duration', min, max, zero: false };
}

export function list(of: FieldType): FieldType {
  return { kind: 'list', of };
}

export function map(of: FieldType, keys?: readonly string[]): FieldType {
  return keys === undefined ? { kind: 'map', of } : { kind: 'map', of, keys };
}

export function object(fields: Fields): FieldType {
  return { kind: 'object', fields };
}
