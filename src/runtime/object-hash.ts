/**
 * Owns: what a container remembers of the ConfigMaps and Secrets that it was created with, so that a
 * later look, also by another run of the agent, tells which of them changed. Pure.
 * Invariants: a keyed hash, because the runtime shows annotations to everybody who may ask it; an object
 * that is missing now, a key that was lost and a container without a memory are never a change.
 */
import type { ConfigMap, ConfigObjects, Secret } from '../api/config-object.ts';
import { objectOf, objectText } from '../api/config-object.ts';
import type { Container, Pod } from '../api/pod.ts';
import { allContainers } from '../api/pod.ts';
import { Annotation } from '../api/reasons.ts';
import { containerReferences } from '../manifest/config-references.ts';
import type { HashKey } from '../store/hash-key.ts';

/** By container name, then by object (`ConfigMap default/greeting`): hash of what it is now. */
export interface ObjectHashes {
  readonly keyId: string;
  readonly containers: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** Of an object that is missing. */
const ABSENT = '';

/** undefined: the pod does not ask for restarts on change. */
export function objectHashes(
  pod: Pod,
  objects: ConfigObjects,
  key: HashKey,
): ObjectHashes | undefined {
  if (pod.metadata.annotations?.[Annotation.restartOnChange] !== 'true') return undefined;
  const all = allContainers(pod);
  const containers = all.map((container): [string, Map<string, string>] => [
    container.name,
    hashesOf(pod, container, objects, key),
  ]);
  return { keyId: key.id, containers: new Map(containers) };
}

/** The text of the annotation; undefined for a container that refers to nothing. */
export function objectsAnnotation(hashes: ObjectHashes, container: string): string | undefined {
  const own = hashes.containers.get(container);
  if (!own || own.size === 0) return undefined;
  return JSON.stringify({ key: hashes.keyId, objects: Object.fromEntries(own) });
}

/** The first object that is not what it was when the container was created. */
export function changedObject(
  hashes: ObjectHashes | undefined,
  container: { readonly name: string; readonly annotations: Readonly<Record<string, string>> },
): string | undefined {
  const kept = hashes && parse(container.annotations[Annotation.configObjects]);
  if (!kept || kept.key !== hashes.keyId) return undefined;
  const own = hashes.containers.get(container.name) ?? new Map<string, string>();
  for (const [text, hash] of own) {
    const before = kept.objects[text];
    if (hash !== ABSENT && before !== undefined && before !== hash) return text;
  }
  return undefined;
}

function hashesOf(
  pod: Pod,
  container: Container,
  objects: ConfigObjects,
  key: HashKey,
): Map<string, string> {
  const hashes = new Map<string, string>();
  for (const reference of containerReferences(pod, container)) {
    const object = objectOf(objects, reference);
    hashes.set(objectText(reference), object ? hashOf(object, key) : ABSENT);
  }
  return hashes;
}

/** 16 hex digits over all keys and values, whatever their order in the file. */
function hashOf(object: ConfigMap | Secret, key: HashKey): string {
  const binary = 'binaryData' in object ? object.binaryData : new Map<string, Uint8Array>();
  const parts = [object.data, binary].map((values: ReadonlyMap<string, string | Uint8Array>) =>
    [...values]
      .map(([name, value]) => [name, Buffer.from(value).toString('base64')] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  return key.hash(JSON.stringify(parts)).slice(0, 16);
}

function parse(
  text: string | undefined,
): { key: string; objects: Record<string, string> } | undefined {
  try {
    const value = JSON.parse(text ?? 'null') as { key?: unknown; objects?: unknown } | null;
    if (typeof value?.key !== 'string' || typeof value.objects !== 'object') return undefined;
    return { key: value.key, objects: { ...(value.objects as Record<string, string>) } };
  } catch {
    return undefined;
  }
}
