/**
 * Owns: a container runtime in memory, as far as an agent can tell: sandboxes, containers and images
 * with containerd's states, idempotence and errors. Nothing runs; a test says when a container exits.
 * Ids and times are made by counting, so runs are alike. Times are nanoseconds.
 */
import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import {
  ContainerEventType,
  ContainerState,
  ContainerStatusSchema,
  ImageSchema,
  NamespaceMode,
  PodSandboxSchema,
  PodSandboxState,
} from '../../src/cri/gen/cri_pb.ts';
import type {
  ContainerStatus,
  CreateContainerRequest,
  Image,
  PodSandbox,
  RunPodSandboxRequest,
} from '../../src/cri/gen/cri_pb.ts';
import { CriFault } from './fake-cri-rpc.ts';
import type { Handlers } from './fake-cri-rpc.ts';
import { usageHandlers } from './fake-usage.ts';
import type { FakeUsage } from './fake-usage.ts';

export interface FakeContainer {
  readonly sandboxId: string;
  readonly status: ContainerStatus;
}

export interface FakeSandbox {
  readonly listed: PodSandbox;
  /** '' on the host's network. */
  readonly ip: string;
}

export interface FakeEvent {
  readonly containerId: string;
  readonly containerEventType: ContainerEventType;
  readonly createdAt: bigint;
}

const START = 1_700_000_000_000_000_000n;

export class FakeRuntime {
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  readonly images = new Map<string, Image>();
  /** What a container uses, by id; of a sandbox, by its id too. */
  readonly usage: FakeUsage = { containers: new Map(), sandboxes: new Map(), imageFs: [] };
  onEvent: (event: FakeEvent) => void = () => {};
  /** The address of the nth sandbox, from 0 on. */
  addressOf = (nth: number): string => `10.88.0.${nth + 2}`;
  readonly handlers: Handlers;
  private count = 0;

  constructor() {
    this.handlers = { ...this.aboutRuntime(), ...this.aboutSandboxes(), ...this.aboutContainers() };
    Object.assign(this.handlers, this.aboutImages(), usageHandlers(this));
  }

  /** The process of a container ends. */
  exit(
    containerId: string,
    exitCode: number,
    reason = exitCode === 0 ? 'Completed' : 'Error',
  ): void {
    const { status } = this.container(containerId);
    if (status.state === ContainerState.CONTAINER_EXITED) return;
    Object.assign(status, {
      state: ContainerState.CONTAINER_EXITED,
      finishedAt: this.tick(),
      exitCode,
      reason,
    });
    this.event(containerId, ContainerEventType.CONTAINER_STOPPED_EVENT);
  }

  /** What it says it is. */
  software = { runtimeName: 'fake', runtimeVersion: '1.0.0' };

  /** Also what a pull of `name` would bring. */
  addImage(name: string): Image {
    const image = create(ImageSchema, {
      id: `sha256:${this.nextId()}`,
      repoTags: [name],
      size: 1n,
    });
    this.images.set(name, image);
    return image;
  }

  private aboutRuntime(): Handlers {
    return {
      version: () => ({
        version: '0.1.0',
        ...this.software,
        runtimeApiVersion: 'v1',
      }),
      status: () => ({
        status: {
          conditions: [
            { type: 'RuntimeReady', status: true },
            { type: 'NetworkReady', status: true },
          ],
        },
      }),
      updateRuntimeConfig: () => ({}),
    };
  }

  private aboutSandboxes(): Handlers {
    return {
      runPodSandbox: ({ config, runtimeHandler }) => ({
        podSandboxId: this.runSandbox(config, runtimeHandler),
      }),
      stopPodSandbox: ({ podSandboxId: id }) => {
        const sandbox = this.sandboxes.get(id);
        if (sandbox) sandbox.listed.state = PodSandboxState.SANDBOX_NOTREADY;
        for (const container of this.within(id)) this.exit(container, 137);
        return {};
      },
      removePodSandbox: ({ podSandboxId: id }) => {
        for (const container of this.within(id)) this.removeContainer(container);
        this.sandboxes.delete(id);
        return {};
      },
      podSandboxStatus: ({ podSandboxId: id }) => {
        const { listed, ip } = this.sandbox(id);
        const network = ip === '' ? NamespaceMode.NODE : NamespaceMode.POD;
        const linux = { namespaces: { options: { network } } };
        const { metadata, state, createdAt, labels, annotations, runtimeHandler } = listed;
        const seen = { id, metadata, state, createdAt, labels, annotations, runtimeHandler };
        return { status: { ...seen, network: { ip }, linux } };
      },
      listPodSandbox: ({ filter }) => ({
        items: [...this.sandboxes.values()]
          .map(({ listed }) => listed)
          .filter((sandbox) => matches(filter?.labelSelector, sandbox.labels)),
      }),
    };
  }

