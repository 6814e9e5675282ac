/**
 * Owns: YAML text → one tree per document. Syntax is the yaml library's (yaml-compose.ts); what
 * scalars, keys, merges and aliases mean follows the upstream's reader (scalar.ts).
 * Invariants: nothing is expanded, aliases share one subtree; what aliases stand for is bounded.
 */
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Node, Scalar, YAMLMap } from 'yaml';
import { SyntaxProblem } from './json-tree.ts';
import { resolvePlain } from './scalar.ts';
import type { ObjectEntry, Repeated, Tree } from './tree.ts';
import { compose, MOST_PROBLEMS, syntaxProblems } from './yaml-compose.ts';

export interface YamlDocument {
  /** Undefined when the document is empty or null. */
  tree: Tree | undefined;
  /** Offset of its first content. */
  at: number;
}

export interface YamlResult {
  documents: YamlDocument[];
  problems: SyntaxProblem[];
  /** The text that the offsets mean: that of the file, or nearly (same lines). */
  text: string;
}

/** Parses all documents of a text; never throws for anything the text can say. */
export function parseYaml(text: string): YamlResult {
  const problems: SyntaxProblem[] = [];
  const documents: YamlDocument[] = [];
  const composed = compose(text);
  if (composed instanceof SyntaxProblem) return { documents, problems: [composed], text };
  for (const document of composed.documents) {
    if (problems.length >= MOST_PROBLEMS) break;
    const own = syntaxProblems(document);
    if (own.length > 0) {
      problems.push(...own.slice(0, MOST_PROBLEMS - problems.length));
      continue;
    }
    try {
      const tree = document.contents ? new Converter().document(document.contents) : undefined;
      const at = tree?.at ?? document.range[0];
      documents.push({ tree: tree?.type === 'null' ? undefined : tree, at });
    } catch (error) {
      if (!(error instanceof SyntaxProblem)) throw error;
      problems.push(error);
    }
  }
  return { documents, problems, text: composed.text };
}

/** How much a subtree stands for once its aliases are followed. */
interface Weight {
  nodes: number;
  characters: number;
}

interface Anchored extends Weight {
  tree: Tree;
}

/** Upstream's limits: below 400,000 nodes nearly all may come from aliases, above 4,000,000 a tenth. */
const ALIAS_FREE = { nodes: 1000, aliased: 100 };
const ALIAS_RANGE = { low: 400_000, high: 4_000_000, atLow: 0.99, atHigh: 0.1 };
/** Unlike the kubelet: also how much text aliases may stand for. */
const MOST_ALIASED_CHARACTERS = 32 * 2 ** 20;

class Converter {
  /** An anchor is null while its own content is being read. */
  readonly #anchors = new Map<string, Anchored | null>();
  readonly #total: Weight = { nodes: 0, characters: 0 };
  readonly #aliased: Weight = { nodes: 0, characters: 0 };

  document(node: Node): Tree {
    return this.#convert(node);
  }

  #convert(node: Node): Tree {
    if (isAlias(node)) return this.#follow(node.source, node.range?.[0] ?? 0);
    const { anchor } = node as { anchor?: string };
    if (anchor === undefined) return this.#content(node);
    const before = { ...this.#total };
    this.#anchors.set(anchor, null);
    const tree = this.#content(node);
    const nodes = this.#total.nodes - before.nodes;
    const characters = this.#total.characters - before.characters;
    this.#anchors.set(anchor, { tree, nodes, characters });
    return tree;
  }

  #follow(anchor: string, at: number): Tree {
    const target = this.#anchors.get(anchor);
    if (target === undefined) {
      const message = `unknown anchor "${anchor}" referenced`;
      throw new SyntaxProblem(message, at, 'unknown anchor referenced');
    }
    if (target === null) {
      throw new SyntaxProblem(`anchor "${anchor}" contains itself`, at, 'anchor contains itself');
    }
    for (const weight of [this.#total, this.#aliased]) {
      weight.nodes += target.nodes;
      weight.characters += target.characters;
    }
    const { nodes } = this.#total;
    const many = nodes > ALIAS_FREE.nodes && this.#aliased.nodes > ALIAS_FREE.aliased;
    const excessive = many && this.#aliased.nodes / nodes > allowedShare(nodes);
    if (excessive || this.#aliased.characters > MOST_ALIASED_CHARACTERS) {
      throw new SyntaxProblem('document contains excessive aliasing', at);
    }
    return target.tree;
  }

