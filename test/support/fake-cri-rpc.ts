/**
 * Owns: the shape of what answers one RPC of the fake runtime, and the failure it may answer with.
 */
import type { MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { status } from '@grpc/grpc-js';
import type { ImageService, RuntimeService } from '../../src/cri/gen/cri_pb.ts';

type Methods = (typeof RuntimeService)['method'] & (typeof ImageService)['method'];

/** An RPC's name as the generated code has it, e.g. `runPodSandbox`. */
export type RpcName = keyof Methods;

type Request<N extends RpcName> = MessageShape<Methods[N]['input']>;
type Answer<N extends RpcName> = MessageInitShape<Methods[N]['output']>;
export type Handler<N extends RpcName> = (request: Request<N>) => Answer<N> | Promise<Answer<N>>;
export type Handlers = { [N in RpcName]?: Handler<N> };
/** Thrown by a handler: the status that the caller gets. */
export class CriFault extends Error {
  readonly code: status;

  constructor(code: status, text: string) {
    super(text);
    this.code = code;
  }
}
