/**
 * Owns: RuntimeService of model.ts over a transport: which call, which deadline, which answers count
 * as success. Leaves to others: conversion (convert*.ts), the socket (channel.ts).
 */
import { fromBinary } from '@bufbuild/protobuf';
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { Label } from '../api/reasons.ts';
import { IsletError, codeOf } from '../util/errors.ts';
import {
  compareContainers,
  compareSandboxes,
  containerEventOf,
  containerOf,
  containerStatusOf,
  podSandboxOf,
  runtimeStatusOf,
  sandboxStatusOf,
} from './convert-answer.ts';
import { containerConfigToProto } from './convert-container.ts';
import { containerStatsOf, sandboxStatsOf } from './convert-stats.ts';
import { sandboxConfigToProto } from './convert.ts';
import {
  execSyncTimeout,
  reopenContainerLogTimeout,
  runPodSandboxTimeout,
  stopContainerTimeout,
} from './deadlines.ts';
import { badAnswer } from './errors.ts';
import {
  CgroupDriver,
  ContainerSchema,
  PodSandboxSchema,
  RuntimeService as Rpc,
} from './gen/cri_pb.ts';
import type * as model from './model.ts';
import { toInt64 } from './number.ts';
import type { Transport, WireCall } from './transport.ts';
import { callStream, callUnary, wireCall } from './typed-call.ts';
import type { ContainerStats, SandboxStats } from './usage.ts';

/** What Version is called with and must answer (spec: cri-mapping.md §1). */
export const CRI_VERSION = '0.1.0';

export interface RuntimeServiceDeps {
  readonly transport: Transport;
  readonly requestTimeoutMs: number;
}

interface Extra {
  readonly id?: string;
  readonly timeoutMs?: number;
  readonly runtimeHandler?: string;
}

export class CriRuntimeService implements model.RuntimeService {
  private readonly transport: Transport;
  private readonly timeoutMs: number;
  /** The two requests of the relist, made once; they are the same every time. */
  private readonly rawSandboxes: WireCall;
  private readonly rawContainers: WireCall;

  constructor(deps: RuntimeServiceDeps) {
    this.transport = deps.transport;
    this.timeoutMs = deps.requestTimeoutMs;
    const options = { id: '', timeoutMs: this.timeoutMs, signal: undefined };
    this.rawSandboxes = wireCall(Rpc.method.listPodSandbox, {}, options);
    this.rawContainers = wireCall(Rpc.method.listContainers, {}, options);
  }

  async version(signal?: AbortSignal): Promise<model.RuntimeVersion> {
    const answer = await this.call(Rpc.method.version, { version: CRI_VERSION }, signal);
    const { version, runtimeName, runtimeVersion, runtimeApiVersion } = answer;
    if (version !== CRI_VERSION) {
      throw new IsletError(
        'failed',
        `Version: the runtime ${runtimeName} ${runtimeVersion} speaks CRI "${version}", not ${CRI_VERSION}`,
      );
    }
    return { version, runtimeName, runtimeVersion, runtimeApiVersion };
  }

  async status(signal?: AbortSignal): Promise<model.RuntimeStatus> {
    return runtimeStatusOf(await this.call(Rpc.method.status, {}, signal));
  }

  async sandboxImage(signal?: AbortSignal): Promise<string | undefined> {
    const { info } = await this.call(Rpc.method.status, { verbose: true }, signal);
    return sandboxImageOf(info['config'] ?? '');
  }

  async cgroupDriver(signal?: AbortSignal): Promise<'cgroupfs' | 'systemd'> {
    const { linux } = await this.call(Rpc.method.runtimeConfig, {}, signal);
    // systemd is 0, so a runtime that answers without a driver would seem to ask for it.
    if (!linux)
      throw new IsletError('unimplemented', 'RuntimeConfig: no cgroup driver in the answer');
    return linux.cgroupDriver === CgroupDriver.CGROUPFS ? 'cgroupfs' : 'systemd';
  }

