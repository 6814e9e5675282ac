/**
 * Owns: the wiring of what pod workers act with: image puller, starter, executor, killer, and the passes
 * that start and end a pod.
 */
import type { RuntimeVersion } from './cri/model.ts';
import type { Config } from './config/model.ts';
import { deadToKeep } from './gc/dead-plan.ts';
import type { ImageAccess } from './image/access.ts';
import { Credentials } from './image/credentials.ts';
import { pullDuration } from './image/pull-metric.ts';
import { ImagePuller } from './image/puller.ts';
import { TokenBucket } from './image/token-bucket.ts';
import type { UseLedger } from './image/use-ledger.ts';
import type { CgroupKeeper } from './pod/cgroup-keeper.ts';
import type { PodCgroups } from './pod/cgroups.ts';
import { PodEnd } from './pod/end.ts';
import type { RuntimeView } from './pod/ports.ts';
import { PodSync } from './pod/sync.ts';
import type { ProbeManager } from './probe/manager.ts';
import { CrashBackoff } from './runtime/crash-backoff.ts';
import { PodExecutor } from './runtime/execute.ts';
import type { RuntimeFeatures } from './runtime/features.ts';
import { PodKiller } from './runtime/kill.ts';
import type { PodFiles } from './runtime/pod-files.ts';
import { SandboxBuilder } from './runtime/sandbox-builder.ts';
import { ContainerStarter } from './runtime/start.ts';
import { subordinateIds } from './runtime/subids.ts';
import { UserNamespaces } from './runtime/user-namespaces.ts';
import type { RuntimeHalfDeps } from './runtime-half.ts';
import { TerminationMessages } from './status/termination-message.ts';
import { Limiter } from './util/limiter.ts';
import type { VolumeManager } from './volume/manager.ts';

type NodeParts = Pick<
  RuntimeHalfDeps,
  | 'config'
  | 'facts'
  | 'cri'
  | 'source'
  | 'hashKey'
  | 'store'
  | 'statuses'
  | 'registry'
  | 'clock'
  | 'logger'
>;

export interface WorkerPartsDeps extends NodeParts {
  readonly version: RuntimeVersion;
  readonly runtimeView: RuntimeView;
  readonly features: RuntimeFeatures;
  readonly files: PodFiles;
  readonly volumes: VolumeManager;
  readonly probes: ProbeManager;
  readonly cgroups: PodCgroups;
  readonly keeper: CgroupKeeper;
  readonly imageAccess: ImageAccess;
  readonly ledger: UseLedger;
  /** A container runs, with its log at that path. */
  readonly onStarted: (id: string, log: string) => void;
}

const START_PATIENCE_MS = 4_000;
const PULL_PATIENCE_MS = 120_000;
const CRASH_BACKOFF_BASE_MS = 10_000;

export function workerParts(deps: WorkerPartsDeps): { sync: PodSync; end: PodEnd } {
  const { config, facts, clock, logger, store, statuses, hashKey } = deps;
  const { runtimeView, features, files, volumes, probes, keeper: cgroups } = deps;
  const { runtime } = deps.cri;
  const { events } = store;
  const objects = deps.source.configs;
  const backoff = crashBackoff(deps);
  const puller = imagePuller(deps);
  const messages = new TerminationMessages();
  const nodeIp = facts.nodeIps[0];
  const killer = new PodKiller({ runtime, events, clock, logger, objects, nodeIp });
  const sandboxes = sandboxBuilder(deps);
  const starter = new ContainerStarter({
    ...{ runtime, puller, backoff, killer, files, subPaths: volumes },
    ...{ features, facts, events, clock, objects },
    onStarted: deps.onStarted,
  });
  const executor = new PodExecutor({
    ...{ runtime, starter, backoff, killer, sandboxes, files, events, logger },
  });
  const { maxParallelStarts: slots } = config.islet;
  const sync = new PodSync({
    ...{ runtimeView, statuses, messages, executor, backoff, volumes, cgroups, files, probes },
    ...{ runtime: features, events, clock, objects, hashKey },
    starts: new Limiter({ slots, patienceMs: START_PATIENCE_MS, clock }),
    nodeIps: facts.nodeIps,
    runtimeName: deps.version.runtimeName,
    deadToKeep: deadToKeep(config.deadContainers),
  });
  const forget = (uid: string): void => {
    probes.remove(uid);
    puller.forget(uid);
    backoff.forget(uid);
    messages.forget(uid);
    store.restarts.deletePod(uid);
  };
  const end = new PodEnd({
    ...{ runtimeView, runtime, killer, probes, volumes, cgroups, files, statuses, events, clock },
    forget,
  });
  return { sync, end };
}

function crashBackoff({ config, store, clock }: WorkerPartsDeps): CrashBackoff {
  const maxMs = config.kubelet.maxContainerRestartPeriodMs;
  const range = { baseMs: Math.min(CRASH_BACKOFF_BASE_MS, maxMs), maxMs };
  return new CrashBackoff({ clock, store: store.restarts, range });
}

function sandboxBuilder({ config, facts, store, features, cgroups }: WorkerPartsDeps) {
  return new SandboxBuilder({
    ...{ facts, features, events: store.events },
    cgroupParent: (pod) => cgroups.cgroupParent(pod),
    runtimeClasses: config.islet.runtimeClasses,
    userNamespaces: new UserNamespaces({
      rootDir: config.rootDir,
      idsPerPod: config.kubelet.userNamespaceIdsPerPod,
      configuredRange: () => subordinateIds(),
    }),
  });
}

function imagePuller(deps: WorkerPartsDeps): ImagePuller {
  const { config, cri, clock, logger, store, source, registry, ledger } = deps;
  const { kubelet, islet, rootDir, credentialProviders: providers } = config;
  const { events } = store;
  return new ImagePuller({
    ...{ images: cri.images, clock, events, ledger },
    pulls: new Limiter({ slots: parallelPulls(config), patienceMs: PULL_PATIENCE_MS, clock }),
    rate: new TokenBucket({
      clock,
      perSecond: kubelet.registryPullQPS,
      burst: kubelet.registryBurst,
    }),
    credentials: new Credentials({
      ...{ objects: source.configs, providers, rootDir, events, clock, logger },
      metrics: registry,
    }),
    access: deps.imageAccess,
    imagePolicy: islet.imagePolicy,
    duration: pullDuration(registry),
  });
}

function parallelPulls(config: Config): number {
  if (config.kubelet.serializeImagePulls) return 1;
  return config.kubelet.maxParallelImagePulls ?? Number.MAX_SAFE_INTEGER;
}
