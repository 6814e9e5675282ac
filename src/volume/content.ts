/**
 * Owns: which files the agent writes into a configMap, secret, downwardAPI or projected volume (spec:
 * volumes.md §5). Pure.
 * Invariants: every fault of a volume is named at once, in the kubelet's words; a message names objects
 * and keys, never a value.
 * Unlike the kubelet: a projected volume needs no API server.
 * Leaves to others: where objects come from, fields of the pod (downward-volume.ts), writing.
 */
import type { AllocatableFacts } from '../api/downward.ts';
import type { ConfigMap, ConfigObjects, Secret } from '../api/config-object.ts';
import type { Pod } from '../api/pod.ts';
import type { KeyToPath, ProjectedSourceItem, Volume } from '../api/volume.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import type { VolumeFile } from './atomic-writer.ts';
import { downwardFiles } from './downward-volume.ts';
import type { VolumePlugin } from './paths.ts';
import { volumeError } from './volume-error.ts';

export type ContentKind = 'configMap' | 'secret' | 'downwardAPI' | 'projected';

export const CONTENT_PLUGIN: Readonly<Record<ContentKind, VolumePlugin>> = {
  configMap: 'configmap',
  secret: 'secret',
  downwardAPI: 'downward-api',
  projected: 'projected',
};

/** ConfigMaps are no secret; everything else stays off the disk. */
export const CONTENT_MEDIUM: Readonly<Record<ContentKind, '' | 'Memory'>> = {
  configMap: '',
  secret: 'Memory',
  downwardAPI: 'Memory',
  projected: 'Memory',
};

/** undefined for a volume whose content is not the agent's. */
export function contentKind(volume: Volume): ContentKind | undefined {
  const kinds = Object.keys(CONTENT_PLUGIN) as ContentKind[];
  return kinds.find((kind) => volume[kind] !== undefined);
}

export interface ContentInput {
  readonly pod: Pod;
  readonly volume: Volume;
  readonly objects: ConfigObjects;
  readonly allocatable: AllocatableFacts;
}

type Files = Map<string, VolumeFile>;
type Fail = (error: unknown) => void;
/** What configMap and secret sources have in common. */
interface ObjectSource {
  readonly name?: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

const DEFAULT_MODE = 0o644;

/** By path. Throws one IsletError that names everything that is missing. */
export function contentFiles(input: ContentInput): Files {
  const { configMap, secret, downwardAPI, projected } = input.volume;
  const given = configMap ?? secret ?? downwardAPI ?? projected;
  const defaultMode = given?.defaultMode ?? DEFAULT_MODE;
  const files: Files = new Map();
  const errors: IsletError[] = [];
  const fail: Fail = (error) => void errors.push(volumeError('', error));
  for (const source of sourcesOf(input.volume)) {
    // A later source writes over an earlier one.
    for (const [path, file] of sourceFiles(input, source, defaultMode, fail)) files.set(path, file);
  }
  if (errors.length > 0) throw aggregate(errors);
  return files;
}

/** The objects that a volume is made of, in order; undefined: there is none of that name. */
export function contentObjects(
  pod: Pod,
  volume: Volume,
  objects: ConfigObjects,
): (ConfigMap | Secret | undefined)[] {
  const { namespace } = pod.metadata;
  return sourcesOf(volume).flatMap(({ configMap, secret }) => [
    ...(configMap ? [objects.configMap(namespace, configMap.name ?? '')] : []),
    ...(secret ? [objects.secret(namespace, secret.name ?? '')] : []),
  ]);
}

/** Each kind of volume as what a projected volume has many of. */
function sourcesOf({
  configMap,
  secret,
  downwardAPI,
  projected,
}: Volume): readonly ProjectedSourceItem[] {
  if (projected) return projected.sources ?? [];
  if (configMap) return [{ configMap }];
  if (secret) return [{ secret: { ...secret, name: secret.secretName ?? '' } }];
  return downwardAPI ? [{ downwardAPI }] : [];
}

function sourceFiles(
  { pod, objects, allocatable }: ContentInput,
  source: ProjectedSourceItem,
  defaultMode: number,
  fail: Fail,
): Files {
  const { namespace } = pod.metadata;
  const { configMap, secret, downwardAPI } = source;
  if (configMap) {
    const found = objects.configMap(namespace, configMap.name ?? '');
    const keys =
      found && new Map<string, string | Uint8Array>([...found.data, ...found.binaryData]);
    return objectFiles('configmap', configMap, keys, defaultMode, fail);
  }
  if (secret) {
    const found = objects.secret(namespace, secret.name ?? '');
    return objectFiles('secret', secret, found?.data, defaultMode, fail);
  }
  if (downwardAPI) return downwardFiles(pod, { ...downwardAPI, defaultMode }, allocatable, fail);
  const [kind] = Object.keys(source);
  if (kind !== undefined) {
    const text = `${kind} in a projected volume needs an API server, which islet does without`;
    fail(new IsletError('unimplemented', text));
  }
  return new Map();
}

const MISSING_KEY = {
  configmap: 'configmap references non-existent config key',
  secret: 'references non-existent secret key',
};

function objectFiles(
  kind: 'configmap' | 'secret',
  source: ObjectSource,
  keys: ReadonlyMap<string, string | Uint8Array> | undefined,
  defaultMode: number,
  fail: Fail,
): Files {
  const files: Files = new Map();
  if (keys === undefined && source.optional !== true) {
    fail(new IsletError('not-found', `${kind} "${source.name ?? ''}" not found`));
    return files;
  }
  if (source.items === undefined || source.items.length === 0) {
    for (const [key, content] of keys ?? []) files.set(key, { content, mode: defaultMode });
    return files;
  }
  for (const { key, path, mode } of source.items) {
    const content = keys?.get(key);
    if (content !== undefined) files.set(path, { content, mode: mode ?? defaultMode });
    else if (source.optional !== true) {
      fail(new IsletError('not-found', `${MISSING_KEY[kind]}: ${key}`));
    }
  }
  return files;
}

/** One message for all, as upstream writes a list of errors; the first one's code. */
function aggregate(errors: readonly IsletError[]): IsletError {
  const [first] = errors;
  const texts = [...new Set(errors.map(messageOf))];
  const text = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  return new IsletError(first?.code ?? 'failed', text, { cause: first });
}
