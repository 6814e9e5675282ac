/**
 * Owns: what a manifest file turns into: documents, errors and warnings, each with its place in the
 * file. Invariant: a file with an error has no documents that count: never half a file.
 * Leaves to others: reading files and keeping the last good one (the file source), printing (cli/).
 */
import type { Pod } from '../api/pod.ts';

/** Where in the pipeline a problem was found; the names are those of the corpus. */
export type Stage = 'parse' | 'decode' | 'validate' | 'api-reference';

export interface Problem {
  /** Field path such as `spec.containers[0].image`; '' when it is about the whole document. */
  path: string;
  /** 1-based line in the file. */
  line: number;
  /** 1-based column in the file, where known. */
  column?: number;
  message: string;
  stage: Stage;
}

export interface PodDocument {
  kind: 'Pod';
  /** Decoded, defaulted, with identity (uid, name suffix, annotations); not yet `config.seen`. */
  pod: Pod;
  warnings: Problem[];
  /** 1-based line on which the document starts. */
  line: number;
}

export interface ObjectMetaLite {
  name: string;
  namespace: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface ConfigMapObject {
  apiVersion: 'v1';
  kind: 'ConfigMap';
  metadata: ObjectMetaLite;
  data?: Record<string, string>;
  /** Base64, as written. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

export interface SecretObject {
  apiVersion: 'v1';
  kind: 'Secret';
  metadata: ObjectMetaLite;
  type?: string;
  /** Base64, as written. */
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  immutable?: boolean;
}

export interface ConfigMapDocument {
  kind: 'ConfigMap';
  object: ConfigMapObject;
  line: number;
}

export interface SecretDocument {
  kind: 'Secret';
  object: SecretObject;
  line: number;
}

export type LoadedDocument = PodDocument | ConfigMapDocument | SecretDocument;

export interface LoadedFile {
  /** Empty when there is any error. */
  documents: LoadedDocument[];
  errors: Problem[];
  /** All warnings of the file, those of its documents included. */
  warnings: Problem[];
}

/** As in the KubeletConfiguration; a gate that is not named has its default. */
export type FeatureGates = Readonly<Record<string, boolean>>;

export interface LoadOptions {
  /** Absolute path; part of the uid of each pod. */
  path: string;
  nodeName: string;
  /** Default: all as they are by default. */
  featureGates?: FeatureGates;
}

/** `file:line: field: message`, the form of a problem on one line; line 0 is none. */
export function problemText(problem: Problem, file: string): string {
  const field = problem.path === '' ? '' : `${problem.path}: `;
  const line = problem.line === 0 ? '' : `:${problem.line}`;
  return `${file}${line}: ${field}${problem.message}`;
}