  #content(node: Node): Tree {
    const at = node.range?.[0] ?? 0;
    this.#total.nodes++;
    if (isMap(node)) return this.#map(node, at);
    if (isSeq(node)) {
      const items = node.items.map((item) =>
        item === null ? ({ type: 'null', at } as const) : this.#convert(item as Node),
      );
      return { type: 'list', items, at };
    }
    if (!isScalar(node)) throw new SyntaxProblem('unexpected content', at);
    this.#total.characters += node.source?.length ?? 0;
    return scalarTree(node, at);
  }

  #map(node: YAMLMap, at: number): Tree {
    const entries = new Map<string, ObjectEntry>();
    const repeated: Repeated[] = [];
    const merged = new Set<string>();
    for (const pair of node.items) {
      const keyNode = pair.key as Node;
      const keyAt = keyNode.range?.[0] ?? at;
      const valueNode = pair.value as Node | null;
      if (isMergeKey(keyNode)) {
        const source = valueNode ? this.#convert(valueNode) : undefined;
        for (const [key, entry] of mergedEntries(source, keyAt)) {
          // A merge that comes after the key overrides it, against the YAML specification.
          if (entries.has(key) && !merged.has(key)) repeated.push({ key, at: keyAt });
          merged.add(key);
          entries.set(key, entry);
        }
        continue;
      }
      const key = keyText(this.#convert(keyNode), keyAt);
      const value = valueNode ? this.#convert(valueNode) : ({ type: 'null', at: keyAt } as const);
      if (entries.has(key) && !merged.delete(key)) repeated.push({ key, at: keyAt });
      entries.set(key, { keyAt, value });
    }
    return { type: 'object', entries, repeated, at };
  }
}

function allowedShare(nodes: number): number {
  const { low, high, atLow, atHigh } = ALIAS_RANGE;
  if (nodes <= low) return atLow;
  if (nodes >= high) return atHigh;
  return atLow - (atLow - atHigh) * ((nodes - low) / (high - low));
}

function isMergeKey(node: Node): boolean {
  if (!isScalar(node) || node.source !== '<<') return false;
  return (
    node.tag === 'tag:yaml.org,2002:merge' || (node.tag === undefined && node.type === 'PLAIN')
  );
}

function mergedEntries(source: Tree | undefined, at: number): Iterable<[string, ObjectEntry]> {
  if (source?.type === 'object') return source.entries;
  const parts = source?.type === 'list' ? source.items : undefined;
  const all = new Map<string, ObjectEntry>();
  for (const part of parts?.toReversed() ?? [undefined]) {
    if (part?.type !== 'object') {
      throw new SyntaxProblem('a merge (<<) needs a mapping or a list of mappings', at);
    }
    for (const [key, entry] of part.entries) all.set(key, entry);
  }
  return all;
}

function keyText(key: Tree, at: number): string {
  if (key.type === 'string' || key.type === 'number' || key.type === 'bool') return key.text;
  const what = key.type === 'null' ? 'null' : key.type === 'list' ? 'a list' : 'a mapping';
  throw new SyntaxProblem(`a key has to be a string, found ${what}`, at);
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const TAG = 'tag:yaml.org,2002:';
const RESOLVABLE = new Set(['int', 'float', 'bool', 'null', 'timestamp'].map((name) => TAG + name));

function scalarTree(node: Scalar, at: number): Tree {
  const source = node.source ?? '';
  const { tag } = node;
  if (LONE_SURROGATE.test(source)) throw new SyntaxProblem('invalid Unicode escape', at);
  if (tag === `${TAG}binary`) return { type: 'string', text: binaryText(source, at), at };
  const quoted = tag === undefined && node.type !== 'PLAIN';
  // Unknown tags say nothing, as upstream: the text stays a string.
  if (quoted || (tag !== undefined && !RESOLVABLE.has(tag)))
    return { type: 'string', text: source, at };
  const resolved = resolvePlain(source);
  if (resolved.type === 'unsupported') {
    throw new SyntaxProblem(`${source} is not supported: JSON has no such number`, at);
  }
  if (tag !== undefined && !fitsTag(tag, resolved.type, source)) {
    throw new SyntaxProblem(`the value cannot be read as !!${tag.slice(TAG.length)}`, at);
  }
  if (resolved.type === 'null') return { type: 'null', at };
  return { ...resolved, written: source, at };
}

function fitsTag(tag: string, type: string, source: string): boolean {
  switch (tag.slice(TAG.length)) {
    case 'int':
      return type === 'number' && !/[.eE]/.test(source.replace(/^[-+]?0[xX]/, ''));
    case 'float':
      return type === 'number';
    case 'timestamp':
      return type === 'string' && /^[0-9]{4}-[0-9]/.test(source);
    default:
      return tag === `${TAG}${type}`;
  }
}

function binaryText(source: string, at: number): string {
  const compact = source.replace(/\s/g, '');
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact)) {
    throw new SyntaxProblem('!!binary value contains invalid base64 data', at);
  }
  return Buffer.from(compact, 'base64').toString('utf8');
}
