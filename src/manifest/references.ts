/**
 * Owns: which API objects a pod refers to (spec static-pods §3.4), in the order in which upstream
 * looks, and which of them a static pod may not.
 * Unlike the kubelet: ConfigMaps and Secrets are allowed, because islet reads them from files, and
 * PersistentVolumeClaims, which are directories; who needs them finds them listed here.
 */
import type { Container, Pod } from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';

export type ReferenceUse = 'env' | 'volume' | 'pull';

export interface ApiReference {
  /** Upstream's word, e.g. `secrets` or `csidrivers (via CSI volumes)`. */
  resource: string;
  /** Field path of the reference. */
  path: string;
  /** Name of the object, where the reference has one. */
  name?: string;
  /** Of a ConfigMap or Secret that is allowed: what it is for, and whether the pod does without. */
  use?: ReferenceUse;
  optional?: boolean;
  /** False when nothing but an API server could provide it. */
  allowed: boolean;
}

/** All references of a pod; the first that is not allowed is what upstream would complain about. */
export function apiReferences(pod: Pod): ApiReference[] {
  const { spec } = pod;
  const account: ApiReference[] = spec.serviceAccountName
    ? [refused('serviceaccounts', 'spec.serviceAccountName', spec.serviceAccountName)]
    : [];
  const volumes = (spec.volumes ?? []).map((volume, index) => ({
    volume,
    path: `spec.volumes[${index}]`,
  }));
  const claims = (spec.resourceClaims ?? []).length > 0;
  return [
    ...account,
    ...secrets(pod),
    ...volumes.flatMap(({ volume, path }) => volumeSecrets(volume, path)),
    ...configMaps(pod),
    ...volumes.flatMap(({ volume, path }) => volumeConfigMaps(volume, path)),
    ...(claims ? [refused('resourceclaims', 'spec.resourceClaims')] : []),
    ...volumes.flatMap(({ volume, path }) => volumeReferences(volume, path)),
  ];
}

function secrets(pod: Pod): ApiReference[] {
  // An image may be had without them: upstream warns and goes on.
  const pull = (pod.spec.imagePullSecrets ?? []).map((reference, index) =>
    fromFile('secrets', 'pull', `spec.imagePullSecrets[${index}]`, {
      ...reference,
      optional: true,
    }),
  );
  const env = eachContainer(pod, (container, path) => [
    ...(container.env ?? []).map(({ valueFrom }, index) => ({
      reference: valueFrom?.secretKeyRef,
      path: `${path}.env[${index}].valueFrom.secretKeyRef`,
    })),
    ...(container.envFrom ?? []).map(({ secretRef }, index) => ({
      reference: secretRef,
      path: `${path}.envFrom[${index}].secretRef`,
    })),
  ]).map(({ reference, path }) => fromFile('secrets', 'env', path, reference));
  return [...pull, ...env];
}

function configMaps(pod: Pod): ApiReference[] {
  return eachContainer(pod, (container, path) => [
    ...(container.env ?? []).map(({ valueFrom }, index) => ({
      reference: valueFrom?.configMapKeyRef,
      path: `${path}.env[${index}].valueFrom.configMapKeyRef`,
    })),
    ...(container.envFrom ?? []).map(({ configMapRef }, index) => ({
      reference: configMapRef,
      path: `${path}.envFrom[${index}].configMapRef`,
    })),
  ]).map(({ reference, path }) => fromFile('configmaps', 'env', path, reference));
}

interface Reference {
  name?: string;
  optional?: boolean;
}

interface Found {
  reference: Reference;
  path: string;
}

function eachContainer(
  pod: Pod,
  find: (container: Container, path: string) => { reference?: Reference; path: string }[],
): Found[] {
  const { spec } = pod;
  const lists = { initContainers: spec.initContainers, containers: spec.containers };
  return Object.entries(lists)
    .flatMap(([list, containers]) =>
      (containers ?? []).flatMap((container, index) => find(container, `spec.${list}[${index}]`)),
    )
    .flatMap(({ reference, path }) => (reference ? [{ reference, path }] : []));
}

function volumeSecrets(volume: Volume, path: string): ApiReference[] {
  const found: ApiReference[] = [];
  if (volume.secret) {
    const { secretName: name, optional } = volume.secret;
    const reference = { ...(name && { name }), ...(optional && { optional }) };
    found.push(fromFile('secrets', 'volume', `${path}.secret`, reference));
  }
  for (const [index, source] of (volume.projected?.sources ?? []).entries()) {
    const at = `${path}.projected.sources[${index}].secret`;
    if (source.secret) found.push(fromFile('secrets', 'volume', at, source.secret));
  }
  // A storage driver that needs a Secret needs more than islet has.
  for (const kind of [
    'cephfs',
    'cinder',
    'flexVolume',
    'rbd',
    'scaleIO',
    'iscsi',
    'storageos',
  ] as const) {
    const reference = volume[kind]?.secretRef as { name?: string } | undefined;
    if (reference) found.push(refused('secrets', `${path}.${kind}.secretRef`, reference.name));
  }
  if (volume.azureFile) found.push(refused('secrets', `${path}.azureFile`));
  return found;
}

function volumeConfigMaps(volume: Volume, path: string): ApiReference[] {
  const found: ApiReference[] = [];
  if (volume.configMap) {
    found.push(fromFile('configmaps', 'volume', `${path}.configMap`, volume.configMap));
  }
  for (const [index, source] of (volume.projected?.sources ?? []).entries()) {
    const at = `${path}.projected.sources[${index}].configMap`;
    if (source.configMap) found.push(fromFile('configmaps', 'volume', at, source.configMap));
  }
  return found;
}

function volumeReferences(volume: Volume, path: string): ApiReference[] {
  const { csi, glusterfs, persistentVolumeClaim: claim, ephemeral } = volume;
  const found: ApiReference[] = [];
  if (csi) found.push(refused('csidrivers (via CSI volumes)', `${path}.csi`));
  if (glusterfs) found.push(refused('endpoints (via glusterFS volumes)', `${path}.glusterfs`));
  if (claim) {
    const at = `${path}.persistentVolumeClaim`;
    const name = claim.claimName;
    found.push({ resource: 'persistentvolumeclaims', path: at, name, allowed: true });
  }
  if (ephemeral) {
    found.push(refused('persistentvolumeclaims (via ephemeral volumes)', `${path}.ephemeral`));
  }
  for (const [index, source] of (volume.projected?.sources ?? []).entries()) {
    const at = `${path}.projected.sources[${index}]`;
    if (source.serviceAccountToken) {
      found.push(refused('serviceaccounts (via projected volumes)', `${at}.serviceAccountToken`));
    }
    if (source.clusterTrustBundle) {
      found.push(refused('clustertrustbundles', `${at}.clusterTrustBundle`));
    }
    if (source.podCertificate) found.push(refused('podcertificates', `${at}.podCertificate`));
  }
  return found;
}

function fromFile(
  resource: string,
  use: ReferenceUse,
  path: string,
  { name, optional }: Reference,
): ApiReference {
  return {
    ...{ resource, path, use, allowed: true },
    ...(optional ? { optional } : {}),
    ...(name ? { name } : {}),
  };
}

function refused(resource: string, path: string, name?: string): ApiReference {
  return { resource, path, allowed: false, ...(name ? { name } : {}) };
}
