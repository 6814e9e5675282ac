/**
 * Owns: the v1 Volume. Sources that islet sets up are typed; those that need a cluster or a storage
 * driver are kept as plain records, for validation and for the message that names them.
 */
import type {
  LocalObjectReference,
  ObjectFieldSelector,
  Quantity,
  ResourceFieldSelector,
} from './pod.ts';

export interface KeyToPath {
  key: string;
  path: string;
  mode?: number;
}

export interface DownwardApiFile {
  path: string;
  fieldRef?: ObjectFieldSelector;
  resourceFieldRef?: ResourceFieldSelector;
  mode?: number;
}

export interface EmptyDirSource {
  medium?: string;
  sizeLimit?: Quantity;
}

export type HostPathType =
  | ''
  | 'DirectoryOrCreate'
  | 'Directory'
  | 'FileOrCreate'
  | 'File'
  | 'Socket'
  | 'CharDevice'
  | 'BlockDevice';

export interface HostPathSource {
  path: string;
  type?: HostPathType;
}

export interface ProjectedSourceItem {
  secret?: LocalObjectReference & { items?: KeyToPath[]; optional?: boolean };
  configMap?: LocalObjectReference & { items?: KeyToPath[]; optional?: boolean };
  downwardAPI?: { items?: DownwardApiFile[] };
  serviceAccountToken?: { audience?: string; expirationSeconds?: number; path: string };
  clusterTrustBundle?: Record<string, unknown>;
  podCertificate?: Record<string, unknown>;
}

/** Sources known to the API that need something islet does not have; kept as written. */
export type ForeignSource = Record<string, unknown>;

export interface Volume {
  name: string;
  emptyDir?: EmptyDirSource;
  hostPath?: HostPathSource;
  configMap?: LocalObjectReference & {
    items?: KeyToPath[];
    defaultMode?: number;
    optional?: boolean;
  };
  secret?: { secretName?: string; items?: KeyToPath[]; defaultMode?: number; optional?: boolean };
  downwardAPI?: { items?: DownwardApiFile[]; defaultMode?: number };
  projected?: { sources?: ProjectedSourceItem[] | null; defaultMode?: number };
  image?: { reference?: string; pullPolicy?: string };
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean };
  ephemeral?: ForeignSource;
  csi?: ForeignSource;
  nfs?: ForeignSource;
  iscsi?: ForeignSource;
  fc?: ForeignSource;
  gcePersistentDisk?: ForeignSource;
  awsElasticBlockStore?: ForeignSource;
  gitRepo?: ForeignSource;
  glusterfs?: ForeignSource;
  rbd?: ForeignSource;
  flexVolume?: ForeignSource;
  cinder?: ForeignSource;
  cephfs?: ForeignSource;
  flocker?: ForeignSource;
  azureFile?: ForeignSource;
  azureDisk?: ForeignSource;
  vsphereVolume?: ForeignSource;
  quobyte?: ForeignSource;
  photonPersistentDisk?: ForeignSource;
  portworxVolume?: ForeignSource;
  scaleIO?: ForeignSource;
  storageos?: ForeignSource;
}
