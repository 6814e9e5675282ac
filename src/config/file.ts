/**
 * Owns: the configuration file: YAML 1.1 or JSON, one document `KubeletConfiguration` and one
 * `IsletConfiguration`, each at most once, in any order. Decoding is strict. Other configuration files
 * are read the same way, with kinds of their own.
 * Unlike the kubelet: an unknown field is an error, not a warning; a setting that is misspelt on a
 * machine that nobody watches would be missed for months.
 */
import path from 'node:path';
import { isNode, isMap, isPair, isScalar, LineCounter, parseAllDocuments } from 'yaml';
import type { Document, Node } from 'yaml';
import { messageOf } from '../util/errors.ts';
import { decodeFields, isMapping } from './decode.ts';
import type { Path } from './decode.ts';
import { ISLET_API_VERSION, ISLET_FIELDS, ISLET_KIND } from './islet-fields.ts';
import { KUBELET_FIELDS } from './kubelet-fields.ts';
import { shown } from './problem.ts';
import type { Problem } from './problem.ts';
import type { Fields } from './schema.ts';

export interface FileContent {
  /** Decoded fields that were written; durations in milliseconds, paths absolute. */
  readonly kubelet: Readonly<Record<string, unknown>>;
  readonly islet: Readonly<Record<string, unknown>>;
  readonly problems: readonly Problem[];
  /** `FILE:LINE` of a field of the KubeletConfiguration, or of the nearest thing around it. */
  readonly whereKubelet: (field: Path) => string;
  /** The same for the IsletConfiguration. */
  readonly whereIslet: (field: Path) => string;
}

/** The kinds that a file may hold, by name. */
export type Kinds = Readonly<Record<string, { apiVersions: readonly string[]; fields: Fields }>>;

/** A document that was read: its decoded fields, and `FILE:LINE` of a field. */
export interface ReadDocument {
  readonly value: Readonly<Record<string, unknown>>;
  readonly where: (at: Path) => string;
}

const KUBELET_KIND = 'KubeletConfiguration';
const KINDS: Kinds = {
  [KUBELET_KIND]: { apiVersions: ['kubelet.config.k8s.io/v1beta1'], fields: KUBELET_FIELDS },
  [ISLET_KIND]: { apiVersions: [ISLET_API_VERSION], fields: ISLET_FIELDS },
};

/** Reads the text of a file; pure. `file` is its absolute path, and is what errors name. */
export function readConfigText(text: string, file: string): FileContent {
  const { found, problems } = readDocuments(text, file, KINDS);
  const kubelet = found.get(KUBELET_KIND);
  const islet = found.get(ISLET_KIND);
  const top = (): string => `${file}:1`;
  return {
    kubelet: kubelet?.value ?? {},
    islet: islet?.value ?? {},
    problems,
    whereKubelet: kubelet?.where ?? top,
    whereIslet: islet?.where ?? top,
  };
}

/** The documents of a file, by kind, each kind at most once. */
export function readDocuments(
  text: string,
  file: string,
  kinds: Kinds,
): { found: ReadonlyMap<string, ReadDocument>; problems: Problem[] } {
  const lines = new LineCounter();
  const problems: Problem[] = [];
  const found = new Map<string, ReadDocument>();
  // A byte order mark is no part of the text.
  const documents = parseAllDocuments(text.replace(/^\uFEFF/, ''), {
    version: '1.1',
    merge: true,
    lineCounter: lines,
    prettyErrors: false,
  });
  for (const document of Array.isArray(documents) ? documents : []) {
    const where = (at: Path): string => `${file}:${lineOf(document, at, lines)}`;
    const report = (at: Path, was: string, expected: string): void =>
      void problems.push({ where: where(at), field: fieldName(at), found: was, expected });
    const value = plainValue(document, file, lines, problems);
    if (value === undefined || value === null) continue;
    if (!isMapping(value)) {
      report([], shown(value), 'a mapping with apiVersion and kind');
      continue;
    }
    const kind = kindOf(value, kinds, report);
    if (kind === undefined) continue;
    if (found.has(kind.name)) report(['kind'], `a second ${kind.name}`, 'each kind at most once');
    delete value['apiVersion'];
    delete value['kind'];
    const directory = path.dirname(file);
    const fields = decodeFields(value, kind.fields, [], { directory, report });
    found.set(kind.name, { value: fields, where });
  }
  return { found, problems };
}

/** The document as plain data, or undefined after its faults were added to the problems. */
function plainValue(
  document: Document,
  file: string,
  lines: LineCounter,
  problems: Problem[],
): unknown {
  const fault = (offset: number, message: string): void => {
    const where = `${file}:${Math.max(1, lines.linePos(offset).line)}`;
    const found = `a syntax error (${message.split('\n')[0]})`;
    problems.push({ where, field: '', found, expected: 'YAML or JSON' });
  };
  for (const error of document.errors) fault(error.pos[0], error.message);
  if (document.errors.length > 0) return undefined;
  try {
    return document.toJS();
  } catch (error) {
    fault(document.range?.[0] ?? 0, messageOf(error));
    return undefined;
  }
}

function kindOf(
  value: Readonly<Record<string, unknown>>,
  kinds: Kinds,
  report: (at: Path, found: string, expected: string) => void,
): { name: string; fields: Fields } | undefined {
  const name = Object.keys(kinds).find((known) => known === value['kind']);
  const kind = name === undefined ? undefined : kinds[name];
  if (name === undefined || !kind) {
    report(['kind'], shown(value['kind'] ?? null), Object.keys(kinds).join(' or '));
    return undefined;
  }
  const { apiVersions, fields } = kind;
  if (apiVersions.some((version) => version === value['apiVersion'])) return { name, fields };
  report(['apiVersion'], shown(value['apiVersion'] ?? null), apiVersions.join(' or '));
  return undefined;
}

/** The line of the deepest part of the path that is written there: aliases and merges hide the rest. */
function lineOf(document: Document, at: Path, lines: LineCounter): number {
  let node: unknown = document.contents;
  let offset = isNode(node) ? start(node) : (document.range?.[0] ?? 0);
  for (const step of at) {
    const next = child(node, step);
    if (next === undefined) break;
    offset = next.offset;
    node = next.value;
  }
  return Math.max(1, lines.linePos(offset).line);
}

function child(
  node: unknown,
  step: string | number,
): { offset: number; value: unknown } | undefined {
  if (isMap(node)) {
    const pair = node.items.find(
      (item) => isScalar(item.key) && String(item.key.value) === String(step),
    );
    return isPair(pair) && isNode(pair.key)
      ? { offset: start(pair.key), value: pair.value }
      : undefined;
  }
  const items: unknown = isNode(node) && 'items' in node ? node.items : undefined;
  const item: unknown = Array.isArray(items) ? items[Number(step)] : undefined;
  return isNode(item) ? { offset: start(item), value: item } : undefined;
}

function start(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** e.g. `providers[0].env[1].name` */
export function fieldName(at: Path): string {
  return at.reduce<string>((name, step) => {
    if (typeof step === 'number') return `${name}[${step}]`;
    if (!/^[A-Za-z0-9_-]+$/.test(step)) return `${name}[${JSON.stringify(step)}]`;
    return name === '' ? step : `${name}.${step}`;
  }, '');
}
