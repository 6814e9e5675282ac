/**
 * Owns: the effective configuration that the agent runs with. Durations are milliseconds here,
 * whatever they were in the file; paths are absolute and clean.
 */
import type { EvictionSettings } from './eviction.ts';

export interface Config {
  readonly nodeName: string;
  readonly rootDir: string;
  /** Explicit node addresses (`--node-ip`), primary first; empty: detect. */
  readonly nodeIps: readonly string[];
  /** `--node-labels`: labels of the node beside those that every node has. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly kubeconfig: string | undefined;
  readonly verbosity: number;
  readonly kubelet: KubeletSettings;
  readonly islet: IsletSettings;
  readonly deadContainers: DeadContainerSettings;
  /** Programs that know credentials of registries, in the order in which they are asked. */
  readonly credentialProviders: readonly CredentialProvider[];
}

/** A provider of a `CredentialProviderConfig`. */
export interface CredentialProvider {
  readonly name: string;
  /** Absolute path of the program. */
  readonly binary: string;
  /** Patterns `host[:port][/path]` of the images that it is asked about. */
  readonly matchImages: readonly string[];
  /** For an answer that names no duration of its own; 0: not kept. */
  readonly defaultCacheDurationMs: number;
  /** Of the request and the answer. */
  readonly apiVersion: string;
  readonly args: readonly string[];
  /** Added to the agent's own environment. May hold secrets. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

/** Which dead containers are kept; flags only, as the kubelet's. */
export interface DeadContainerSettings {
  /** `--minimum-container-ttl-duration`: younger ones are kept. */
  readonly minAgeMs: number;
  /** `--maximum-dead-containers-per-container`; negative: any number. */
  readonly maxPerContainer: number;
  /** `--maximum-dead-containers`; negative: any number. */
  readonly maxTotal: number;
}

export type ContainerdMode = 'auto' | 'managed' | 'external';

/** What only islet has: the `IsletConfiguration` document and its flags. */
export interface IsletSettings {
  readonly containerd: ContainerdMode;
  /** The CLI's unix socket; default `<rootDir>/islet.sock`. */
  readonly socketPath: string;
  /** Most pods that start at once; default twice the cores. */
  readonly maxParallelStarts: number;
  /** Directories that stand for PersistentVolumeClaims; default `<rootDir>/persistent-volumes`. */
  readonly persistentVolumeDir: string;
  /** Event journal: most events kept, and for how long. */
  readonly eventJournalSize: number;
  readonly eventJournalMaxAgeMs: number;
  /** Image of the pod sandbox for a managed containerd. */
  readonly pauseImage: string;
  /** Pod network of a managed containerd, e.g. `10.88.0.0/16`. */
  readonly podSubnet: string;
  /** What `imagePullPolicy: Always` means when the registry cannot be reached; a pod may say otherwise. */
  readonly imagePolicy: ImagePolicy;
  /** What a pod's `runtimeClassName` may name. */
  readonly runtimeClasses: readonly RuntimeClass[];
  /** Whether a static pod may be evicted unless its priority is that of the system. */
  readonly staticPodEviction: boolean;
  /** Whether the pods are stopped, by priority, when the agent is told to end. */
  readonly stopPodsOnExit: boolean;
}

/** As node.k8s.io/v1 has it, as far as one node needs it. */
export interface RuntimeClass {
  readonly name: string;
  /** What the runtime's own configuration calls it. */
  readonly handler: string;
  /** What a sandbox of this class costs beside its containers. */
  readonly overhead?: { readonly podFixed?: Readonly<Record<string, string>> };
}

export type ImagePolicy = 'always-ask' | 'newest-else-cached';

/** When a pod must show that it could have pulled an image that is in the store already. */
export type VerificationPolicy =
  'NeverVerify' | 'NeverVerifyPreloadedImages' | 'NeverVerifyAllowlistedImages' | 'AlwaysVerify';

/** For pods of this priority, up to the next higher one. */
export interface ShutdownGracePeriod {
  readonly priority: number;
  readonly periodMs: number;
}

/** KubeletConfiguration v1beta1, defaulted; the fields that islet reads. */
export interface KubeletSettings {
  readonly staticPodPath: string;
  readonly fileCheckFrequencyMs: number;
  readonly syncFrequencyMs: number;
  readonly maxPods: number;
  readonly podPidsLimit: number;
  readonly podCIDR: string;
  readonly maxContainerRestartPeriodMs: number;
  readonly containerRuntimeEndpoint: string;
  /** Whether the endpoint was named by a flag or the file (then `auto` never starts a containerd). */
  readonly containerRuntimeEndpointSet: boolean;
  readonly imageServiceEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls: number | undefined;
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  readonly imagePullCredentialsVerificationPolicy: VerificationPolicy;
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  readonly containerLogMaxSize: string;
  readonly containerLogMaxFiles: number;
  readonly containerLogMaxWorkers: number;
  readonly containerLogMonitorIntervalMs: number;
  readonly imageGCHighThresholdPercent: number;
  readonly imageGCLowThresholdPercent: number;
  readonly imageMinimumGCAgeMs: number;
  /** 0: images are not removed for their age. */
  readonly imageMaximumGCAgeMs: number;
  readonly podLogsDir: string;
  /** How long a measured size of a volume counts; volumes are not measured unless it is positive. */
  readonly volumeStatsAggPeriodMs: number;
  readonly cgroupsPerQOS: boolean;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly cgroupRoot: string;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriodMs: number;
  readonly failCgroupV1: boolean;
  readonly failSwapOn: boolean;
  readonly singleProcessOOMKill: boolean | undefined;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly seccompDefault: boolean;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Host ids of each pod with `hostUsers: false`. */
  readonly userNamespaceIdsPerPod: number;
  /** As written; islet honours `ContainerStopSignals`, and any other name is accepted. */
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly address: string;
  readonly port: number;
  readonly readOnlyPort: number;
  readonly healthzBindAddress: string;
  readonly healthzPort: number;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly enforceNodeAllocatable: readonly string[];
  /** Existing cgroups that are held to the reservations where those are enforced; '' for none. */
  readonly kubeReservedCgroup: string;
  readonly systemReservedCgroup: string;
  readonly swapBehavior: 'NoSwap' | 'LimitedSwap';
  readonly protectKernelDefaults: boolean;
  /** How long groups of pods have to stop before the node does, by ascending priority; empty: no such thing. */
  readonly shutdownGracePeriods: readonly ShutdownGracePeriod[];
  readonly localStorageCapacityIsolation: boolean;
  readonly eviction: EvictionSettings;
  /** Every other accepted field, as written, for `/configz` and later use. */
  readonly rest: Readonly<Record<string, unknown>>;
}
