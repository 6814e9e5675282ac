/**
 * Owns: the ConfigMaps and Secrets of the accepted files, decoded once, by kind, namespace and name.
 * Invariants: an object stays the same one for as long as its content does, whichever file it is in and
 * however often that is rewritten; an immutable object keeps its content while it exists in any file.
 * As in the kubelet, that memory ends with the agent: the next one takes what the files say then.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigMap, ConfigObjectKey, ConfigObjects, Secret } from '../api/config-object.ts';
import { objectText } from '../api/config-object.ts';
import type { ConfigDocument } from './candidate.ts';
import { documentKey } from './candidate.ts';
import { decodeConfigMap, decodeSecret } from './object.ts';

/** One file, as far as its objects go. */
export interface ObjectFile {
  readonly file: string;
  readonly held: { readonly objects: readonly ConfigDocument[] } | undefined;
}

export interface BookChange {
  /** New, changed and gone. */
  readonly changed: readonly ConfigObjectKey[];
  /** By file: what is to be said about its objects, with their lines. */
  readonly notes: ReadonlyMap<string, readonly string[]>;
}

interface Kept {
  readonly key: ConfigObjectKey;
  /** What the file says. */
  readonly document: ConfigDocument;
  /** What is in use; of an earlier document when that one was immutable. */
  readonly object: ConfigMap | Secret;
  readonly refused: boolean;
}

export class ObjectBook implements ConfigObjects {
  #configMaps = new Map<string, ConfigMap>();
  #secrets = new Map<string, Secret>();
  #kept = new Map<string, Kept>();

  configMap(namespace: string, name: string): ConfigMap | undefined {
    return this.#configMaps.get(`${namespace}/${name}`);
  }

  secret(namespace: string, name: string): Secret | undefined {
    return this.#secrets.get(`${namespace}/${name}`);
  }

  /** Takes the full set of files; no two of them have an object of the same name. */
  replace(files: Iterable<ObjectFile>): BookChange {
    const before = this.#kept;
    const changed: ConfigObjectKey[] = [];
    const notes = new Map<string, string[]>();
    this.#kept = new Map();
    this.#configMaps = new Map();
    this.#secrets = new Map();
    for (const { file, held } of files) {
      for (const document of held?.objects ?? []) {
        const text = objectText(documentKey(document));
        const old = before.get(text);
        const kept = this.#keep(document, old);
        this.#kept.set(text, kept);
        if (kept.object !== old?.object) changed.push(kept.key);
        if (!kept.refused) continue;
        const note = `${file}:${document.line}: ${text} is immutable: its change has no effect until it was removed and added again`;
        notes.set(file, [...(notes.get(file) ?? []), note]);
      }
    }
    for (const [text, { key }] of before) if (!this.#kept.has(text)) changed.push(key);
    return { changed, notes };
  }

  #keep(document: ConfigDocument, old: Kept | undefined): Kept {
    const key = documentKey(document);
    const kept = old?.document === document ? old : successor(key, document, old);
    const at = `${key.namespace}/${key.name}`;
    if (document.kind === 'Secret') this.#secrets.set(at, kept.object as Secret);
    else this.#configMaps.set(at, kept.object as ConfigMap);
    return kept;
  }
}

function successor(key: ConfigObjectKey, document: ConfigDocument, old: Kept | undefined): Kept {
  const fresh =
    document.kind === 'Secret' ? decodeSecret(document.object) : decodeConfigMap(document.object);
  if (!old) return { key, document, object: fresh, refused: false };
  const same = isDeepStrictEqual(old.object, fresh);
  const refused = old.object.immutable && !same;
  return { key, document, object: same || refused ? old.object : fresh, refused };
}
