/**
 * Owns: the words of model.ts for the numbers of the protocol's enumerations. A number that a newer
 * runtime made up reads as the harmless word (spec: cri-mapping.md §8).
 */
import * as pb from './gen/cri_pb.ts';
import type {
  ContainerEventKind,
  ContainerPhase,
  MountPropagation,
  NamespaceMode,
  PortMapping,
  SandboxPhase,
  SecurityProfile,
  SupplementalGroupsPolicy,
} from './model.ts';

export const NAMESPACE_MODE = {
  pod: pb.NamespaceMode.POD,
  container: pb.NamespaceMode.CONTAINER,
  node: pb.NamespaceMode.NODE,
  target: pb.NamespaceMode.TARGET,
} satisfies Record<NamespaceMode, pb.NamespaceMode>;

export const PROTOCOL = {
  TCP: pb.Protocol.TCP,
  UDP: pb.Protocol.UDP,
  SCTP: pb.Protocol.SCTP,
} satisfies Record<PortMapping['protocol'], pb.Protocol>;

export const PROPAGATION = {
  private: pb.MountPropagation.PROPAGATION_PRIVATE,
  'host-to-container': pb.MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  bidirectional: pb.MountPropagation.PROPAGATION_BIDIRECTIONAL,
} satisfies Record<MountPropagation, pb.MountPropagation>;

export const PROFILE_TYPE = {
  'runtime-default': pb.SecurityProfile_ProfileType.RuntimeDefault,
  unconfined: pb.SecurityProfile_ProfileType.Unconfined,
  localhost: pb.SecurityProfile_ProfileType.Localhost,
} satisfies Record<SecurityProfile['type'], pb.SecurityProfile_ProfileType>;

export const GROUPS_POLICY = {
  Merge: pb.SupplementalGroupsPolicy.Merge,
  Strict: pb.SupplementalGroupsPolicy.Strict,
} satisfies Record<SupplementalGroupsPolicy, pb.SupplementalGroupsPolicy>;

export function containerPhase(state: pb.ContainerState): ContainerPhase {
  switch (state) {
    case pb.ContainerState.CONTAINER_CREATED:
      return 'created';
    case pb.ContainerState.CONTAINER_RUNNING:
      return 'running';
    case pb.ContainerState.CONTAINER_EXITED:
      return 'exited';
    case pb.ContainerState.CONTAINER_UNKNOWN:
    default:
      return 'unknown';
  }
}

export function sandboxPhase(state: pb.PodSandboxState): SandboxPhase {
  return state === pb.PodSandboxState.SANDBOX_READY ? 'ready' : 'notready';
}

export function namespaceMode(mode: pb.NamespaceMode): NamespaceMode {
  switch (mode) {
    case pb.NamespaceMode.CONTAINER:
      return 'container';
    case pb.NamespaceMode.NODE:
      return 'node';
    case pb.NamespaceMode.TARGET:
      return 'target';
    case pb.NamespaceMode.POD:
    default:
      return 'pod';
  }
}

/** undefined for a kind of event that islet does not know; the relist sees what it was about. */
export function eventKind(type: pb.ContainerEventType): ContainerEventKind | undefined {
  switch (type) {
    case pb.ContainerEventType.CONTAINER_CREATED_EVENT:
      return 'created';
    case pb.ContainerEventType.CONTAINER_STARTED_EVENT:
      return 'started';
    case pb.ContainerEventType.CONTAINER_STOPPED_EVENT:
      return 'stopped';
    case pb.ContainerEventType.CONTAINER_DELETED_EVENT:
      return 'deleted';
    default:
      return undefined;
  }
}

/** The signal that the API calls `name`; none, or one nobody knows, leaves it to the runtime. */
export function signalNumber(name: string | undefined): pb.Signal {
  const key = (name ?? '').replace('RTMIN+', 'RTMINPLUS').replace('RTMAX-', 'RTMAXMINUS');
  const number = Object.entries(pb.Signal).find(([known]) => known === key)?.[1];
  return typeof number === 'number' ? number : pb.Signal.RUNTIME_DEFAULT;
}
