/**
 * Owns: the v1 Pod as islet holds it after decoding and defaulting. Fields that the defaulting
 * always fills are required here; everything else is optional, as in the API.
 * Leaves to others: decoding, defaults and validation (manifest/), status values (api/status.ts).
 */
import type { PodStatus } from './status.ts';
import type { Volume } from './volume.ts';

/** A quantity as written, e.g. `250m` or `64Mi`; api/quantity.ts reads it. */
export type Quantity = string;
export type IntOrString = number | string;

export interface Pod {
  apiVersion: 'v1';
  kind: 'Pod';
  metadata: ObjectMeta;
  spec: PodSpec;
  status: PodStatus;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace: string;
  uid: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  finalizers?: string[];
  generation?: number;
  resourceVersion?: string;
  selfLink?: string;
  ownerReferences?: OwnerReference[];
  managedFields?: unknown[];
}

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';
export type DnsPolicy = 'ClusterFirst' | 'ClusterFirstWithHostNet' | 'Default' | 'None';
export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never';
export type Protocol = 'TCP' | 'UDP' | 'SCTP';

export interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  ephemeralContainers?: EphemeralContainer[];
  volumes?: Volume[];
  restartPolicy: RestartPolicy;
  terminationGracePeriodSeconds: number;
  activeDeadlineSeconds?: number;
  dnsPolicy: DnsPolicy;
  dnsConfig?: PodDnsConfig;
  nodeSelector?: Record<string, string>;
  nodeName?: string;
  serviceAccountName?: string;
  serviceAccount?: string;
  automountServiceAccountToken?: boolean;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  hostUsers?: boolean;
  shareProcessNamespace?: boolean;
  securityContext: PodSecurityContext;
  imagePullSecrets?: LocalObjectReference[];
  hostname?: string;
  hostnameOverride?: string;
  subdomain?: string;
  setHostnameAsFQDN?: boolean;
  affinity?: Affinity;
  schedulerName: string;
  schedulingGates?: { name: string }[];
  schedulingGroup?: Record<string, unknown>;
  tolerations?: Toleration[];
  hostAliases?: HostAlias[];
  priorityClassName?: string;
  priority?: number;
  preemptionPolicy?: string;
  readinessGates?: { conditionType: string }[];
  runtimeClassName?: string;
  enableServiceLinks?: boolean;
  overhead?: Record<string, Quantity>;
  topologySpreadConstraints?: Record<string, unknown>[];
  os?: { name: string };
  resourceClaims?: Record<string, unknown>[];
  resources?: ResourceRequirements;
}

export interface LocalObjectReference {
  name?: string;
}

