/**
 * Owns: what the fake runtime answers about usage: what a test has put in, with the attributes of the
 * container or sandbox it belongs to. What was not put in is left out, as runtimes do.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import type {
  ContainerStatsSchema,
  ContainerStatus,
  FilesystemUsageSchema,
  LinuxPodSandboxStatsSchema,
  PodSandbox,
} from '../../src/cri/gen/cri_pb.ts';
import { CriFault } from './fake-cri-rpc.ts';
import type { Handlers } from './fake-cri-rpc.ts';

type ContainerUsage = Omit<MessageInitShape<typeof ContainerStatsSchema>, '$typeName'>;
type SandboxUsage = Omit<MessageInitShape<typeof LinuxPodSandboxStatsSchema>, '$typeName'>;

export interface FakeUsage {
  readonly containers: Map<string, ContainerUsage>;
  readonly sandboxes: Map<string, SandboxUsage>;
  imageFs: MessageInitShape<typeof FilesystemUsageSchema>[];
}

export interface UsageSource {
  readonly usage: FakeUsage;
  readonly containers: ReadonlyMap<string, { readonly status: ContainerStatus }>;
  readonly sandboxes: ReadonlyMap<string, { readonly listed: PodSandbox }>;
}

export function usageHandlers(runtime: UsageSource): Handlers {
  const container = (id: string) => {
    const found = runtime.containers.get(id)?.status;
    if (!found) throw new CriFault(status.NOT_FOUND, `no container "${id}"`);
    const { metadata, labels, annotations } = found;
    const attributes = { id, metadata, labels, annotations };
    return { ...runtime.usage.containers.get(id), attributes };
  };
  const sandbox = (id: string) => {
    const found = runtime.sandboxes.get(id)?.listed;
    if (!found) throw new CriFault(status.NOT_FOUND, `no sandbox "${id}"`);
    const { metadata, labels, annotations } = found;
    const linux = runtime.usage.sandboxes.get(id);
    return { attributes: { id, metadata, labels, annotations }, ...(linux && { linux }) };
  };
  return {
    containerStats: ({ containerId }) => ({ stats: container(containerId) }),
    listContainerStats: () => ({ stats: [...runtime.containers.keys()].map(container) }),
    podSandboxStats: ({ podSandboxId }) => ({ stats: sandbox(podSandboxId) }),
    listPodSandboxStats: () => ({ stats: [...runtime.sandboxes.keys()].map(sandbox) }),
    imageFsInfo: () => ({ imageFilesystems: runtime.usage.imageFs }),
  };
}