  private aboutContainers(): Handlers {
    return {
      createContainer: (request) => ({ containerId: this.createContainer(request) }),
      startContainer: ({ containerId: id }) => {
        const { status } = this.container(id);
        if (status.state !== ContainerState.CONTAINER_CREATED) throw new Error('is not created');
        Object.assign(status, { state: ContainerState.CONTAINER_RUNNING, startedAt: this.tick() });
        this.event(id, ContainerEventType.CONTAINER_STARTED_EVENT);
        return {};
      },
      stopContainer: ({ containerId: id }) => {
        this.container(id);
        this.exit(id, 137);
        return {};
      },
      removeContainer: ({ containerId: id }) => {
        this.removeContainer(id);
        return {};
      },
      containerStatus: ({ containerId: id }) => ({ status: this.container(id).status }),
      listContainers: ({ filter }) => ({
        containers: [...this.containers.values()]
          .filter(({ status }) => matches(filter?.labelSelector, status.labels))
          .map(({ sandboxId, status }) => {
            const { id, metadata, state, image, imageRef, createdAt, labels, annotations } = status;
            const listed = { id, metadata, state, image, imageRef, createdAt, labels, annotations };
            return { ...listed, podSandboxId: sandboxId };
          }),
      }),
      execSync: ({ containerId: id }) => {
        this.container(id);
        return {};
      },
      reopenContainerLog: () => ({}),
    };
  }

  private aboutImages(): Handlers {
    return {
      imageStatus: ({ image }) => {
        const found = this.findImage(image?.image ?? '');
        return found ? { image: found } : {};
      },
      pullImage: ({ image }) => {
        const name = image?.image ?? '';
        return { imageRef: (this.images.get(name) ?? this.addImage(name)).id };
      },
      listImages: () => ({ images: [...this.images.values()] }),
      removeImage: ({ image }) => {
        this.images.delete(image?.image ?? '');
        return {};
      },
    };
  }

  private runSandbox(config: RunPodSandboxRequest['config'], runtimeHandler: string): string {
    const { name, uid, namespace, attempt } = config?.metadata ?? {};
    const key = (m: PodSandbox['metadata']): string =>
      [m?.name, m?.namespace, m?.uid, m?.attempt].join('_');
    const wanted = [name, namespace, uid, attempt].join('_');
    for (const { listed } of this.sandboxes.values())
      if (key(listed.metadata) === wanted) throw reserved('sandbox', wanted, listed.id);
    const id = this.nextId();
    const { metadata, labels, annotations } = config ?? {};
    const listed = create(PodSandboxSchema, { id, metadata, labels, annotations, runtimeHandler });
    listed.createdAt = this.tick();
    const onHost = config?.linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
    this.sandboxes.set(id, { listed, ip: onHost ? '' : this.addressOf(this.sandboxes.size) });
    this.event(id, ContainerEventType.CONTAINER_CREATED_EVENT);
    this.event(id, ContainerEventType.CONTAINER_STARTED_EVENT);
    return id;
  }

  private createContainer({ podSandboxId, config }: CreateContainerRequest): string {
    this.sandbox(podSandboxId);
    const { name, attempt } = config?.metadata ?? {};
    for (const { sandboxId, status } of this.containers.values())
      if (
        sandboxId === podSandboxId &&
        status.metadata?.name === name &&
        status.metadata?.attempt === attempt
      )
        throw reserved('container', `${name}_${attempt}`, status.id);
    const id = this.nextId();
    const { metadata, labels, annotations, logPath, image, mounts } = config ?? {};
    const found = this.findImage(image?.image ?? '');
    const made = create(ContainerStatusSchema, {
      ...{ id, metadata, labels, annotations, logPath, mounts },
      image: { image: found?.repoTags[0] ?? image?.image ?? '' },
      imageRef: found?.id ?? image?.image ?? '',
      createdAt: this.tick(),
    });
    this.containers.set(id, { sandboxId: podSandboxId, status: made });
    this.event(id, ContainerEventType.CONTAINER_CREATED_EVENT);
    return id;
  }

  private removeContainer(id: string): void {
    if (!this.containers.has(id)) return;
    this.exit(id, 137);
    this.containers.delete(id);
    this.event(id, ContainerEventType.CONTAINER_DELETED_EVENT);
  }

  private findImage(name: string): Image | undefined {
    return this.images.get(name) ?? [...this.images.values()].find(({ id }) => id === name);
  }

  private sandbox(id: string): FakeSandbox {
    return this.sandboxes.get(id) ?? notFound('sandbox', id);
  }

  private container(id: string): FakeContainer {
    return this.containers.get(id) ?? notFound('container', id);
  }

  private within(sandboxId: string): string[] {
    return [...this.containers].filter(([, c]) => c.sandboxId === sandboxId).map(([id]) => id);
  }

  private event(containerId: string, containerEventType: ContainerEventType): void {
    this.onEvent({ containerId, containerEventType, createdAt: this.tick() });
  }

  private nextId(): string {
    return (++this.count).toString(16).padStart(64, '0');
  }

  private tick(): bigint {
    return START + BigInt(++this.count) * 1_000_000n;
  }
}

function notFound(kind: string, id: string): never {
  throw new CriFault(status.NOT_FOUND, `an error occurred when try to find ${kind} "${id}"`);
}

/** containerd says UNKNOWN here, and so does this. */
function reserved(kind: string, name: string, id: string): CriFault {
  return new CriFault(
    status.UNKNOWN,
    `failed to reserve ${kind} name "${name}": name "${name}" is reserved for "${id}"`,
  );
}

function matches(
  selector: Record<string, string> | undefined,
  labels: Record<string, string>,
): boolean {
  return Object.entries(selector ?? {}).every(([key, value]) => labels[key] === value);
}
