/**
 * Owns: the bytes of a manifest file → its documents as trees, or everything that is wrong with it as
 * text, JSON or YAML. Invariant: never throws, whatever the bytes.
 */
import { parseJson, SyntaxProblem } from './json-tree.ts';
import type { Problem } from './model.ts';
import { decodeText } from './text.ts';
import { Lines } from './tree.ts';
import type { Tree } from './tree.ts';
import { parseYaml } from './yaml-tree.ts';

export interface ParsedFile {
  /** Empty documents are left out; none when there are problems. */
  trees: Tree[];
  problems: Problem[];
  lines: Lines;
  /** Then no message quotes what a document is. */
  hidden: boolean;
}

export function parseManifest(bytes: Uint8Array): ParsedFile {
  const decoded = decodeText(bytes);
  if (!decoded.ok) {
    const lines = new Lines(decoded.text);
    const problems = [problemAt(lines, decoded.message, decoded.at)];
    return { trees: [], problems, lines, hidden: true };
  }
  const { trees, problems, text } = decoded.json
    ? jsonTrees(decoded.text)
    : yamlTrees(decoded.text);
  const lines = new Lines(text);
  const hidden = mayHoldSecret(text);
  return {
    trees: problems.length > 0 ? [] : trees,
    problems: problems.map(({ message, discreet, at }) =>
      problemAt(lines, hidden ? discreet : message, at),
    ),
    lines,
    hidden,
  };
}

/** A file that cannot be parsed does not tell its kinds: then the word alone counts. */
export function mayHoldSecret(text: string): boolean {
  return /secret|stringData/i.test(text);
}

interface Trees {
  trees: Tree[];
  problems: SyntaxProblem[];
  text: string;
}

function jsonTrees(text: string): Trees {
  try {
    return { trees: [parseJson(text)], problems: [], text };
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    return { trees: [], problems: [error], text };
  }
}

function yamlTrees(text: string): Trees {
  const result = parseYaml(text);
  return { ...result, trees: result.documents.flatMap(({ tree }) => tree ?? []) };
}

function problemAt(lines: Lines, message: string, at: number): Problem {
  return { path: '', ...lines.position(at), message, stage: 'parse' };
}
