/**
 * Owns: a tree → a plain object of a schema's type. Every value of a wrong type is an error with its
 * full field path, what was found and what was expected; unknown and repeated fields are warnings.
 * Kept from upstream: keys are case-sensitive, null is the same as absent (an empty string or object
 * inside a list or map), empty values of plain fields are dropped.
 */
import { formatQuantity, readQuantity } from '../api/quantity.ts';
import { describe, describeType, similar } from './describe.ts';
import type { AnyObject, AnySchema, Leaf } from './schema.ts';
import type { ObjectTree, Tree } from './tree.ts';

/** Something to say about a place in the file. */
export interface Finding {
  path: string;
  /** Offset in the text. */
  at: number;
  message: string;
}

export interface Decoded {
  value: Record<string, unknown>;
  errors: Finding[];
  warnings: Finding[];
}

/** A hostile file could give millions. */
const MOST_FINDINGS = 100;
const LIMITS = {
  int32: { least: -(2n ** 31n), most: 2n ** 31n - 1n },
  int64: { least: -(2n ** 63n), most: 2n ** 63n - 1n },
};
const RFC3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d+)?(?:Z|[-+](?:[01]\d|2[0-3]):[0-5]\d)$/;

export interface DecodeOptions {
  /** Messages show no values: for Secrets. */
  hideValues?: boolean;
}

/** Decodes a document by its schema; never throws. The value is to be used only without errors. */
export function decode(schema: AnyObject, tree: ObjectTree, options: DecodeOptions = {}): Decoded {
  const decoder = new Decoder(options);
  const value = decoder.object(schema, tree, '');
  return { value, errors: decoder.errors, warnings: decoder.warnings };
}

class Decoder {
  readonly errors: Finding[] = [];
  readonly warnings: Finding[] = [];
  readonly #hideValues: boolean;

  constructor(options: DecodeOptions) {
    this.#hideValues = options.hideValues ?? false;
  }