export interface Affinity {
  nodeAffinity?: Record<string, unknown>;
  podAffinity?: Record<string, unknown>;
  podAntiAffinity?: Record<string, unknown>;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

export interface HostAlias {
  ip: string;
  hostnames?: string[];
}

export interface PodDnsConfig {
  nameservers?: string[];
  searches?: string[];
  options?: { name?: string; value?: string }[];
}

export interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  ports?: ContainerPort[];
  env?: EnvVar[];
  envFrom?: EnvFromSource[];
  resources: ResourceRequirements;
  resizePolicy?: { resourceName: string; restartPolicy: string }[];
  /** Init containers with `Always` are sidecars. */
  restartPolicy?: RestartPolicy;
  restartPolicyRules?: ContainerRestartRule[];
  volumeMounts?: VolumeMount[];
  volumeDevices?: { name: string; devicePath: string }[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: Lifecycle;
  terminationMessagePath: string;
  terminationMessagePolicy: 'File' | 'FallbackToLogsOnError';
  imagePullPolicy: PullPolicy;
  securityContext?: SecurityContext;
  stdin?: boolean;
  stdinOnce?: boolean;
  tty?: boolean;
}

export interface EphemeralContainer extends Container {
  targetContainerName?: string;
}

export interface ContainerRestartRule {
  action: 'Restart' | 'RestartAllContainers';
  exitCodes?: { operator: 'In' | 'NotIn'; values?: number[] };
}

export interface ContainerPort {
  name?: string;
  hostPort?: number;
  containerPort: number;
  protocol: Protocol;
  hostIP?: string;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: EnvVarSource;
}

export interface EnvVarSource {
  fieldRef?: ObjectFieldSelector;
  resourceFieldRef?: ResourceFieldSelector;
  configMapKeyRef?: KeySelector;
  secretKeyRef?: KeySelector;
  fileKeyRef?: { volumeName: string; path: string; key: string; optional?: boolean };
}

export interface ObjectFieldSelector {
  apiVersion?: string;
  fieldPath: string;
}

export interface ResourceFieldSelector {
  containerName?: string;
  resource: string;
  divisor?: Quantity;
}

export interface KeySelector {
  name?: string;
  key: string;
  optional?: boolean;
}

export interface EnvFromSource {
  prefix?: string;
  configMapRef?: { name?: string; optional?: boolean };
  secretRef?: { name?: string; optional?: boolean };
}

export interface ResourceRequirements {
  limits?: Record<string, Quantity>;
  requests?: Record<string, Quantity>;
  claims?: { name: string; request?: string }[];
}

export interface VolumeMount {
  name: string;
  readOnly?: boolean;
  recursiveReadOnly?: string;
  mountPath: string;
  subPath?: string;
  mountPropagation?: string;
  subPathExpr?: string;
}

export interface Probe extends ProbeHandler {
  initialDelaySeconds?: number;
  timeoutSeconds: number;
  periodSeconds: number;
  successThreshold: number;
  failureThreshold: number;
  terminationGracePeriodSeconds?: number;
}

export interface ProbeHandler {
  exec?: { command?: string[] };
  httpGet?: HttpGetAction;
  tcpSocket?: { port: IntOrString; host?: string };
  grpc?: { port: number; service?: string };
}

export interface HttpGetAction {
  path?: string;
  port: IntOrString;
  host?: string;
  scheme?: string;
  httpHeaders?: { name: string; value: string }[];
}

export interface LifecycleHandler {
  exec?: { command?: string[] };
  httpGet?: HttpGetAction;
  tcpSocket?: { port: IntOrString; host?: string };
  sleep?: { seconds: number };
}

export interface Lifecycle {
  postStart?: LifecycleHandler;
  preStop?: LifecycleHandler;
  stopSignal?: string;
}

export interface SeLinuxOptions {
  user?: string;
  role?: string;
  type?: string;
  level?: string;
}

export interface ProfileRef {
  type: 'RuntimeDefault' | 'Localhost' | 'Unconfined';
  localhostProfile?: string;
}

export interface PodSecurityContext {
  seLinuxOptions?: SeLinuxOptions;
  windowsOptions?: Record<string, unknown>;
  runAsUser?: number;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  supplementalGroups?: number[];
  supplementalGroupsPolicy?: string;
  fsGroup?: number;
  fsGroupChangePolicy?: string;
  sysctls?: { name: string; value: string }[];
  seccompProfile?: ProfileRef;
  appArmorProfile?: ProfileRef;
  seLinuxChangePolicy?: string;
}

export interface SecurityContext {
  capabilities?: { add?: string[]; drop?: string[] };
  privileged?: boolean;
  seLinuxOptions?: SeLinuxOptions;
  windowsOptions?: Record<string, unknown>;
  runAsUser?: number;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  readOnlyRootFilesystem?: boolean;
  allowPrivilegeEscalation?: boolean;
  procMount?: string;
  seccompProfile?: ProfileRef;
  appArmorProfile?: ProfileRef;
}

/** `<name>_<namespace>(<uid>)`, the form of a pod in messages. */
export function podDescription(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
}

/** `<name>_<namespace>`; at most one pod of a full name runs at a time. */
export function podFullName(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}`;
}

/** A sidecar is an init container that keeps running beside the regular containers. */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/** Init containers in their order, then the regular ones. */
export function allContainers(pod: Pod): Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

/** Names are unique over init and regular containers. */
export function namedContainer(pod: Pod, name: string): Container | undefined {
  return allContainers(pod).find((c) => c.name === name);
}
