/**
 * Owns: every field of KubeletConfiguration (kubelet.config.k8s.io/v1beta1) of Kubernetes 1.36, with
 * type and range (spec: config.md §3, §6). A field that islet does not read is known all the same.
 */
import {
  bool,
  duration,
  form,
  int,
  int64,
  list,
  map,
  object,
  oneOf,
  strictDuration,
  text,
} from './schema.ts';
import type { FieldType, Fields } from './schema.ts';

const SECOND = 1000;
const port = int(0, 65_535);
const percent = int(0, 100);
const count = int(0);
const quantity = form('quantity');
const path = form('path');
const reserved = map(quantity, ['cpu', 'memory', 'ephemeral-storage', 'pid']);

export const EVICTION_SIGNALS = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
  'allocatableMemory.available',
] as const;
const thresholds = map(form('threshold'), EVICTION_SIGNALS);

const logOutput = { splitStream: bool, infoBufferSize: quantity };

const pods: Fields = {
  staticPodPath: path,
  staticPodURL: text,
  staticPodURLHeader: map(list(text)),
  podLogsDir: text,
  syncFrequency: duration(),
  fileCheckFrequency: duration(),
  httpCheckFrequency: duration(),
  maxPods: count,
  podsPerCore: count,
  podPidsLimit: int64,
  podCIDR: form('cidr'),
  crashLoopBackOff: object({ maxContainerRestartPeriod: strictDuration(SECOND, 300 * SECOND) }),
  enableServer: bool,
  runOnce: bool,
  registerNode: bool,
  registerWithTaints: list(
    object({
      key: text,
      value: text,
      effect: oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
    }),
  ),
  providerID: text,
  nodeStatusUpdateFrequency: duration(),
  nodeStatusReportFrequency: duration(),
  nodeLeaseDurationSeconds: count,
  nodeStatusMaxImages: int(-1),
  configMapAndSecretChangeDetectionStrategy: oneOf('Get', 'Cache', 'Watch'),
  enableControllerAttachDetach: bool,
  contentType: text,
  kubeAPIQPS: count,
  kubeAPIBurst: count,
  eventRecordQPS: count,
  eventBurst: count,
  shutdownGracePeriod: strictDurationOrZero(),
  shutdownGracePeriodCriticalPods: strictDurationOrZero(),
  shutdownGracePeriodByPodPriority: list(
    object({ priority: int(), shutdownGracePeriodSeconds: int64 }),
  ),
};

const runtime: Fields = {
  containerRuntimeEndpoint: form('endpoint'),
  imageServiceEndpoint: form('endpoint'),
  runtimeRequestTimeout: duration(),
  streamingConnectionIdleTimeout: duration(),
  serializeImagePulls: bool,
  maxParallelImagePulls: int(1),
  registryPullQPS: count,
  registryBurst: count,
  imageMinimumGCAge: duration(),
  imageMaximumGCAge: duration(),
  imageGCHighThresholdPercent: percent,
  imageGCLowThresholdPercent: percent,
  imagePullCredentialsVerificationPolicy: oneOf(
    'NeverVerify',
    'NeverVerifyPreloadedImages',
    'NeverVerifyAllowlistedImages',
    'AlwaysVerify',
  ),
  preloadedImagesVerificationAllowlist: list(text),
  containerLogMaxSize: form('signed-quantity'),
  containerLogMaxFiles: int(2),
  containerLogMaxWorkers: int(1),
  containerLogMonitorInterval: strictDuration(3 * SECOND),
  volumeStatsAggPeriod: duration(-Infinity),
  volumePluginDir: text,
};

