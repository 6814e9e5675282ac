/**
 * Owns: the configuration file: YAML 1.1 or JSON, one document `KubeletConfiguration` and one
 * `IsletConfiguration`, each at most once, in any order. Decoding is strict.
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

type Kind = 'KubeletConfiguration' | 'IsletConfiguration';

const KINDS: Readonly<Record<Kind, { apiVersion: string; fields: Fields }>> = {
  KubeletConfiguration: { apiVersion: 'kubelet.config.k8s.io/v1beta1', fields: KUBELET_FIELDS },
  [ISLET_KIND]: { apiVersion: ISLET_API_VERSION, fields: ISLET_FIELDS },
};

/** Reads the text of a file; pure. `file` is its absolute path, and is what errors name. */
export function readConfigText(text: string, file: string): FileContent {
  const lines = new LineCounter();
  const problems: Problem[] = [];
  const found = new Map<Kind, { value: Record<string, unknown>; where: (at: Path) => string }>();
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
    const kind = kindOf(value, report);
    if (kind === undefined) continue;
    if (found.has(kind)) report(['kind'], `a second ${kind}`, 'each kind at most once');
    delete value['apiVersion'];
    delete value['kind'];
    const directory = path.dirname(file);
    const fields = decodeFields(value, KINDS[kind].fields, [], { directory, report });
    found.set(kind, { value: fields, where });
  }
  const kubelet = found.get('KubeletConfiguration');
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
  report: (at: Path, found: string, expected: string) => void,
): Kind | undefined {
  const kind = Object.keys(KINDS).find((name): name is Kind => name === value['kind']);
  if (kind === undefined) {
    report(['kind'], shown(value['kind'] ?? null), Object.keys(KINDS).join(' or '));
    return undefined;
  }
  const { apiVersion } = KINDS[kind];
  if (value['apiVersion'] === apiVersion) return kind;
  report(['apiVersion'], shown(value['apiVersion'] ?? null), apiVersion);
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

function fieldName(at: Path): string {
  return at.reduce<string>((name, step) => {
    if (typeof step === 'number') return `${name}[${step}]`;
    if (!/^[A-Za-z0-9_-]+$/.test(step)) return `${name}[${JSON.stringify(step)}]`;
    return name === '' ? step : `${name}.${step}`;
  }, '');
}
