/**
 * Owns: strict JSON text → tree. An own parser, because JSON.parse loses offsets, repeated keys and
 * integers beyond 2^53. Kept from upstream: the last of repeated keys counts, a lone surrogate
 * becomes U+FFFD. Bounds: nesting of MAX_DEPTH.
 */
import type { ObjectEntry, ObjectTree, Repeated, Tree } from './tree.ts';

/** Unlike the kubelet, whose limit is 10,000: no pod nests deeper than a few dozen levels. */
export const MAX_DEPTH = 500;
/** So that a large file which is no manifest costs neither seconds nor memory. */
export const MAX_VALUES = 100_000;
export const TOO_LARGE = `more than ${MAX_VALUES} values: too large for a manifest`;

/** Why the text is not JSON, and where. */
export class SyntaxProblem extends Error {
  readonly at: number;
  /** The message without a word of the text: for files that may hold a Secret. */
  readonly discreet: string;

  constructor(message: string, at: number, discreet = message) {
    super(message);
    this.name = 'SyntaxProblem';
    this.at = at;
    this.discreet = discreet;
  }
}

const BLANK = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const WORD = /true|false|null/y;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Parses one JSON value that fills the whole text; throws a SyntaxProblem. */
export function parseJson(text: string): Tree {
  const parser = new JsonParser(text);
  const tree = parser.value(0);
  parser.end();
  return tree;
}

class JsonParser {
  readonly #text: string;
  #at = 0;
  #values = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): Tree {
    this.#take(BLANK);
    const at = this.#at;
    const next = this.#text[at];
    if (++this.#values > MAX_VALUES) throw new SyntaxProblem(TOO_LARGE, at);
    if (depth > MAX_DEPTH) throw new SyntaxProblem(`nested deeper than ${MAX_DEPTH} levels`, at);
    if (next === '{') return this.#object(depth);
    if (next === '[') return this.#list(depth);
    if (next === '"') return { type: 'string', text: this.#string(), at };
    const word = this.#take(WORD);
    if (word === 'null') return { type: 'null', at };
    if (word !== undefined) return { type: 'bool', text: word, at };
    const number = this.#take(NUMBER);
    if (number !== undefined) return { type: 'number', text: number, at };
    return this.#fail('a value');
  }

  end(): void {
    this.#take(BLANK);
    if (this.#at < this.#text.length) {
      this.#fail('the end of the file (a file that starts with { holds one JSON object)');
    }
  }

  #object(depth: number): ObjectTree {
    const at = this.#at++;
    const entries = new Map<string, ObjectEntry>();
    const repeated: Repeated[] = [];
    if (this.#comes('}')) return { type: 'object', entries, repeated, at };
    do {
      this.#take(BLANK);
      const keyAt = this.#at;
      if (this.#text[keyAt] !== '"') this.#fail('a key in double quotes');
      const key = this.#string();
      if (!this.#comes(':')) this.#fail('":" after the key');
      const value = this.value(depth + 1);
      const before = entries.get(key);
      if (before) repeated.push({ key, at: keyAt });
      entries.set(key, { keyAt, value: before ? overlay(before.value, value) : value });
    } while (this.#comes(','));
    if (!this.#comes('}')) this.#fail('"," or "}"');
    return { type: 'object', entries, repeated, at };
  }

  #list(depth: number): Tree {
    const at = this.#at++;
    const items: Tree[] = [];
    if (this.#comes(']')) return { type: 'list', items, at };
    do items.push(this.value(depth + 1));
    while (this.#comes(','));
    if (!this.#comes(']')) this.#fail('"," or "]"');
    return { type: 'list', items, at };
  }

  #string(): string {
    const start = this.#at;
    let end = this.#text.indexOf('"', start + 1);
    while (end > 0 && isEscaped(this.#text, end)) end = this.#text.indexOf('"', end + 1);
    if (end < 0) return this.#fail('a string that ends in a double quote');
    try {
      const value = JSON.parse(this.#text.slice(start, end + 1)) as string;
      this.#at = end + 1;
      return value.replace(LONE_SURROGATE, '\ufffd');
    } catch {
      return this.#fail('a string without line breaks, control characters and unknown escapes');
    }
  }

  #comes(sign: string): boolean {
    this.#take(BLANK);
    if (this.#text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const token = pattern.exec(this.#text)?.[0];
    if (token !== undefined) this.#at += token.length;
    return token;
  }

  #fail(expected: string): never {
    const found = this.#text[this.#at];
    const what = found === undefined ? 'the end of the file' : JSON.stringify(found);
    const wrong = `not valid JSON: expected ${expected}`;
    throw new SyntaxProblem(`${wrong}, found ${what}`, this.#at, wrong);
  }
}

function isEscaped(text: string, quote: number): boolean {
  let slashes = 0;
  while (text[quote - 1 - slashes] === '\\') slashes++;
  return slashes % 2 === 1;
}

/** Upstream decodes the second of two equal keys over the first: objects merge, the rest is replaced. */
function overlay(before: Tree, after: Tree): Tree {
  if (before.type !== 'object' || after.type !== 'object') return after;
  const entries = new Map(before.entries);
  for (const [key, entry] of after.entries) {
    const old = entries.get(key);
    entries.set(key, old ? { ...entry, value: overlay(old.value, entry.value) } : entry);
  }
  return { ...after, entries, repeated: [...before.repeated, ...after.repeated] };
}
