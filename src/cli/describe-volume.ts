/**
 * Owns: one volume in `describe pod`. Pure. Sources that islet sets up are shown in full, others by name.
 */
import type { DownwardApiFile, KeyToPath, ProjectedSourceItem, Volume } from '../api/volume.ts';
import type { Entry } from './outline.ts';

export function volumeEntry(volume: Volume): Entry {
  const [type, ...details] = source(volume);
  return {
    name: volume.name,
    parts: [{ name: 'Type', value: type }, ...details.map(([name, value]) => ({ name, value }))],
  };
}

type Detail = readonly [name: string, value: string];

function source(volume: Volume): [string, ...Detail[]] {
  const { emptyDir, hostPath, configMap, secret, downwardAPI, projected, image } = volume;
  const { persistentVolumeClaim: claim } = volume;
  if (emptyDir) {
    return [
      "EmptyDir (a temporary directory that shares a pod's lifetime)",
      ['Medium', emptyDir.medium ?? ''],
      ['SizeLimit', emptyDir.sizeLimit ?? '<unset>'],
    ];
  }
  if (hostPath) {
    return [
      'HostPath (bare host directory volume)',
      ['Path', hostPath.path],
      ['HostPathType', hostPath.type ?? ''],
    ];
  }
  if (configMap) {
    return [
      'ConfigMap (a volume populated by a ConfigMap)',
      ['Name', configMap.name ?? ''],
      ...keys(configMap.items),
      ['Optional', String(configMap.optional ?? false)],
    ];
  }
  if (secret) {
    return [
      'Secret (a volume populated by a Secret)',
      ['SecretName', secret.secretName ?? ''],
      ...keys(secret.items),
      ['Optional', String(secret.optional ?? false)],
    ];
  }
  if (downwardAPI) {
    return [
      'DownwardAPI (a volume populated by information about the pod)',
      ['Items', fields(downwardAPI.items)],
    ];
  }
  if (projected) {
    const sources = (projected.sources ?? []).flatMap(projectedSource);
    return ['Projected (a volume that contains injected data from multiple sources)', ...sources];
  }
  if (image) {
    return [
      'Image (a container image or OCI artifact)',
      ['Reference', image.reference ?? ''],
      ['PullPolicy', image.pullPolicy ?? ''],
    ];
  }
  if (claim) {
    return [
      'PersistentVolumeClaim (a directory or device of this node)',
      ['ClaimName', claim.claimName],
      ['ReadOnly', String(claim.readOnly ?? false)],
    ];
  }
  const kind = Object.keys(volume).find((key) => key !== 'name');
  // A volume without a source is an emptyDir.
  return kind === undefined ? source({ name: volume.name, emptyDir: {} }) : [kind];
}

function projectedSource({
  secret,
  configMap,
  downwardAPI,
  ...others
}: ProjectedSourceItem): Detail[] {
  if (secret) return [['SecretName', named(secret)], ...keys(secret.items)];
  if (configMap) return [['ConfigMapName', named(configMap)], ...keys(configMap.items)];
  if (downwardAPI) return [['DownwardAPI', fields(downwardAPI.items)]];
  return [[Object.keys(others)[0] ?? '<unknown>', 'true']];
}

function named({ name = '', optional }: { name?: string; optional?: boolean }): string {
  return optional === true ? `${name} (optional)` : name;
}

/** Only where not all keys become files of their own name. */
function keys(items: readonly KeyToPath[] = []): Detail[] {
  if (items.length === 0) return [];
  return [['Items', items.map(({ key, path }) => `${key} -> ${path}`).join(', ')]];
}

function fields(items: readonly DownwardApiFile[] = []): string {
  return items
    .map(({ path, fieldRef, resourceFieldRef }) => {
      const of = resourceFieldRef?.containerName;
      const resource = `${of === undefined ? '' : `${of}: `}${resourceFieldRef?.resource ?? ''}`;
      return `${fieldRef?.fieldPath ?? resource} -> ${path}`;
    })
    .join(', ');
}
