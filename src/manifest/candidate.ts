/**
 * Owns: what the content of one file amounts to: something that may be taken, or the reasons why not.
 * Rules: a file counts whole or not at all; content without any document is refused, so that emptying
 * a file or commenting it out never removes a pod: only deleting the file does.
 */
import type { ConfigObjectKey } from '../api/config-object.ts';
import { objectText } from '../api/config-object.ts';
import type { Pod } from '../api/pod.ts';
import { messageOf } from '../util/errors.ts';
import {
  type LoadOptions,
  type LoadedDocument,
  type LoadedFile,
  type SecretDocument,
  problemText,
} from './model.ts';
import { withoutPastLife } from './past-life.ts';

/** `loadManifest` of load.ts. */
export type Load = (content: Uint8Array, options: LoadOptions) => LoadedFile;

export interface CandidatePod {
  readonly pod: Pod;
  readonly warnings: readonly string[];
}

/** A document that is not a pod: what pods of this node may refer to. */
export type ConfigDocument = Exclude<LoadedDocument, { kind: 'Pod' }>;

export type Candidate =
  | {
      readonly kind: 'valid';
      readonly digest: string;
      /** Kept until the candidate is taken. */
      content: Uint8Array | undefined;
      readonly pods: readonly CandidatePod[];
      readonly objects: readonly ConfigDocument[];
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: 'invalid';
      readonly digest: string;
      readonly messages: readonly string[];
      readonly warnings: readonly string[];
    };

export interface FileContent {
  readonly file: string;
  readonly digest: string;
  readonly content: Uint8Array;
}

/** Never throws. */
export function toCandidate(load: Load, nodeName: string, source: FileContent): Candidate {
  const { file, digest, content } = source;
  const invalid = (messages: string[], warnings: string[] = []): Candidate => ({
    ...{ kind: 'invalid', digest, messages, warnings },
  });
  let loaded: LoadedFile;
  try {
    loaded = load(content, { path: file, nodeName });
  } catch (error) {
    return invalid([`${file}: ${messageOf(error)}`]);
  }
  const warnings = loaded.warnings.map((problem) => problemText(problem, file));
  if (loaded.errors.length > 0) {
    return invalid(
      loaded.errors.map((problem) => problemText(problem, file)),
      warnings,
    );
  }
  if (loaded.documents.length === 0) {
    return invalid([`${file}: no document in it; delete the file to remove its pod`]);
  }
  const twice = podTwice(file, loaded.documents);
  if (twice !== undefined) return invalid([twice], warnings);
  const pods: CandidatePod[] = [];
  const objects: ConfigDocument[] = [];
  for (const document of loaded.documents) {
    if (document.kind !== 'Pod') objects.push(document);
    else {
      const own = document.warnings.map((problem) => problemText(problem, file));
      pods.push({ pod: withoutPastLife(document.pod), warnings: own });
    }
  }
  return { kind: 'valid', digest, content, pods, objects, warnings };
}

/** What a file provides, or wants to. */
export interface Provided {
  readonly pods: readonly CandidatePod[];
  readonly objects: readonly ConfigDocument[];
  /** Secrets that it provided in an earlier run of the agent, whose values are not known any more. */
  readonly withheld?: readonly SecretDocument[];
}

/**
 * What only one file may provide: the full name of a pod and its uid, which a manifest may set itself,
 * and the names of ConfigMaps and Secrets.
 */
export function claimKeys({ pods, objects, withheld = [] }: Provided): string[] {
  return [
    ...pods.flatMap(({ pod }) => keysOfPod(pod)),
    ...[...objects, ...withheld].map(documentText),
  ];
}

export function documentKey({ kind, object }: ConfigDocument): ConfigObjectKey {
  const { namespace, name } = object.metadata;
  return { kind, namespace, name };
}

/** `Secret default/creds`. */
export function documentText(document: ConfigDocument): string {
  return objectText(documentKey(document));
}

/** `namespace/name`. */
export function podName(pod: Pod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

function keysOfPod(pod: Pod): string[] {
  return [`pod ${podName(pod)}`, `uid ${pod.metadata.uid}`];
}

function podTwice(file: string, documents: readonly LoadedDocument[]): string | undefined {
  const lines = new Map<string, number>();
  for (const document of documents) {
    if (document.kind !== 'Pod') continue;
    for (const key of keysOfPod(document.pod)) {
      const line = lines.get(key);
      if (line !== undefined) {
        return `${file}:${document.line}: ${key} is in this file already, on line ${line}`;
      }
      lines.set(key, document.line);
    }
  }
  return undefined;
}