  async runPodSandbox(
    config: model.SandboxConfig,
    runtimeHandler: string,
    signal?: AbortSignal,
  ): Promise<string> {
    const request = { config: sandboxConfigToProto(config), runtimeHandler };
    const answer = await this.call(Rpc.method.runPodSandbox, request, signal, {
      id: `${config.metadata.namespace}/${config.metadata.name}`,
      timeoutMs: runPodSandboxTimeout(this.timeoutMs),
      runtimeHandler,
    });
    return answer.podSandboxId;
  }

  async stopPodSandbox(id: string, signal?: AbortSignal): Promise<void> {
    await unlessGone(this.call(Rpc.method.stopPodSandbox, { podSandboxId: id }, signal, { id }));
  }

  async removePodSandbox(id: string, signal?: AbortSignal): Promise<void> {
    await unlessGone(this.call(Rpc.method.removePodSandbox, { podSandboxId: id }, signal, { id }));
  }

  async podSandboxStatus(id: string, signal?: AbortSignal): Promise<model.SandboxStatus> {
    const request = { podSandboxId: id };
    const { status } = await this.call(Rpc.method.podSandboxStatus, request, signal, { id });
    if (!status) throw badAnswer('PodSandboxStatus', id, new Error('no status in the answer'));
    return sandboxStatusOf(status);
  }

  async listPodSandboxes(
    filter: { podUid?: string },
    signal?: AbortSignal,
  ): Promise<model.PodSandbox[]> {
    const { items } = await this.call(Rpc.method.listPodSandbox, listFilter(filter), signal);
    return items
      .filter((item) => item.metadata)
      .map(podSandboxOf)
      .sort(compareSandboxes);
  }

  async createContainer(
    sandboxId: string,
    config: model.ContainerConfig,
    sandbox: model.SandboxConfig,
    signal?: AbortSignal,
  ): Promise<string> {
    const request = {
      podSandboxId: sandboxId,
      config: containerConfigToProto(config),
      sandboxConfig: sandboxConfigToProto(sandbox),
    };
    const id = `${sandbox.metadata.namespace}/${sandbox.metadata.name}/${config.name}`;
    const answer = await this.call(Rpc.method.createContainer, request, signal, { id });
    return answer.containerId;
  }

  async startContainer(id: string, signal?: AbortSignal): Promise<void> {
    await this.call(Rpc.method.startContainer, { containerId: id }, signal, { id });
  }

  async stopContainer(id: string, graceSeconds: number, signal?: AbortSignal): Promise<void> {
    const request = { containerId: id, timeout: toInt64(graceSeconds) };
    const timeoutMs = stopContainerTimeout(this.timeoutMs, graceSeconds);
    await unlessGone(this.call(Rpc.method.stopContainer, request, signal, { id, timeoutMs }));
  }

  async removeContainer(id: string, signal?: AbortSignal): Promise<void> {
    await unlessGone(this.call(Rpc.method.removeContainer, { containerId: id }, signal, { id }));
  }

  async containerStatus(id: string, signal?: AbortSignal): Promise<model.ContainerStatus> {
    const request = { containerId: id };
    const { status } = await this.call(Rpc.method.containerStatus, request, signal, { id });
    if (!status) throw badAnswer('ContainerStatus', id, new Error('no status in the answer'));
    return containerStatusOf(status);
  }

  async listContainers(
    filter: { podUid?: string },
    signal?: AbortSignal,
  ): Promise<model.Container[]> {
    const answer = await this.call(Rpc.method.listContainers, listFilter(filter), signal);
    return answer.containers
      .filter((item) => item.metadata)
      .map(containerOf)
      .sort(compareContainers);
  }

  async execSync(
    id: string,
    command: string[],
    timeoutSeconds: number,
    signal?: AbortSignal,
  ): Promise<model.ExecResult> {
    const request = { containerId: id, cmd: command, timeout: toInt64(timeoutSeconds) };
    const timeoutMs = execSyncTimeout(this.timeoutMs, timeoutSeconds);
    const answer = await this.call(Rpc.method.execSync, request, signal, { id, timeoutMs });
    return { stdout: answer.stdout, stderr: answer.stderr, exitCode: answer.exitCode };
  }

