/**
 * Owns: the runtime's things in plain words. Above cri/ nobody sees a protobuf message: the client
 * converts these once, at the border. Times are wall times in nanoseconds as bigint where the runtime
 * reports them so (0n: never); sizes are bytes; ids are the runtime's own.
 */

import type { ContainerStats, FsUsage, SandboxStats } from './usage.ts';

/** A container or a sandbox as the lists show it. */
export type ContainerPhase = 'created' | 'running' | 'exited' | 'unknown';
export type SandboxPhase = 'ready' | 'notready';

export interface PodSandboxMetadata {
  name: string;
  namespace: string;
  uid: string;
  attempt: number;
}

export interface PodSandbox {
  id: string;
  metadata: PodSandboxMetadata;
  state: SandboxPhase;
  createdAt: bigint;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  runtimeHandler: string;
}

export interface Container {
  id: string;
  sandboxId: string;
  name: string;
  attempt: number;
  image: string;
  imageRef: string;
  state: ContainerPhase;
  createdAt: bigint;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export type NamespaceMode = 'pod' | 'container' | 'node' | 'target';

export interface NamespaceOptions {
  network: NamespaceMode;
  pid: NamespaceMode;
  ipc: NamespaceMode;
  targetId?: string;
  userns?: { mode: NamespaceMode; uids?: IdMapping[]; gids?: IdMapping[] };
}

export interface IdMapping {
  hostId: number;
  containerId: number;
  length: number;
}

export interface SecurityProfile {
  type: 'runtime-default' | 'unconfined' | 'localhost';
  localhostRef?: string;
}

export interface SeLinux {
  user: string;
  role: string;
  type: string;
  level: string;
}

/** An absent number leaves the field unset on the wire (0). */
export interface LinuxResources {
  cpuPeriod?: number;
  cpuQuota?: number;
  cpuShares?: number;
  memoryLimitInBytes?: number;
  memorySwapLimitInBytes?: number;
  oomScoreAdj?: number;
  hugepageLimits?: { pageSize: string; limit: number }[];
  unified?: Record<string, string>;
}

export interface DnsConfig {
  servers: string[];
  searches: string[];
  options: string[];
}

export interface PortMapping {
  protocol: 'TCP' | 'UDP' | 'SCTP';
  containerPort: number;
  hostPort: number;
  hostIp: string;
}

export type SupplementalGroupsPolicy = 'Merge' | 'Strict';

export interface SandboxSecurity {
  namespaceOptions: NamespaceOptions;
  privileged: boolean;
  runAsUser?: number;
  runAsGroup?: number;
  supplementalGroups: number[];
  supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  seccomp: SecurityProfile;
  selinux?: SeLinux;
  readonlyRootfs?: boolean;
}

/** What RunPodSandbox is asked for. */
export interface SandboxConfig {
  metadata: PodSandboxMetadata;
  hostname: string;
  logDirectory: string;
  dns?: DnsConfig;
  portMappings: PortMapping[];
  labels: Record<string, string>;
  annotations: Record<string, string>;
  cgroupParent: string;
  sysctls: Record<string, string>;
  resources?: LinuxResources;
  overhead?: LinuxResources;
  security: SandboxSecurity;
}

export type MountPropagation = 'private' | 'host-to-container' | 'bidirectional';

export interface Mount {
  containerPath: string;
  hostPath: string;
  readonly: boolean;
  selinuxRelabel?: boolean;
  propagation?: MountPropagation;
  recursiveReadOnly?: boolean;
  /** An image volume; `annotations` are the pod's. */
  image?: { image: string; userSpecifiedImage: string; annotations?: Record<string, string> };
  imageSubPath?: string;
  uidMappings?: IdMapping[];
  gidMappings?: IdMapping[];
}

export interface ContainerSecurity {
  namespaceOptions: NamespaceOptions;
  capabilities?: { add: string[]; drop: string[] };
  privileged: boolean;
  selinux?: SeLinux;
  runAsUser?: number;
  runAsUsername?: string;
  runAsGroup?: number;
  readonlyRootfs: boolean;
  supplementalGroups: number[];
  supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  noNewPrivs: boolean;
  maskedPaths: string[];
  readonlyPaths: string[];
  seccomp?: SecurityProfile;
  apparmor?: SecurityProfile;
  /** The deprecated string form, filled beside `apparmor`. */
  apparmorProfile?: string;
}

/** What CreateContainer is asked for. */
export interface ContainerConfig {
  name: string;
  attempt: number;
  /** What the runtime calls the image (id or reference). */
  image: string;
  userSpecifiedImage: string;
  command: string[];
  args: string[];
  workingDir: string;
  envs: { key: string; value: string }[];
  mounts: Mount[];
  devices: { containerPath: string; hostPath: string; permissions: string }[];
  labels: Record<string, string>;
  annotations: Record<string, string>;
  logPath: string;
  stdin: boolean;
  stdinOnce: boolean;
  tty: boolean;
  /** As the API names it, e.g. `SIGUSR1` or `SIGRTMIN+1`; absent: that of the image. */
  stopSignal?: string;
  resources: LinuxResources;
  security: ContainerSecurity;
}

export interface SandboxStatus {
  id: string;
  metadata: PodSandboxMetadata;
  state: SandboxPhase;
  createdAt: bigint;
  /** Primary address first; empty when the sandbox has none (host network, not ready). */
  ips: string[];
  networkMode: NamespaceMode;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  runtimeHandler: string;
}

export interface ContainerStatus {
  id: string;
  name: string;
  attempt: number;
  state: ContainerPhase;
  createdAt: bigint;
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  /** As the runtime resolved it, e.g. `docker.io/library/busybox:latest`. */
  image: string;
  imageRef: string;
  imageId: string;
  reason: string;
  message: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  mounts: {
    containerPath: string;
    hostPath: string;
    readonly: boolean;
    recursiveReadOnly: boolean;
  }[];
  logPath: string;
  user?: { uid: number; gid: number; supplementalGroups: number[] };
  resources?: LinuxResources;
}

export interface Image {
  id: string;
  repoTags: string[];
  repoDigests: string[];
  size: number;
  /** Numeric user of the image config, when it has one. */
  uid?: number;
  username: string;
  pinned: boolean;
}

export interface AuthConfig {
  username: string;
  password: string;
  serverAddress?: string;
}

export interface RuntimeCondition {
  type: string;
  status: boolean;
  reason: string;
  message: string;
}

/** What one runtime handler can do; a runtime that says nothing of it can do none. */
export interface HandlerFeatures {
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

export interface RuntimeStatus {
  /** `RuntimeReady`, `NetworkReady`, … */
  readonly conditions: RuntimeCondition[];
  /** By name; '' is the default one. Empty on containerd 1.x. */
  readonly handlers: ReadonlyMap<string, HandlerFeatures>;
  /** Whether a container's groups can be limited to those of the manifest (policy Strict). */
  readonly supplementalGroupsPolicy: boolean;
}

export interface RuntimeVersion {
  version: string;
  runtimeName: string;
  runtimeVersion: string;
  runtimeApiVersion: string;
}

export interface ExecResult {
  stdout: Uint8Array;
  stderr: Uint8Array;
  exitCode: number;
}

export type ContainerEventKind = 'created' | 'started' | 'stopped' | 'deleted';

export interface ContainerEvent {
  containerId: string;
  kind: ContainerEventKind;
  createdAt: bigint;
  /** Uid of the pod, when the runtime says so. */
  podUid: string | undefined;
}

/** `runtime.v1.RuntimeService`, as far as islet calls it. Every call fails with an IsletError. */
export interface RuntimeService {
  version(signal?: AbortSignal): Promise<RuntimeVersion>;
  status(signal?: AbortSignal): Promise<RuntimeStatus>;
  /** Image of its sandboxes, where it tells: containerd 1.x does, later ones have it pinned. */
  sandboxImage(signal?: AbortSignal): Promise<string | undefined>;
  /** The cgroup driver the runtime asks for; IsletError `unimplemented` on containerd 1.x. */
  cgroupDriver(signal?: AbortSignal): Promise<'cgroupfs' | 'systemd'>;
  runPodSandbox(
    config: SandboxConfig,
    runtimeHandler: string,
    signal?: AbortSignal,
  ): Promise<string>;
  /** Idempotent; an unknown id is a success. */
  stopPodSandbox(id: string, signal?: AbortSignal): Promise<void>;
  removePodSandbox(id: string, signal?: AbortSignal): Promise<void>;
  /** IsletError `not-found` when there is no such sandbox. */
  podSandboxStatus(id: string, signal?: AbortSignal): Promise<SandboxStatus>;
  listPodSandboxes(filter: { podUid?: string }, signal?: AbortSignal): Promise<PodSandbox[]>;
  createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandbox: SandboxConfig,
    signal?: AbortSignal,
  ): Promise<string>;
  startContainer(id: string, signal?: AbortSignal): Promise<void>;
  /** Deadline is the request timeout plus the grace period. An unknown id is a success. */
  stopContainer(id: string, graceSeconds: number, signal?: AbortSignal): Promise<void>;
  removeContainer(id: string, signal?: AbortSignal): Promise<void>;
  containerStatus(id: string, signal?: AbortSignal): Promise<ContainerStatus>;
  listContainers(filter: { podUid?: string }, signal?: AbortSignal): Promise<Container[]>;
  /** `timeoutSeconds` 0: no deadline. A command that outlives its timeout: IsletError `deadline`. */
  execSync(
    id: string,
    command: string[],
    timeoutSeconds: number,
    signal?: AbortSignal,
  ): Promise<ExecResult>;
  containerStats(id: string, signal?: AbortSignal): Promise<ContainerStats>;
  listContainerStats(filter: { podUid?: string }, signal?: AbortSignal): Promise<ContainerStats[]>;
  /** containerd 1.6 fails as a whole when it cannot measure one of them. */
  listPodSandboxStats(filter: { podUid?: string }, signal?: AbortSignal): Promise<SandboxStats[]>;
  podSandboxStats(id: string, signal?: AbortSignal): Promise<SandboxStats>;
  reopenContainerLog(id: string, signal?: AbortSignal): Promise<void>;
  updateRuntimeConfig(podCidr: string, signal?: AbortSignal): Promise<void>;
  /** The undecoded answers that the relist walks. */
  listPodSandboxesRaw(signal?: AbortSignal): Promise<Uint8Array>;
  listContainersRaw(signal?: AbortSignal): Promise<Uint8Array>;
  /** Decodes one entry cut out of a raw answer. */
  decodePodSandbox(entry: Uint8Array): PodSandbox;
  decodeContainer(entry: Uint8Array): Container;
  /**
   * Ends with IsletError `unimplemented` where the runtime has no events. An event only says "look
   * again": containerd 1.7 gives each event to one listener, loses the first after a stream that
   * ended, and has none for a container that fails to start.
   */
  containerEvents(signal: AbortSignal): AsyncIterable<ContainerEvent>;
}

/** `runtime.v1.ImageService`, as far as islet calls it. */
export interface ImageService {
  /** undefined when the image is not in the store. */
  imageStatus(image: string, signal?: AbortSignal): Promise<Image | undefined>;
  /** No deadline. Returns the reference that containers are created from. */
  pullImage(
    image: string,
    auth: AuthConfig | undefined,
    sandbox: SandboxConfig | undefined,
    annotations: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<string>;
  listImages(signal?: AbortSignal): Promise<Image[]>;
  removeImage(image: string, signal?: AbortSignal): Promise<void>;
  /** The file systems of images and, where the runtime tells them apart, of writable layers. */
  fsUsage(signal?: AbortSignal): Promise<{ images: FsUsage[]; containers: FsUsage[] }>;
}
