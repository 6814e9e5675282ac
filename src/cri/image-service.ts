/**
 * Owns: ImageService of model.ts over a transport. Leaves to others: when to pull and with whose
 * credentials (image/).
 */
import { codeOf } from '../util/errors.ts';
import { imageOf } from './convert-answer.ts';
import { fsUsageOf } from './convert-stats.ts';
import { sandboxConfigToProto } from './convert.ts';
import { PULL_IMAGE_TIMEOUT } from './deadlines.ts';
import { ImageService as Rpc } from './gen/cri_pb.ts';
import type { AuthConfig, Image, ImageService, SandboxConfig } from './model.ts';
import type { Transport } from './transport.ts';
import { callUnary } from './typed-call.ts';
import type { CallOptions } from './typed-call.ts';
import type { FsUsage } from './usage.ts';

export interface ImageServiceDeps {
  readonly transport: Transport;
  readonly requestTimeoutMs: number;
}

export class CriImageService implements ImageService {
  private readonly transport: Transport;
  private readonly timeoutMs: number;

  constructor(deps: ImageServiceDeps) {
    this.transport = deps.transport;
    this.timeoutMs = deps.requestTimeoutMs;
  }

  async imageStatus(image: string, signal?: AbortSignal): Promise<Image | undefined> {
    const request = { image: { image } };
    const options = this.options(image, signal);
    const answer = await callUnary(this.transport, Rpc.method.imageStatus, request, options);
    return answer.image && imageOf(answer.image);
  }

  async pullImage(
    image: string,
    auth: AuthConfig | undefined,
    sandbox: SandboxConfig | undefined,
    annotations: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<string> {
    const request = {
      image: { image, annotations },
      auth,
      sandboxConfig: sandbox && sandboxConfigToProto(sandbox),
    };
    const options = { id: image, timeoutMs: PULL_IMAGE_TIMEOUT, signal };
    const answer = await callUnary(this.transport, Rpc.method.pullImage, request, options);
    return answer.imageRef;
  }

  async listImages(signal?: AbortSignal): Promise<Image[]> {
    const options = this.options('', signal);
    const answer = await callUnary(this.transport, Rpc.method.listImages, {}, options);
    return answer.images.map(imageOf);
  }

  /** To remove what is not there has worked. */
  async removeImage(image: string, signal?: AbortSignal): Promise<void> {
    const request = { image: { image } };
    const options = this.options(image, signal);
    try {
      await callUnary(this.transport, Rpc.method.removeImage, request, options);
    } catch (error) {
      if (codeOf(error) !== 'not-found') throw error;
    }
  }

  async fsUsage(signal?: AbortSignal): Promise<{ images: FsUsage[]; containers: FsUsage[] }> {
    const options = this.options('', signal);
    const answer = await callUnary(this.transport, Rpc.method.imageFsInfo, {}, options);
    return {
      images: answer.imageFilesystems.map(fsUsageOf),
      containers: answer.containerFilesystems.map(fsUsageOf),
    };
  }

  private options(id: string, signal: AbortSignal | undefined): CallOptions {
    return { id, timeoutMs: this.timeoutMs, signal };
  }
}