  async containerStats(id: string, signal?: AbortSignal): Promise<ContainerStats> {
    const request = { containerId: id };
    const { stats } = await this.call(Rpc.method.containerStats, request, signal, { id });
    if (!stats) throw badAnswer('ContainerStats', id, new Error('no stats in the answer'));
    return containerStatsOf(stats);
  }

  async listContainerStats(
    filter: { podUid?: string },
    signal?: AbortSignal,
  ): Promise<ContainerStats[]> {
    const answer = await this.call(Rpc.method.listContainerStats, listFilter(filter), signal);
    return answer.stats.filter((item) => item.attributes).map(containerStatsOf);
  }

  async podSandboxStats(id: string, signal?: AbortSignal): Promise<SandboxStats> {
    const request = { podSandboxId: id };
    const { stats } = await this.call(Rpc.method.podSandboxStats, request, signal, { id });
    if (!stats) throw badAnswer('PodSandboxStats', id, new Error('no stats in the answer'));
    return sandboxStatsOf(stats);
  }

  async listPodSandboxStats(
    filter: { podUid?: string },
    signal?: AbortSignal,
  ): Promise<SandboxStats[]> {
    const answer = await this.call(Rpc.method.listPodSandboxStats, listFilter(filter), signal);
    return answer.stats.filter((item) => item.attributes).map(sandboxStatsOf);
  }

  async reopenContainerLog(id: string, signal?: AbortSignal): Promise<void> {
    const timeoutMs = reopenContainerLogTimeout(this.timeoutMs);
    await this.call(Rpc.method.reopenContainerLog, { containerId: id }, signal, { id, timeoutMs });
  }

  async updateRuntimeConfig(podCidr: string, signal?: AbortSignal): Promise<void> {
    const request = { runtimeConfig: { networkConfig: { podCidr } } };
    await this.call(Rpc.method.updateRuntimeConfig, request, signal);
  }

  listPodSandboxesRaw(signal?: AbortSignal): Promise<Uint8Array> {
    return this.transport.unary(signal ? { ...this.rawSandboxes, signal } : this.rawSandboxes);
  }

  listContainersRaw(signal?: AbortSignal): Promise<Uint8Array> {
    return this.transport.unary(signal ? { ...this.rawContainers, signal } : this.rawContainers);
  }

  decodePodSandbox(entry: Uint8Array): model.PodSandbox {
    return podSandboxOf(entryOf('ListPodSandbox', PodSandboxSchema, entry));
  }

  decodeContainer(entry: Uint8Array): model.Container {
    return containerOf(entryOf('ListContainers', ContainerSchema, entry));
  }

  async *containerEvents(signal: AbortSignal): AsyncGenerator<model.ContainerEvent> {
    const options = { id: '', timeoutMs: Infinity, signal };
    const method = Rpc.method.getContainerEvents;
    for await (const message of callStream(this.transport, method, {}, options)) {
      const event = containerEventOf(message);
      if (event) yield event;
    }
  }

  private call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal | undefined,
    extra: Extra = {},
  ): Promise<MessageShape<O>> {
    const options = { id: '', timeoutMs: this.timeoutMs, signal, ...extra };
    return callUnary(this.transport, method, request, options);
  }
}

function listFilter({ podUid }: { podUid?: string }): {
  filter?: { labelSelector: Record<string, string> };
} {
  return podUid === undefined ? {} : { filter: { labelSelector: { [Label.podUid]: podUid } } };
}

/** To stop or to remove what is not there has worked. */
async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (codeOf(error) !== 'not-found') throw error;
  }
}

/** containerd gives its configuration as JSON text; other runtimes give what they like. */
function sandboxImageOf(config: string): string | undefined {
  try {
    const { sandboxImage } = JSON.parse(config) as { sandboxImage?: unknown };
    return typeof sandboxImage === 'string' && sandboxImage !== '' ? sandboxImage : undefined;
  } catch {
    return undefined;
  }
}

function entryOf<D extends DescMessage>(
  rpc: string,
  schema: D,
  entry: Uint8Array,
): MessageShape<D> {
  try {
    return fromBinary(schema, entry);
  } catch (error) {
    throw badAnswer(rpc, '', error);
  }
}
