/**
 * Owns: one volume in `describe pod`. Pure. Sources that islet sets up are shown in full, others by name.
 */
import type { ProjectedSourceItem, Volume } from '../api/volume.ts';
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
      ['Optional', String(configMap.optional ?? false)],
    ];
  }
  if (secret) {
    return [
      'Secret (a volume populated by a Secret)',
      ['SecretName', secret.secretName ?? ''],
      ['Optional', String(secret.optional ?? false)],
    ];
  }
  if (downwardAPI) {
    const items = (downwardAPI.items ?? []).map(
      (item) =>
        `${item.fieldRef?.fieldPath ?? item.resourceFieldRef?.resource ?? ''} -> ${item.path}`,
    );
    return [
      'DownwardAPI (a volume populated by information about the pod)',
      ['Items', items.join(', ')],
    ];
  }
  if (projected) {
    const sources = (projected.sources ?? []).map(projectedSource);
    return ['Projected (a volume that contains injected data from multiple sources)', ...sources];
  }
  if (image) {
    return [
      'Image (a container image or OCI artifact)',
      ['Reference', image.reference ?? ''],
      ['PullPolicy', image.pullPolicy ?? ''],
    ];
  }
  return [Object.keys(volume).find((key) => key !== 'name') ?? '<unknown>'];
}

function projectedSource(item: ProjectedSourceItem): Detail {
  if (item.secret) return ['SecretName', item.secret.name ?? ''];
  if (item.configMap) return ['ConfigMapName', item.configMap.name ?? ''];
  if (item.downwardAPI) return ['DownwardAPI', 'true'];
  return [Object.keys(item)[0] ?? '<unknown>', 'true'];
}
