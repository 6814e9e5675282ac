/**
 * Owns: what becomes of a manifest file that holds Secrets: the copy of it that may be written to a
 * database, and the warning about who can read it.
 * Invariant: the copy has no value of a Secret and no comment beside one; every other document is in
 * it as it was, on the lines on which it was.
 */
import type { LoadedDocument, Problem, SecretDocument } from './model.ts';
import { decodeText } from './text.ts';

/** The bits that let the group or others read or write. */
const OTHERS = 0o066;
/** At the start of a line these end a document wherever they stand, even in the middle of a text. */
const MARKER = /^(?:---|\.\.\.)(?=\s|$)/;
const NO_CONTENT = /^(?:\s*(?:#.*)?|%.*|(?:---|\.\.\.)\s*(?:#.*)?)$/;
const DIRECTIVE = /^%(?:YAML|TAG)\s/;

/** One for each Secret of a file that others than its owner may read; `mode` undefined: not known. */
export function modeWarnings(
  mode: number | undefined,
  documents: readonly LoadedDocument[],
): Problem[] {
  if (mode === undefined || (mode & OTHERS) === 0) return [];
  const octal = mode.toString(8).padStart(4, '0');
  return secretsOf(documents).map(({ object, line }) => {
    const { namespace, name } = object.metadata;
    const message = `Secret ${namespace}/${name} is in a file of mode ${octal}, expected 0600`;
    return { path: '', line, message, stage: 'validate' };
  });
}

/**
 * The content with every Secret among `documents`, which are all that the file has, reduced to its name. The
 * content itself when there is none.
 */
export function withholdSecrets(
  content: Uint8Array,
  documents: readonly LoadedDocument[],
): Uint8Array {
  const secrets = secretsOf(documents);
  if (secrets.length === 0) return content;
  const { text, json } = { json: false, ...decodeText(content) };
  const lines = text.split('\n');
  const copy = (json ? blanked(lines, 0, secrets) : yamlSegments(lines, secrets)).join('\n');
  // Without a byte order mark, YAML that begins with a brace would be taken for JSON.
  return Buffer.from(!json && /^\s*\{/.test(copy) ? `\ufeff${copy}` : copy);
}

function secretsOf(documents: readonly LoadedDocument[]): SecretDocument[] {
  return documents.filter((document) => document.kind === 'Secret');
}

/** A segment is what stands between two markers: one document, or none. */
function yamlSegments(lines: readonly string[], secrets: readonly SecretDocument[]): string[] {
  const starts = lines.flatMap((line, index) => (index === 0 || MARKER.test(line) ? [index] : []));
  return starts.flatMap((start, at) => {
    const segment = lines.slice(start, starts[at + 1]);
    const inside = secrets.filter(({ line }) => line > start && line <= start + segment.length);
    if (inside.length > 0) return blanked(segment, start, inside);
    if (segment.every((line) => NO_CONTENT.test(line))) return segment.map(bare);
    const last = segment.findLastIndex((line) => !NO_CONTENT.test(line));
    return segment.map((line, index) => (index > last ? bare(line) : line));
  });
}

/** The marker and, on its line, the name of the Secret; all else is empty. */
function blanked(
  segment: readonly string[],
  start: number,
  secrets: readonly SecretDocument[],
): string[] {
  return segment.map((line, index) => {
    const marker = MARKER.exec(line)?.[0] ?? '';
    const secret = secrets.find((one) => one.line === start + index + 1);
    return [marker, ...(secret ? [nameOnly(secret)] : [])].join(' ').trimStart();
  });
}

function nameOnly({ object }: SecretDocument): string {
  const { name, namespace } = object.metadata;
  return JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } });
}

/** Without its comment; the line keeps its kind, because a text that ends in blank lines may keep them. */
function bare(line: string): string {
  if (DIRECTIVE.test(line)) return line;
  const marker = MARKER.exec(line)?.[0];
  if (marker !== undefined) return marker;
  return line.startsWith('#') ? '#' : line;
}
