/**
 * Owns: every reason that a user can see, once: event reasons, waiting and terminated reasons,
 * condition types and reasons, and the labels and annotations that the kubelet puts on things.
 */
export const EventReason = {
  BackOff: 'BackOff',
  ContainerGCFailed: 'ContainerGCFailed',
  Created: 'Created',
  DeadlineExceeded: 'DeadlineExceeded',
  DNSConfigForming: 'DNSConfigForming',
  ErrImageNeverPull: 'ErrImageNeverPull',
  ExceededGracePeriod: 'ExceededGracePeriod',
  Failed: 'Failed',
  FailedCreatePodContainer: 'FailedCreatePodContainer',
  FailedCreatePodSandBox: 'FailedCreatePodSandBox',
  FailedKillPod: 'FailedKillPod',
  FailedMount: 'FailedMount',
  FailedNodeAllocatableEnforcement: 'FailedNodeAllocatableEnforcement',
  FailedPodSandBoxStatus: 'FailedPodSandBoxStatus',
  FailedPostStartHook: 'FailedPostStartHook',
  FailedPreStopHook: 'FailedPreStopHook',
  FailedSync: 'FailedSync',
  FreeDiskSpaceFailed: 'FreeDiskSpaceFailed',
  ImageGCFailed: 'ImageGCFailed',
  InvalidDiskCapacity: 'InvalidDiskCapacity',
  FailedToRetrieveImagePullSecret: 'FailedToRetrieveImagePullSecret',
  FailedValidation: 'FailedValidation',
  InspectFailed: 'InspectFailed',
  LifecycleHTTPFallback: 'LifecycleHTTPFallback',
  Killing: 'Killing',
  MissingClusterDNS: 'MissingClusterDNS',
  NetworkNotReady: 'NetworkNotReady',
  NodeAllocatableEnforced: 'NodeAllocatableEnforced',
  ProbeWarning: 'ProbeWarning',
  Preempting: 'Preempting',
  Pulled: 'Pulled',
  Pulling: 'Pulling',
  SandboxChanged: 'SandboxChanged',
  Shutdown: 'Shutdown',
  Started: 'Started',
  Starting: 'Starting',
  SystemOOM: 'SystemOOM',
  Unhealthy: 'Unhealthy',
  VolumePermissionChangeInProgress: 'VolumePermissionChangeInProgress',
  /** islet's own: the kernel killed a process of the pod because memory ran out. */
  OOMKilling: 'OOMKilling',
  /** islet's own: a changed manifest made this pod in place of another. */
  ManifestChanged: 'ManifestChanged',
  /** islet's own: the registry cannot be reached, and the pod runs the image in the store. */
  UsingCachedImage: 'UsingCachedImage',
  /** islet's own: what the manifest directory made of a file. */
  ManifestRejected: 'ManifestRejected',
  /** islet's own: a field of the manifest that is unknown or cannot be honoured. */
  ManifestWarning: 'ManifestWarning',
} as const;
export type EventReason = (typeof EventReason)[keyof typeof EventReason];

/** Of eviction: events, and the reason of an evicted pod. */
export const EvictionReason = {
  Evicted: 'Evicted',
  EvictionThresholdMet: 'EvictionThresholdMet',
  /** islet's own: an evicted pod starts again. */
  EvictionOver: 'EvictionOver',
} as const;
export type EvictionReason = (typeof EvictionReason)[keyof typeof EvictionReason];

/** Of the conditions of the node, as they come and go. */
export const NodeReason = {
  HasInsufficientMemory: 'NodeHasInsufficientMemory',
  HasSufficientMemory: 'NodeHasSufficientMemory',
  HasDiskPressure: 'NodeHasDiskPressure',
  HasNoDiskPressure: 'NodeHasNoDiskPressure',
  HasInsufficientPID: 'NodeHasInsufficientPID',
  HasSufficientPID: 'NodeHasSufficientPID',
} as const;

/** Why a pod is not admitted to the node: reason of its status and of the event. */
export const AdmissionReason = {
  AppArmor: 'AppArmor',
  Evicted: 'Evicted',
  NodeAffinity: 'NodeAffinity',
  NodeName: 'NodeName',
  NodePorts: 'NodePorts',
  NodeShutdown: 'NodeShutdown',
  PodOSNotSupported: 'PodOSNotSupported',
  PodOSSelectorNodeLabelDoesNotMatch: 'PodOSSelectorNodeLabelDoesNotMatch',
  SupplementalGroupsPolicyNotSupported: 'SupplementalGroupsPolicyNotSupported',
  SysctlForbidden: 'SysctlForbidden',
  UnexpectedAdmissionError: 'UnexpectedAdmissionError',
} as const;
/** `OutOf<resource>`: `OutOfcpu`, `OutOfmemory`, … */
export type AdmissionReason =
  (typeof AdmissionReason)[keyof typeof AdmissionReason] | `OutOf${string}`;

/** Why the node took a pod's place away: reason of its status. */
export const DisplacedReason = {
  Evicted: EvictionReason.Evicted,
  Preempting: 'Preempting',
  Terminated: 'Terminated',
} as const;
export type DisplacedReason = (typeof DisplacedReason)[keyof typeof DisplacedReason];

export const WaitingReason = {
  ContainerCreating: 'ContainerCreating',
  PodInitializing: 'PodInitializing',
  RestartingAllContainers: 'RestartingAllContainers',
  CrashLoopBackOff: 'CrashLoopBackOff',
  CreateContainerConfigError: 'CreateContainerConfigError',
  CreateContainerError: 'CreateContainerError',
  RunContainerError: 'RunContainerError',
  PostStartHookError: 'PostStartHookError',
  ErrImagePull: 'ErrImagePull',
  ImagePullBackOff: 'ImagePullBackOff',
  ErrImageNeverPull: 'ErrImageNeverPull',
  InvalidImageName: 'InvalidImageName',
  ImageInspectError: 'ImageInspectError',
  RegistryUnavailable: 'RegistryUnavailable',
  SignatureValidationFailed: 'SignatureValidationFailed',
} as const;
export type WaitingReason = (typeof WaitingReason)[keyof typeof WaitingReason];

export const ConditionType = {
  /** islet's own: a ConfigMap or Secret that the pod needs is in no file. */
  configObjectsFound: 'islet.dev/ConfigObjectsFound',
} as const;

export const Label = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

export const Annotation = {
  configSource: 'kubernetes.io/config.source',
  configSeen: 'kubernetes.io/config.seen',
  configHash: 'kubernetes.io/config.hash',
  configMirror: 'kubernetes.io/config.mirror',
  containerHash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  podTerminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
  podDeletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  containerPorts: 'io.kubernetes.container.ports',
  /** islet's own, on a pod: `true` restarts its containers when what they refer to changed. */
  restartOnChange: 'islet.dev/restart-on-change',
  /** islet's own, on containers of such a pod: what they refer to, as it was when they were created. */
  configObjects: 'islet.dev/config-objects',
  /** islet's own, on a pod: what `imagePullPolicy: Always` means without a registry. */
  imagePolicy: 'islet.dev/image-policy',
} as const;
