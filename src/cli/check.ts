/**
 * Owns: `islet check FILE…`, the verdict on manifests without an agent. Text for people
 * (`file:line: field: message`), or one JSON object a file. Imports nothing but manifest/ and api/, so that
 * it starts fast. Secret values are in neither output.
 */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Pod } from '../api/pod.ts';
import { loadManifest } from '../manifest/load.ts';
import type { LoadedDocument, LoadedFile, Problem } from '../manifest/model.ts';
import { problemText } from '../manifest/model.ts';
import { readWhole } from '../manifest/read-whole.ts';
import { modeWarnings } from '../manifest/secret-file.ts';
import { messageOf } from '../util/errors.ts';

export interface Output {
  write(text: string): unknown;
}

export interface CheckOptions {
  output: 'text' | 'json';
  nodeName: string;
  stdout: Output;
  stderr: Output;
}

/** Exit status: 0 all files are accepted (warnings do not count), 1 a file is rejected or unreadable. */
export function runCheck(files: string[], options: CheckOptions): number {
  let status = 0;
  for (const file of files) {
    const loaded = checkFile(file, options.nodeName);
    if (loaded.errors.length > 0) status = 1;
    if (options.output === 'json') options.stdout.write(jsonVerdict(file, loaded));
    else writeText(file, loaded, options);
  }
  return status;
}

function checkFile(file: string, nodeName: string): LoadedFile {
  let content: Uint8Array;
  let mode: number | undefined;
  try {
    content = readWhole(file);
    const stats = statSync(file);
    if (stats.isFile()) mode = stats.mode & 0o777;
  } catch (error) {
    const message = `cannot be read: ${messageOf(error)}`;
    return {
      documents: [],
      errors: [{ path: '', line: 0, message, stage: 'parse' }],
      warnings: [],
    };
  }
  const loaded = loadManifest(content, { path: resolve(file), nodeName });
  const others = modeWarnings(mode, loaded.documents);
  return { ...loaded, warnings: [...loaded.warnings, ...others] };
}

function writeText(file: string, loaded: LoadedFile, { stdout, stderr }: CheckOptions): void {
  for (const problem of loaded.errors) stderr.write(`${problemText(problem, file)}\n`);
  for (const problem of loaded.warnings) {
    stderr.write(`${problemText({ ...problem, message: `warning: ${problem.message}` }, file)}\n`);
  }
  for (const document of loaded.documents) {
    const { namespace, name } =
      document.kind === 'Pod' ? document.pod.metadata : document.object.metadata;
    stdout.write(`${file}:${document.line}: ${document.kind} ${namespace}/${name} accepted\n`);
  }
}

function jsonVerdict(file: string, loaded: LoadedFile): string {
  const { documents, errors, warnings } = loaded;
  const first = errors[0];
  const verdict = {
    file,
    result: first ? 'rejected' : 'accepted',
    // The corpus has no stage of its own for what is not even YAML or JSON.
    stage: first?.stage === 'parse' ? 'decode' : first?.stage,
    error: first ? errors.map((problem) => problemText(problem, file)).join('; ') : undefined,
    errors: errors.map(problemView),
    warnings: warnings.map((problem) => problemText(problem, file)),
    pods: documents.flatMap(podView),
    objects: documents.flatMap(objectView),
  };
  return `${JSON.stringify(verdict)}\n`;
}

function problemView({ path, line, column, message }: Problem): Omit<Problem, 'stage'> {
  return { path, line, ...(column === undefined ? {} : { column }), message };
}

/** Without type, as the upstream's own decoded objects are. */
function podView(document: LoadedDocument): Partial<Pod>[] {
  if (document.kind !== 'Pod') return [];
  const { metadata, spec, status } = document.pod;
  return [{ metadata, spec, status }];
}

/** Names and keys only: a Secret's values are nobody's business here. */
function objectView(document: LoadedDocument): Record<string, unknown>[] {
  if (document.kind === 'Pod') return [];
  const { object } = document;
  const more = object.kind === 'Secret' ? object.stringData : object.binaryData;
  const keys = [...Object.keys(object.data ?? {}), ...Object.keys(more ?? {})];
  const { annotations, ...metadata } = object.metadata;
  // A tool may have left the whole object in an annotation.
  const shown = object.kind === 'Secret' ? metadata : { ...metadata, annotations };
  return [{ kind: object.kind, metadata: shown, keys: [...new Set(keys)].sort() }];
}
