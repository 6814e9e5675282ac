/**
 * Owns: what a runtime answers, from the protocol to model.ts (spec: cri-mapping.md §8). A runtime may
 * leave anything out, so everything has a default here and nothing throws.
 */
import { isIP } from 'node:net';
import { containerPhase, eventKind, namespaceMode, sandboxPhase } from './enums.ts';
import type * as pb from './gen/cri_pb.ts';
import type {
  Container,
  ContainerEvent,
  ContainerStatus,
  Image,
  LinuxResources,
  PodSandbox,
  PodSandboxMetadata,
  RuntimeStatus,
  SandboxStatus,
} from './model.ts';

export function runtimeStatusOf(answer: pb.StatusResponse): RuntimeStatus {
  return {
    conditions: (answer.status?.conditions ?? []).map((condition) => ({
      type: condition.type,
      status: condition.status,
      reason: condition.reason,
      message: condition.message,
    })),
    handlers: new Map(
      answer.runtimeHandlers.map(({ name, features }) => [
        name,
        {
          recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
          userNamespaces: features?.userNamespaces ?? false,
        },
      ]),
    ),
    supplementalGroupsPolicy: answer.features?.supplementalGroupsPolicy ?? false,
  };
}

export function podSandboxOf(sandbox: pb.PodSandbox): PodSandbox {
  return {
    id: sandbox.id,
    metadata: metadataOf(sandbox.metadata),
    state: sandboxPhase(sandbox.state),
    createdAt: sandbox.createdAt,
    labels: sandbox.labels,
    annotations: sandbox.annotations,
    runtimeHandler: sandbox.runtimeHandler,
  };
}

export function containerOf(container: pb.Container): Container {
  return {
    id: container.id,
    sandboxId: container.podSandboxId,
    name: container.metadata?.name ?? '',
    attempt: container.metadata?.attempt ?? 0,
    image: container.image?.image ?? '',
    imageRef: container.imageRef,
    state: containerPhase(container.state),
    createdAt: container.createdAt,
    labels: container.labels,
    annotations: container.annotations,
  };
}

/** Newest first: attempt, then creation, then the id for a stable order (spec §1). */
export function compareSandboxes(a: PodSandbox, b: PodSandbox): number {
  return (
    b.metadata.attempt - a.metadata.attempt ||
    Number(b.createdAt - a.createdAt) ||
    (a.id < b.id ? -1 : 1)
  );
}

/** Newest first (spec §1). */
export function compareContainers(a: Container, b: Container): number {
  return Number(b.createdAt - a.createdAt);
}

export function sandboxStatusOf(status: pb.PodSandboxStatus): SandboxStatus {
  return {
    id: status.id,
    metadata: metadataOf(status.metadata),
    state: sandboxPhase(status.state),
    createdAt: status.createdAt,
    ips: ipsOf(status.network),
    networkMode: namespaceMode(status.linux?.namespaces?.options?.network ?? 0),
    labels: status.labels,
    annotations: status.annotations,
    runtimeHandler: status.runtimeHandler,
  };
}

export function containerStatusOf(status: pb.ContainerStatus): ContainerStatus {
  const user = status.user?.linux;
  const resources = status.resources?.linux;
  return {
    id: status.id,
    name: status.metadata?.name ?? '',
    attempt: status.metadata?.attempt ?? 0,
    state: containerPhase(status.state),
    createdAt: status.createdAt,
    startedAt: status.startedAt,
    finishedAt: status.finishedAt,
    exitCode: status.exitCode,
    image: status.image?.image ?? '',
    imageRef: status.imageRef,
    imageId: status.imageId === '' ? status.imageRef : status.imageId,
    reason: status.reason,
    message: status.message,
    labels: status.labels,
    annotations: status.annotations,
    mounts: status.mounts.map(({ containerPath, hostPath, readonly, recursiveReadOnly }) => ({
      containerPath,
      hostPath,
      readonly,
      recursiveReadOnly,
    })),
    logPath: status.logPath,
    ...(user && {
      user: {
        uid: Number(user.uid),
        gid: Number(user.gid),
        supplementalGroups: user.supplementalGroups.map(Number),
      },
    }),
    ...(resources && { resources: resourcesOf(resources) }),
  };
}

export function imageOf(image: pb.Image): Image {
  return {
    id: image.id,
    repoTags: image.repoTags,
    repoDigests: image.repoDigests,
    size: Number(image.size),
    ...(image.uid && { uid: Number(image.uid.value) }),
    username: image.username,
    pinned: image.pinned,
  };
}

/** undefined for a kind of event that islet does not know. */
export function containerEventOf(event: pb.ContainerEventResponse): ContainerEvent | undefined {
  const kind = eventKind(event.containerEventType);
  const podUid = event.podSandboxStatus?.metadata?.uid;
  return (
    kind && {
      containerId: event.containerId,
      kind,
      createdAt: event.createdAt,
      podUid: podUid === '' ? undefined : podUid,
    }
  );
}

function metadataOf(metadata: pb.PodSandboxMetadata | undefined): PodSandboxMetadata {
  return {
    name: metadata?.name ?? '',
    namespace: metadata?.namespace ?? '',
    uid: metadata?.uid ?? '',
    attempt: metadata?.attempt ?? 0,
  };
}

/** Primary first. One address that cannot be parsed and none of them is believed (spec §8). */
function ipsOf(network: pb.PodSandboxNetworkStatus | undefined): string[] {
  if (!network) return [];
  const additional = network.additionalIps.map(({ ip }) => ip);
  const ips = network.ip === '' ? additional : [network.ip, ...additional];
  return ips.every((ip) => isIP(ip) !== 0) ? ips : [];
}

function resourcesOf(resources: pb.LinuxContainerResources): LinuxResources {
  return {
    cpuPeriod: Number(resources.cpuPeriod),
    cpuQuota: Number(resources.cpuQuota),
    cpuShares: Number(resources.cpuShares),
    memoryLimitInBytes: Number(resources.memoryLimitInBytes),
    memorySwapLimitInBytes: Number(resources.memorySwapLimitInBytes),
    oomScoreAdj: Number(resources.oomScoreAdj),
    hugepageLimits: resources.hugepageLimits.map(({ pageSize, limit }) => ({
      pageSize,
      limit: Number(limit),
    })),
    unified: resources.unified,
  };
}
