/**
 * Owns: which ConfigMaps and Secrets a pod, or one container of it, refers to. Pure.
 * A volume counts for the containers that mount it; one that nobody mounts is never set up.
 */
import type { ConfigObjectKey, ConfigObjects } from '../api/config-object.ts';
import { objectOf, objectText } from '../api/config-object.ts';
import type { Container, Pod } from '../api/pod.ts';
import { allContainers } from '../api/pod.ts';
import type { ApiReference, ReferenceUse } from './references.ts';
import { apiReferences } from './references.ts';

export interface ConfigReference extends ConfigObjectKey {
  readonly use: ReferenceUse;
  /** Nothing waits for it. */
  readonly optional: boolean;
}

/** Each once for every use; one that is optional in one place and needed in another is needed. */
export function configReferences(pod: Pod): ConfigReference[] {
  const all = allContainers(pod);
  const pulls = named(pod, [], pod.spec.imagePullSecrets ?? []);
  return distinct([...pulls, ...all.flatMap((container) => containerReferences(pod, container))]);
}

export function containerReferences(pod: Pod, container: Container): ConfigReference[] {
  return distinct(named(pod, [container], []));
}

/** Objects that the pod needs and nobody provides. */
export function missingObjects(
  references: readonly ConfigReference[],
  objects: ConfigObjects,
): ConfigObjectKey[] {
  const missing = references.filter((one) => !one.optional && !objectOf(objects, one));
  return [...new Map(missing.map((one) => [objectText(one), one])).values()];
}

/** What upstream would find in a pod of only these containers. */
function named(
  pod: Pod,
  containers: Container[],
  imagePullSecrets: { name?: string }[],
): ConfigReference[] {
  const mounted = new Set(
    containers.flatMap((c) => (c.volumeMounts ?? []).map(({ name }) => name)),
  );
  const volumes = (pod.spec.volumes ?? []).filter(({ name }) => mounted.has(name));
  const spec = { ...pod.spec, initContainers: [] };
  const part = { ...pod, spec: { ...spec, containers, imagePullSecrets, volumes } };
  const { namespace } = pod.metadata;
  return apiReferences(part).flatMap((reference) => toReference(reference, namespace));
}

function toReference(reference: ApiReference, namespace: string): ConfigReference[] {
  const { resource, name, use, optional = false } = reference;
  if (use === undefined || name === undefined) return [];
  const kind = resource === 'secrets' ? 'Secret' : 'ConfigMap';
  return [{ kind, namespace, name, use, optional }];
}

function distinct(references: readonly ConfigReference[]): ConfigReference[] {
  const found = new Map<string, ConfigReference>();
  for (const reference of references) {
    const key = `${reference.use} ${objectText(reference)}`;
    if (!found.has(key) || !reference.optional) found.set(key, reference);
  }
  return [...found.values()];
}
