/**
 * Owns: the schemas of volumes, v1 of 1.36, with the sources that islet refuses or passes by listed
 * field by field too: a misspelt field is worth a warning in any of them.
 */
import type {
  DownwardApiFile,
  EmptyDirSource,
  HostPathSource,
  KeyToPath,
  ProjectedSourceItem,
  Volume,
} from '../api/volume.ts';
import {
  flag,
  flagOrNone,
  int32,
  int32OrNone,
  int64OrNone,
  list,
  map,
  object,
  quantity,
  record,
  text,
  textKept,
  textOrNone,
} from './schema.ts';
import type { AnySchema } from './schema.ts';
import { fieldRef, podResources, resourceFieldRef } from './schema-container.ts';
import { labelSelector, localReference, objectMeta } from './schema-meta.ts';

type ConfigMapProjection = NonNullable<ProjectedSourceItem['configMap']>;
type DownwardProjection = NonNullable<ProjectedSourceItem['downwardAPI']>;
type TokenProjection = NonNullable<ProjectedSourceItem['serviceAccountToken']>;
type Source<K extends keyof Volume> = NonNullable<Volume[K]>;

const items = list<KeyToPath>(
  object<KeyToPath>({ key: textKept, path: textKept, mode: int32OrNone }),
);
const downwardItems = list<DownwardApiFile>(
  object<DownwardApiFile>({ path: textKept, fieldRef, resourceFieldRef, mode: int32OrNone }),
);
const objectProjection = object<ConfigMapProjection>({ name: text, items, optional: flagOrNone });

const projectedItem = object<ProjectedSourceItem>({
  secret: objectProjection,
  configMap: objectProjection,
  downwardAPI: object<DownwardProjection>({ items: downwardItems }),
  serviceAccountToken: object<TokenProjection>({
    audience: text,
    expirationSeconds: int64OrNone,
    path: textKept,
  }),
  clusterTrustBundle: record({
    name: textOrNone,
    signerName: textOrNone,
    labelSelector,
    optional: flagOrNone,
    path: text,
  }),
  podCertificate: record({
    signerName: text,
    keyType: text,
    maxExpirationSeconds: int32OrNone,
    credentialBundlePath: text,
    keyPath: text,
    certificateChainPath: text,
    userAnnotations: map(text),
  }),
});

const texts = list<unknown>(text);
const dataSource: Record<string, AnySchema> = { apiGroup: textOrNone, kind: text, name: text };
const claimTemplate = record({
  metadata: objectMeta,
  spec: record({
    accessModes: texts,
    selector: labelSelector,
    resources: podResources,
    volumeName: text,
    storageClassName: textOrNone,
    volumeMode: textOrNone,
    dataSource: record(dataSource),
    dataSourceRef: record({ ...dataSource, namespace: textOrNone }),
    volumeAttributesClassName: textOrNone,
  }),
});

const reference: AnySchema = localReference;

export const volume = object<Volume>({
  name: textKept,
  emptyDir: object<EmptyDirSource>({ medium: text, sizeLimit: quantity }),
  hostPath: object<HostPathSource>({ path: textKept, type: textOrNone }),
  configMap: object<Source<'configMap'>>({
    name: text,
    items,
    defaultMode: int32OrNone,
    optional: flagOrNone,
  }),
  secret: object<Source<'secret'>>({
    secretName: text,
    items,
    defaultMode: int32OrNone,
    optional: flagOrNone,
  }),
  downwardAPI: object<Source<'downwardAPI'>>({ items: downwardItems, defaultMode: int32OrNone }),
  projected: object<Source<'projected'>>({
    sources: list<ProjectedSourceItem>(projectedItem),
    defaultMode: int32OrNone,
  }),
  image: object<Source<'image'>>({ reference: text, pullPolicy: text }),
  persistentVolumeClaim: object<Source<'persistentVolumeClaim'>>({
    claimName: textKept,
    readOnly: flag,
  }),
  ephemeral: record({ volumeClaimTemplate: claimTemplate }),
  csi: record({
    driver: text,
    readOnly: flagOrNone,
    fsType: textOrNone,
    volumeAttributes: map(text),
    nodePublishSecretRef: reference,
  }),
  nfs: record({ server: text, path: text, readOnly: flag }),
  iscsi: record({
    targetPortal: text,
    iqn: text,
    lun: int32,
    iscsiInterface: text,
    fsType: text,
    readOnly: flag,
    portals: texts,
    chapAuthDiscovery: flag,
    chapAuthSession: flag,
    secretRef: reference,
    initiatorName: textOrNone,
  }),
  fc: record({ targetWWNs: texts, lun: int32OrNone, fsType: text, readOnly: flag, wwids: texts }),
  gcePersistentDisk: record({ pdName: text, fsType: text, partition: int32, readOnly: flag }),
  awsElasticBlockStore: record({ volumeID: text, fsType: text, partition: int32, readOnly: flag }),
  gitRepo: record({ repository: text, revision: text, directory: text }),
  glusterfs: record({ endpoints: text, path: text, readOnly: flag }),
  rbd: record({
    monitors: texts,
    image: text,
    fsType: text,
    pool: text,
    user: text,
    keyring: text,
    secretRef: reference,
    readOnly: flag,
  }),
  flexVolume: record({
    driver: text,
    fsType: text,
    secretRef: reference,
    readOnly: flag,
    options: map(text),
  }),
  cinder: record({ volumeID: text, fsType: text, readOnly: flag, secretRef: reference }),
  cephfs: record({
    monitors: texts,
    path: text,
    user: text,
    secretFile: text,
    secretRef: reference,
    readOnly: flag,
  }),
  flocker: record({ datasetName: text, datasetUUID: text }),
  azureFile: record({ secretName: text, shareName: text, readOnly: flag }),
  azureDisk: record({
    diskName: text,
    diskURI: text,
    cachingMode: textOrNone,
    fsType: textOrNone,
    readOnly: flagOrNone,
    kind: textOrNone,
  }),
  vsphereVolume: record({
    volumePath: text,
    fsType: text,
    storagePolicyName: text,
    storagePolicyID: text,
  }),
  quobyte: record({
    registry: text,
    volume: text,
    readOnly: flag,
    user: text,
    group: text,
    tenant: text,
  }),
  photonPersistentDisk: record({ pdID: text, fsType: text }),
  portworxVolume: record({ volumeID: text, fsType: text, readOnly: flag }),
  scaleIO: record({
    gateway: text,
    system: text,
    secretRef: reference,
    sslEnabled: flag,
    protectionDomain: text,
    storagePool: text,
    storageMode: text,
    volumeName: text,
    fsType: text,
    readOnly: flag,
  }),
  storageos: record({
    volumeName: text,
    volumeNamespace: text,
    fsType: text,
    readOnly: flag,
    secretRef: reference,
  }),
});
