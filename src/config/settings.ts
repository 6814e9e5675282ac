/**
 * Owns: defaults: from the fields that were written to the settings that the agent runs with
 * (spec: config.md §1, §3).
 * Invariant: an empty string and, where Go cannot tell it from absent, a zero stand for the default.
 */
import path from 'node:path';
import { EVICTION_FIELDS, evictionSettings } from './eviction.ts';
import type { IsletSettings, KubeletSettings, RuntimeClass, VerificationPolicy } from './model.ts';
import { shutdownGracePeriods } from './shutdown.ts';

type Written = Readonly<Record<string, unknown>>;

export const DEFAULT_ENDPOINT = 'unix:///run/containerd/containerd.sock';
/** Read-only port of a kubelet that was started with flags only. */
const LEGACY_READ_ONLY_PORT = 10_255;
const DAY_MS = 86_400_000;

/** Reads a decoded field; the description of the field has already made sure of its type. */
class Reader {
  readonly used = new Set<string>();
  readonly #written: Written;

  constructor(written: Written) {
    this.#written = written;
  }

  /** The value as written, or the default when absent. */
  get<T>(name: string, fallback: T): T {
    this.used.add(name);
    return (this.#written[name] ?? fallback) as T;
  }

  /** The same for fields where empty or zero means absent. */
  orDefault<T extends string | number>(name: string, fallback: T): T {
    const value = this.get<T>(name, fallback);
    return value === '' || value === 0 ? fallback : value;
  }
}

export interface KubeletSources {
  /** What the file's KubeletConfiguration says. */
  readonly written: Written;
  /** Whether there was a file at all: flags alone select the kubelet's legacy defaults. */
  readonly fileUsed: boolean;
}

export function kubeletSettings({ written, fileUsed }: KubeletSources): KubeletSettings {
  const r = new Reader(written);
  const endpoint = r.orDefault('containerRuntimeEndpoint', '');
  const parallel = r.get<number | undefined>('maxParallelImagePulls', undefined);
  const settings = {
    ...podSettings(r),
    ...imageGcSettings(r),
    containerRuntimeEndpoint: unixUrl(endpoint || DEFAULT_ENDPOINT),
    containerRuntimeEndpointSet: endpoint !== '',
    imageServiceEndpoint: unixUrl(r.get('imageServiceEndpoint', '')),
    runtimeRequestTimeoutMs: r.orDefault('runtimeRequestTimeout', 120_000),
    // Asking for more than one at a time says that they are not to be one after another.
    serializeImagePulls: r.get('serializeImagePulls', (parallel ?? 1) <= 1),
    maxParallelImagePulls: parallel,
    registryPullQPS: r.get('registryPullQPS', 5),
    registryBurst: r.orDefault('registryBurst', 10),
    imagePullCredentialsVerificationPolicy: r.orDefault<VerificationPolicy>(
      'imagePullCredentialsVerificationPolicy',
      'NeverVerifyPreloadedImages',
    ),
    preloadedImagesVerificationAllowlist: r.get<string[]>(
      'preloadedImagesVerificationAllowlist',
      [],
    ),
    ...resourceSettings(r, fileUsed),
    ...hostSettings(r),
    eviction: evictionSettings(written, fileUsed),
    ...networkSettings(r, fileUsed),
  };
  for (const field of EVICTION_FIELDS) r.used.add(field);
  const rest = Object.entries(written).filter(([name]) => !r.used.has(name));
  return { ...settings, rest: Object.fromEntries(rest) };
}

function podSettings(r: Reader) {
  const backOff = r.get<{ maxContainerRestartPeriod?: number }>('crashLoopBackOff', {});
  return {
    staticPodPath: r.get('staticPodPath', ''),
    fileCheckFrequencyMs: r.orDefault('fileCheckFrequency', 20_000),
    syncFrequencyMs: r.orDefault('syncFrequency', 60_000),
    maxPods: r.orDefault('maxPods', 110),
    podPidsLimit: Math.max(-1, r.get('podPidsLimit', -1)),
    podCIDR: r.get('podCIDR', ''),
    maxContainerRestartPeriodMs: backOff.maxContainerRestartPeriod ?? 300_000,
    containerLogMaxSize: r.orDefault('containerLogMaxSize', '10Mi'),
    containerLogMaxFiles: r.get('containerLogMaxFiles', 5),
    containerLogMaxWorkers: r.get('containerLogMaxWorkers', 1),
    containerLogMonitorIntervalMs: r.orDefault('containerLogMonitorInterval', 10_000),
    podLogsDir: r.orDefault('podLogsDir', '/var/log/pods'),
    volumeStatsAggPeriodMs: r.orDefault('volumeStatsAggPeriod', 60_000),
  };
}

function imageGcSettings(r: Reader) {
  return {
    imageGCHighThresholdPercent: r.get('imageGCHighThresholdPercent', 85),
    imageGCLowThresholdPercent: r.get('imageGCLowThresholdPercent', 80),
    imageMinimumGCAgeMs: r.orDefault('imageMinimumGCAge', 120_000),
    imageMaximumGCAgeMs: r.get('imageMaximumGCAge', 0),
  };
}

/**
 * Unlike the kubelet: without a configuration file neither cgroup v1 nor swap is a reason not to start.
 * Who only gives a manifest directory wants pods to run on the machine as it is.
 */
function resourceSettings(r: Reader, fileUsed: boolean) {
  return {
    cgroupsPerQOS: r.get('cgroupsPerQOS', true),
    cgroupDriver: r.orDefault<'cgroupfs' | 'systemd'>('cgroupDriver', 'cgroupfs'),
    cgroupRoot: r.get('cgroupRoot', ''),
    cpuCFSQuota: r.get('cpuCFSQuota', true),
    cpuCFSQuotaPeriodMs: r.get('cpuCFSQuotaPeriod', 100),
    failCgroupV1: r.get('failCgroupV1', fileUsed),
    failSwapOn: r.get('failSwapOn', fileUsed),
    singleProcessOOMKill: r.get<boolean | undefined>('singleProcessOOMKill', undefined),
    systemReserved: r.get<Record<string, string>>('systemReserved', {}),
    kubeReserved: r.get<Record<string, string>>('kubeReserved', {}),
    enforceNodeAllocatable: r.get<string[]>('enforceNodeAllocatable', ['pods']),
    localStorageCapacityIsolation: r.get('localStorageCapacityIsolation', true),
    userNamespaceIdsPerPod: r.get<{ idsPerPod?: number }>('userNamespaces', {}).idsPerPod ?? 65_536,
  };
}

/** What concerns the node beside its pods. */
function hostSettings(r: Reader) {
  const swap = r.get<{ swapBehavior?: string }>('memorySwap', {}).swapBehavior;
  return {
    kubeReservedCgroup: r.get('kubeReservedCgroup', ''),
    systemReservedCgroup: r.get('systemReservedCgroup', ''),
    swapBehavior: swap === 'LimitedSwap' ? ('LimitedSwap' as const) : ('NoSwap' as const),
    protectKernelDefaults: r.get('protectKernelDefaults', false),
    shutdownGracePeriods: shutdownGracePeriods({
      totalMs: r.get('shutdownGracePeriod', 0),
      criticalMs: r.get('shutdownGracePeriodCriticalPods', 0),
      byPriority: r.get('shutdownGracePeriodByPodPriority', []),
    }),
  };
}

function networkSettings(r: Reader, fileUsed: boolean) {
  return {
    clusterDNS: r.get<string[]>('clusterDNS', []),
    clusterDomain: r.get('clusterDomain', ''),
    resolvConf: r.get('resolvConf', '/etc/resolv.conf'),
    seccompDefault: r.get('seccompDefault', false),
    allowedUnsafeSysctls: r.get<string[]>('allowedUnsafeSysctls', []),
    featureGates: r.get<Record<string, boolean>>('featureGates', {}),
    address: r.orDefault('address', '0.0.0.0'),
    port: r.orDefault('port', 10_250),
    readOnlyPort: r.get('readOnlyPort', fileUsed ? 0 : LEGACY_READ_ONLY_PORT),
    healthzBindAddress: r.orDefault('healthzBindAddress', '127.0.0.1'),
    healthzPort: r.get('healthzPort', 10_248),
  };
}

export interface IsletSources {
  readonly written: Written;
  readonly rootDir: string;
  /** The kubelet's `podCIDR`, or empty. */
  readonly podCIDR: string;
  /** Processor cores of this machine. */
  readonly cores: number;
}

export function isletSettings({ written, rootDir, podCIDR, cores }: IsletSources): IsletSettings {
  const r = new Reader(written);
  // The bridge of a managed containerd has one subnet, of IPv4.
  const podSubnet = podCIDR.split(',').find((subnet) => subnet.includes('.'));
  return {
    containerd: r.orDefault('containerd', 'auto'),
    socketPath: r.orDefault('socketPath', path.join(rootDir, 'islet.sock')),
    // Half of a start is waiting for disk and network set-up: two a core keep the cores busy, and the first
    // pods are up long before the last one begins.
    maxParallelStarts: r.get('maxParallelStarts', 2 * cores),
    persistentVolumeDir: r.orDefault(
      'persistentVolumeDir',
      path.join(rootDir, 'persistent-volumes'),
    ),
    eventJournalSize: r.get('eventJournalSize', 5000),
    eventJournalMaxAgeMs: r.orDefault('eventJournalMaxAge', 7 * DAY_MS),
    pauseImage: r.orDefault('pauseImage', 'registry.k8s.io/pause:3.6'),
    podSubnet: r.orDefault('podSubnet', podSubnet ?? '10.88.0.0/16'),
    runtimeClasses: r.get<RuntimeClass[]>('runtimeClasses', []),
    imagePolicy: r.orDefault('imagePolicy', 'always-ask'),
    staticPodEviction: r.get('staticPodEviction', true),
    stopPodsOnExit: r.get('stopPodsOnExit', false),
  };
}

function unixUrl(endpoint: string): string {
  return endpoint.startsWith('/') ? `unix://${endpoint}` : endpoint;
}