const resources: Fields = {
  cgroupsPerQOS: bool,
  cgroupDriver: oneOf('cgroupfs', 'systemd'),
  cgroupRoot: text,
  kubeletCgroups: text,
  systemCgroups: text,
  failCgroupV1: bool,
  cpuCFSQuota: bool,
  cpuCFSQuotaPeriod: strictDuration(1, SECOND),
  cpuManagerPolicy: oneOf('none', 'static'),
  cpuManagerPolicyOptions: map(text),
  cpuManagerReconcilePeriod: duration(),
  memoryManagerPolicy: oneOf('None', 'Static', 'BestEffort'),
  topologyManagerPolicy: oneOf('none', 'best-effort', 'restricted', 'single-numa-node'),
  topologyManagerScope: oneOf('container', 'pod'),
  topologyManagerPolicyOptions: map(text),
  qosReserved: map(text),
  reservedSystemCPUs: text,
  reservedMemory: list(object({ numaNode: count, limits: map(quantity) })),
  systemReserved: reserved,
  kubeReserved: reserved,
  systemReservedCgroup: text,
  kubeReservedCgroup: text,
  enforceNodeAllocatable: list(
    oneOf(
      'none',
      'pods',
      'system-reserved',
      'system-reserved-compressible',
      'kube-reserved',
      'kube-reserved-compressible',
    ),
  ),
  evictionHard: thresholds,
  evictionSoft: thresholds,
  evictionSoftGracePeriod: map(form('duration'), EVICTION_SIGNALS),
  evictionMinimumReclaim: map(form('reclaim'), EVICTION_SIGNALS),
  evictionPressureTransitionPeriod: duration(),
  evictionMaxPodGracePeriod: int(),
  mergeDefaultEvictionSettings: bool,
  localStorageCapacityIsolation: bool,
  kernelMemcgNotification: bool,
  failSwapOn: bool,
  memorySwap: object({ swapBehavior: oneOf('NoSwap', 'LimitedSwap') }),
  singleProcessOOMKill: bool,
  oomScoreAdj: int(-1000, 1000),
  maxOpenFiles: int64,
  protectKernelDefaults: bool,
  userNamespaces: object({ idsPerPod: int64 }),
  memoryThrottlingFactor: { kind: 'number', above: 0, max: 1 },
  memoryReservationPolicy: oneOf('None', 'TieredReservation'),
};

const network: Fields = {
  clusterDNS: list(text),
  clusterDomain: text,
  resolvConf: path,
  hairpinMode: oneOf('promiscuous-bridge', 'hairpin-veth', 'none'),
  makeIPTablesUtilChains: bool,
  iptablesMasqueradeBit: int(0, 31),
  iptablesDropBit: int(0, 31),
  seccompDefault: bool,
  allowedUnsafeSysctls: list(text),
  address: form('ip'),
  port,
  readOnlyPort: port,
  healthzPort: port,
  healthzBindAddress: form('ip'),
  tlsCertFile: path,
  tlsPrivateKeyFile: path,
  tlsCipherSuites: list(text),
  tlsMinVersion: oneOf('VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'),
  tlsCurvePreferences: list(int()),
  rotateCertificates: bool,
  serverTLSBootstrap: bool,
  authentication: object({
    x509: object({ clientCAFile: path }),
    webhook: object({ enabled: bool, cacheTTL: duration() }),
    anonymous: object({ enabled: bool }),
  }),
  authorization: object({
    mode: oneOf('AlwaysAllow', 'Webhook'),
    webhook: object({ cacheAuthorizedTTL: duration(), cacheUnauthorizedTTL: duration() }),
  }),
  enableDebuggingHandlers: bool,
  enableContentionProfiling: bool,
  enableProfilingHandler: bool,
  enableDebugFlagsHandler: bool,
  enableSystemLogHandler: bool,
  enableSystemLogQuery: bool,
};

const diagnosis: Fields = {
  featureGates: map(bool),
  showHiddenMetricsForVersion: text,
  logging: object({
    format: oneOf('text', 'json'),
    flushFrequency: duration(),
    verbosity: count,
    vmodule: list(object({ filePattern: text, verbosity: count })),
    options: object({ text: object(logOutput), json: object(logOutput) }),
  }),
  tracing: object({ endpoint: text, samplingRatePerMillion: int(0, 1_000_000) }),
};

export const KUBELET_FIELDS: Fields = {
  ...pods,
  ...runtime,
  ...resources,
  ...network,
  ...diagnosis,
};

function strictDurationOrZero(): FieldType {
  return { kind: 'duration', min: SECOND, max: Infinity, zero: true };
}