  object(schema: AnyObject, tree: ObjectTree, path: string): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(schema.fields)) {
      const entry = tree.entries.get(name);
      const decoded = entry
        ? this.#value(field, entry.value, path === '' ? name : `${path}.${name}`)
        : absent(field);
      if (decoded !== undefined) value[name] = decoded;
    }
    this.#unknownFields(schema, tree, path);
    this.#repeated(tree, path);
    return value;
  }

  #unknownFields(schema: AnyObject, tree: ObjectTree, path: string): void {
    for (const [key, { keyAt }] of tree.entries) {
      if (Object.hasOwn(schema.fields, key)) continue;
      const meant = similar(key, Object.keys(schema.fields));
      const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
      const full = path === '' ? key : `${path}.${key}`;
      this.#warn(full, keyAt, `unknown field, it has no effect${hint}`);
    }
  }

  #repeated(tree: ObjectTree, path: string): void {
    for (const { key, at } of tree.repeated) {
      this.#warn(
        path === '' ? key : `${path}.${key}`,
        at,
        'given more than once, the last one counts',
      );
    }
  }

  #value(schema: AnySchema, tree: Tree, path: string): unknown {
    if (tree.type === 'null') return absent(schema);
    switch (schema.type) {
      case 'leaf':
        return this.#leaf(schema, tree, path);
      case 'object':
        if (tree.type !== 'object') return this.#wrong(path, tree, 'a mapping');
        return this.object(schema, tree, path);
      case 'list':
        if (tree.type !== 'list') return this.#wrong(path, tree, 'a list');
        return tree.items.map((item, index) =>
          this.#element(schema.item, item, `${path}[${index}]`),
        );
      case 'map':
        return this.#map(schema.item, tree, path);
    }
  }

  #map(item: Leaf<unknown>, tree: Tree, path: string): unknown {
    if (tree.type !== 'object') return this.#wrong(path, tree, 'a mapping');
    const value: Record<string, unknown> = {};
    for (const [key, entry] of tree.entries) {
      // A key named __proto__ must become a key like any other.
      const decoded = this.#element(item, entry.value, `${path}[${key}]`);
      Object.defineProperty(value, key, {
        value: decoded,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    this.#repeated(tree, path);
    return value;
  }

  /** Inside a list or map nothing is absent: what is empty stays, what is null becomes empty. */
  #element(schema: AnySchema, tree: Tree, path: string): unknown {
    const value = this.#value(schema, tree, path);
    if (value !== undefined) return value;
    if (schema.type === 'object') return emptyObject(schema);
    if (schema.type === 'leaf') return emptyLeaf(schema);
    return undefined;
  }

  #leaf(schema: Leaf<unknown>, tree: Tree, path: string): unknown {
    const value = this.#scalar(schema.kind, tree, path);
    const empty = value === '' || value === 0 || value === false;
    return empty && schema.zero === 'drop' ? undefined : value;
  }

  #scalar(kind: Leaf<unknown>['kind'], tree: Tree, path: string): unknown {
    switch (kind) {
      case 'string':
        return tree.type === 'string' ? tree.text : this.#wrong(path, tree, 'a string');
      case 'bool':
        return tree.type === 'bool'
          ? tree.text === 'true'
          : this.#wrong(path, tree, 'true or false');
      case 'int32':
      case 'int64':
        return this.#integer(kind, tree, path);
      case 'intOrString':
        if (tree.type === 'string') return tree.text;
        if (tree.type === 'number') return this.#integer('int32', tree, path);
        return this.#wrong(path, tree, 'a number or a string');
      case 'quantity':
        return this.#quantity(tree, path);
      case 'time':
        if (tree.type === 'string' && RFC3339.test(tree.text)) return wholeSeconds(tree.text);
        return this.#wrong(path, tree, 'a time such as "2006-01-02T15:04:05Z"');
      case 'any':
        return plain(tree);
    }
  }

  #integer(kind: 'int32' | 'int64', tree: Tree, path: string): number | undefined {
    const { least, most } = LIMITS[kind];
    if (tree.type === 'number' && /^-?[0-9]+$/.test(tree.text) && tree.text.length <= 20) {
      const exact = BigInt(tree.text);
      if (exact >= least && exact <= most) return Number(exact);
    }
    const range = tree.type === 'number' ? ` between ${least} and ${most}` : '';
    return this.#wrong(path, tree, `a whole number${range}`);
  }

  #quantity(tree: Tree, path: string): string | undefined {
    if (tree.type !== 'string' && tree.type !== 'number') {
      return this.#wrong(path, tree, 'a quantity such as 500m or 64Mi');
    }
    const result = readQuantity(tree.text.trim());
    if (result.ok) return formatQuantity(result.quantity);
    this.#fail(path, tree.at, `${result.error}, found ${this.#found(tree)}`);
    return undefined;
  }

  #wrong(path: string, tree: Tree, expected: string): undefined {
    const unquoted = expected === 'a string' && (tree.type === 'number' || tree.type === 'bool');
    const hint = unquoted ? '; put it in quotes' : '';
    this.#fail(path, tree.at, `expected ${expected}, found ${this.#found(tree)}${hint}`);
    return undefined;
  }

  #found(tree: Tree): string {
    return this.#hideValues ? describeType(tree) : describe(tree);
  }

  #fail(path: string, at: number, message: string): void {
    if (this.errors.length < MOST_FINDINGS) this.errors.push({ path, at, message });
  }

  #warn(path: string, at: number, message: string): void {
    if (this.warnings.length < MOST_FINDINGS) this.warnings.push({ path, at, message });
  }
}

function absent(schema: AnySchema): unknown {
  if (schema.type === 'leaf') return schema.zero === 'keep' ? emptyLeaf(schema) : undefined;
  return schema.type === 'object' && schema.always ? emptyObject(schema) : undefined;
}

function emptyObject(schema: AnyObject): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.fields)) {
    const empty = absent(field);
    if (empty !== undefined) value[name] = empty;
  }
  return value;
}

function emptyLeaf(schema: Leaf<unknown>): unknown {
  switch (schema.kind) {
    case 'string':
    case 'time':
      return '';
    case 'quantity':
      return '0';
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'intOrString':
      return 0;
    case 'any':
      return null;
  }
}

/** As the API serves times: UTC, no fraction. */
function wholeSeconds(time: string): string {
  const date = new Date(time.replace(',', '.'));
  return Number.isNaN(date.getTime()) ? time : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

function plain(tree: Tree): unknown {
  switch (tree.type) {
    case 'null':
      return null;
    case 'string':
      return tree.text;
    case 'bool':
      return tree.text === 'true';
    case 'number':
      return Number(tree.text);
    case 'list':
      return tree.items.map(plain);
    case 'object':
      return Object.fromEntries([...tree.entries].map(([key, { value }]) => [key, plain(value)]));
  }
}
