/**
 * Owns: the schemas of Pod and its spec, v1 of 1.36, and of ConfigMap and Secret.
 */
import type {
  Affinity,
  Container,
  EphemeralContainer,
  HostAlias,
  LocalObjectReference,
  Pod,
  PodDnsConfig,
  PodSecurityContext,
  PodSpec,
  Toleration,
} from '../api/pod.ts';
import type { Volume } from '../api/volume.ts';
import type { ConfigMapObject, SecretObject } from './model.ts';
import {
  any,
  flag,
  flagOrNone,
  int32,
  int32OrNone,
  int64,
  int64OrNone,
  list,
  map,
  object,
  quantity,
  record,
  struct,
  text,
  textKept,
  textOrNone,
  time,
} from './schema.ts';
import type { AnyObject, AnySchema } from './schema.ts';
import {
  container,
  ephemeralContainer,
  podResources,
  profileRef,
  seLinuxOptions,
  windowsOptions,
} from './schema-container.ts';
import { labelSelector, localReference, objectMeta, typeMeta } from './schema-meta.ts';
import { volume } from './schema-volume.ts';

type Sysctl = Item<PodSecurityContext['sysctls']>;
type DnsOption = Item<PodDnsConfig['options']>;
type Gate = Item<PodSpec['schedulingGates']>;
type ReadinessGate = Item<PodSpec['readinessGates']>;
type Item<L extends readonly unknown[] | undefined> = NonNullable<L>[number];

const texts = list<unknown>(text);

const nodeRequirements = list<unknown>(record({ key: text, operator: text, values: texts }));
const nodeTerm = record({ matchExpressions: nodeRequirements, matchFields: nodeRequirements });
const podTerm = record({
  labelSelector,
  namespaces: texts,
  topologyKey: text,
  namespaceSelector: labelSelector,
  matchLabelKeys: texts,
  mismatchLabelKeys: texts,
});
const podAffinity = record({
  requiredDuringSchedulingIgnoredDuringExecution: list<unknown>(podTerm),
  preferredDuringSchedulingIgnoredDuringExecution: list<unknown>(
    record({ weight: int32, podAffinityTerm: podTerm }),
  ),
});
const affinity = object<Affinity>({
  nodeAffinity: record({
    requiredDuringSchedulingIgnoredDuringExecution: record({
      nodeSelectorTerms: list<unknown>(nodeTerm),
    }),
    preferredDuringSchedulingIgnoredDuringExecution: list<unknown>(
      record({ weight: int32, preference: nodeTerm }),
    ),
  }),
  podAffinity,
  podAntiAffinity: podAffinity,
});

const securityContext = object<PodSecurityContext>({
  seLinuxOptions,
  windowsOptions,
  runAsUser: int64OrNone,
  runAsGroup: int64OrNone,
  runAsNonRoot: flagOrNone,
  supplementalGroups: list<number>(int64),
  supplementalGroupsPolicy: textOrNone,
  fsGroup: int64OrNone,
  fsGroupChangePolicy: textOrNone,
  sysctls: list<Sysctl>(object<Sysctl>({ name: textKept, value: textKept })),
  seccompProfile: profileRef,
  appArmorProfile: profileRef,
  seLinuxChangePolicy: textOrNone,
});

const dnsConfig = object<PodDnsConfig>({
  nameservers: list<string>(text),
  searches: list<string>(text),
  options: list<DnsOption>(object<DnsOption>({ name: text, value: textOrNone })),
});

const spreadConstraint = record({
  maxSkew: int32,
  topologyKey: text,
  whenUnsatisfiable: text,
  labelSelector,
  minDomains: int32OrNone,
  nodeAffinityPolicy: textOrNone,
  nodeTaintsPolicy: textOrNone,
  matchLabelKeys: texts,
});

const podSpec = struct<PodSpec>({
  containers: list<Container>(container),
  initContainers: list<Container>(container),
  ephemeralContainers: list<EphemeralContainer>(ephemeralContainer),
  volumes: list<Volume>(volume),
  restartPolicy: text,
  terminationGracePeriodSeconds: int64OrNone,
  activeDeadlineSeconds: int64OrNone,
  dnsPolicy: text,
  dnsConfig,
  nodeSelector: map<string>(text),
  nodeName: text,
  serviceAccountName: text,
  serviceAccount: text,
  automountServiceAccountToken: flagOrNone,
  hostNetwork: flag,
  hostPID: flag,
  hostIPC: flag,
  hostUsers: flagOrNone,
  shareProcessNamespace: flagOrNone,
  securityContext,
  imagePullSecrets: list<LocalObjectReference>(localReference),
  hostname: text,
  hostnameOverride: textOrNone,
  subdomain: text,
  setHostnameAsFQDN: flagOrNone,
  affinity,
  schedulerName: text,
  schedulingGates: list<Gate>(object<Gate>({ name: textKept })),
  schedulingGroup: record({ podGroupName: textOrNone }),
  tolerations: list<Toleration>(
    object<Toleration>({
      key: text,
      operator: text,
      value: text,
      effect: text,
      tolerationSeconds: int64OrNone,
    }),
  ),
  hostAliases: list<HostAlias>(object<HostAlias>({ ip: textKept, hostnames: list<string>(text) })),
  priorityClassName: text,
  priority: int32OrNone,
  preemptionPolicy: textOrNone,
  readinessGates: list<ReadinessGate>(object<ReadinessGate>({ conditionType: textKept })),
  runtimeClassName: textOrNone,
  enableServiceLinks: flagOrNone,
  overhead: map<string>(quantity),
  topologySpreadConstraints: list(spreadConstraint),
  os: object<NonNullable<PodSpec['os']>>({ name: textKept }),
  resourceClaims: list(
    record({ name: text, resourceClaimName: textOrNone, resourceClaimTemplateName: textOrNone }),
  ),
  resources: podResources,
});

/** Only far enough to refuse a wrong type: what a manifest says about its status is not used. */
const podStatus: Record<string, AnySchema> = {
  observedGeneration: int64,
  phase: text,
  conditions: any,
  message: text,
  reason: text,
  nominatedNodeName: text,
  hostIP: text,
  hostIPs: any,
  podIP: text,
  podIPs: any,
  startTime: time,
  initContainerStatuses: any,
  containerStatuses: any,
  ephemeralContainerStatuses: any,
  qosClass: text,
  resize: text,
  resourceClaimStatuses: any,
  extendedResourceClaimStatus: any,
  allocatedResources: any,
  resources: any,
  nodeAllocatableResourceClaimStatuses: any,
};

type PodFields = Record<Exclude<keyof Pod, 'status'>, AnySchema> & { status: AnySchema };
const podFields: PodFields = {
  ...typeMeta,
  metadata: objectMeta,
  spec: podSpec,
  status: record(podStatus),
};
export const podSchema: AnyObject = record(podFields);

type FieldsOf<T> = Record<keyof Required<T>, AnySchema>;

const configMapFields: FieldsOf<ConfigMapObject> = {
  ...typeMeta,
  metadata: objectMeta,
  data: map(text),
  binaryData: map(text),
  immutable: flagOrNone,
};
export const configMapSchema: AnyObject = record(configMapFields);

const secretFields: FieldsOf<SecretObject> = {
  ...typeMeta,
  metadata: objectMeta,
  type: text,
  data: map(text),
  stringData: map(text),
  immutable: flagOrNone,
};
export const secretSchema: AnyObject = record(secretFields);
