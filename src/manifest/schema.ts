/**
 * Owns: the vocabulary in which the v1 types are written down as data (schema-*.ts), and the proof by
 * the compiler that a description names every field of a type of src/api, and no other.
 * Leaves to others: reading a tree by a schema (decode.ts).
 */

export type LeafKind =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'quantity'
  | 'intOrString'
  /** RFC 3339. */
  | 'time'
  /** Kept as written, e.g. `fieldsV1`. */
  | 'any';

/**
 * `zero` says what becomes of an empty value ('' or 0 or false), as in the upstream's types:
 * `drop` = the same as absent, `keep` = absent becomes the empty value, `pointer` = they differ.
 */
export interface Leaf<V> {
  readonly type: 'leaf';
  readonly kind: LeafKind;
  readonly zero: 'drop' | 'keep' | 'pointer';
  /** Only for the compiler. */
  readonly value?: V;
}

export interface ListSchema<E> {
  readonly type: 'list';
  readonly item: SchemaOf<E>;
}

export interface MapSchema<E> {
  readonly type: 'map';
  readonly item: Leaf<E>;
}

export interface ObjectSchema<T> {
  readonly type: 'object';
  readonly fields: Fields<T>;
  /** True for a struct that is never absent upstream, such as `resources`. */
  readonly always: boolean;
}

/** One entry for each field of T. */
export type Fields<T> = {
  readonly [K in keyof Required<T>]: SchemaOf<NonNullable<Required<T>[K]>>;
};

type Known<V> = [V] extends [string]
  ? Leaf<string>
  : [V] extends [number]
    ? Leaf<number>
    : [V] extends [boolean]
      ? Leaf<boolean>
      : [V] extends [string | number]
        ? Leaf<string | number>
        : V extends readonly (infer E)[]
          ? ListSchema<E>
          : string extends keyof V
            ? V extends Record<string, infer E extends string>
              ? MapSchema<E>
              : AnySchema
            : ObjectSchema<V>;

/** The schema that fits a value of type V; what src/api keeps untyped may have any. */
export type SchemaOf<V> = unknown extends V ? AnySchema : Known<V>;

/** A schema as decode.ts walks it, with the types of the values forgotten. */
export type AnySchema =
  | Leaf<unknown>
  | { readonly type: 'list'; readonly item: AnySchema }
  | { readonly type: 'map'; readonly item: Leaf<unknown> }
  | AnyObject;

export interface AnyObject {
  readonly type: 'object';
  readonly fields: Readonly<Record<string, AnySchema>>;
  readonly always: boolean;
}

const leaf = <V>(kind: LeafKind, zero: Leaf<V>['zero'] = 'drop'): Leaf<V> => ({
  type: 'leaf',
  kind,
  zero,
});

export const text = leaf<string>('string');
export const textKept = leaf<string>('string', 'keep');
export const textOrNone = leaf<string>('string', 'pointer');
export const flag = leaf<boolean>('bool');
export const flagOrNone = leaf<boolean>('bool', 'pointer');
export const int32 = leaf<number>('int32');
export const int32Kept = leaf<number>('int32', 'keep');
export const int32OrNone = leaf<number>('int32', 'pointer');
export const int64 = leaf<number>('int64');
export const int64Kept = leaf<number>('int64', 'keep');
export const int64OrNone = leaf<number>('int64', 'pointer');
export const quantity = leaf<string>('quantity', 'pointer');
export const intOrString = leaf<string | number>('intOrString', 'keep');
export const time = leaf<string>('time');
export const any: AnySchema = leaf<unknown>('any', 'pointer');

export const list = <E>(item: SchemaOf<E>): ListSchema<E> => ({ type: 'list', item });
export const map = <E>(item: Leaf<E>): MapSchema<E> => ({ type: 'map', item });
export const object = <T>(fields: Fields<T>): ObjectSchema<T> => ({
  type: 'object',
  fields,
  always: false,
});
export const struct = <T>(fields: Fields<T>): ObjectSchema<T> => ({
  type: 'object',
  fields,
  always: true,
});

/** An object that src/api has as an untyped record; its fields are listed all the same. */
export const record = (fields: Record<string, AnySchema>): AnyObject => ({
  type: 'object',
  fields,
  always: false,
});
