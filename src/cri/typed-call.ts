/**
 * Owns: a call in messages, made of a call in bytes. Leaves to others: what a message means in plain
 * words (the convert files), deadlines.
 */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { badAnswer } from './errors.ts';
import type { Transport, WireCall } from './transport.ts';

export interface CallOptions {
  /** What the call is about, for errors; '' for the runtime as a whole. */
  readonly id: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly runtimeHandler?: string;
}

/** Fails with the transport's error, or `corrupt` when the answer cannot be decoded. */
export async function callUnary<I extends DescMessage, O extends DescMessage>(
  transport: Transport,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  options: CallOptions,
): Promise<MessageShape<O>> {
  const answer = await transport.unary(wireCall(method, request, options));
  return decode(method, answer, options.id);
}

export async function* callStream<I extends DescMessage, O extends DescMessage>(
  transport: Transport,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  options: CallOptions,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  for await (const message of transport.stream(wireCall(method, request, options))) {
    yield decode(method, message, options.id);
  }
}

/** For calls whose answer stays bytes. */
export function wireCall<I extends DescMessage>(
  method: {
    readonly parent: { readonly typeName: string };
    readonly name: string;
    readonly input: I;
  },
  request: MessageInitShape<I>,
  options: CallOptions,
): WireCall {
  return {
    ...options,
    path: `/${method.parent.typeName}/${method.name}`,
    rpc: method.name,
    request: toBinary(method.input, create(method.input, request)),
  };
}

function decode<O extends DescMessage>(
  method: { readonly name: string; readonly output: O },
  bytes: Uint8Array,
  id: string,
): MessageShape<O> {
  try {
    return fromBinary(method.output, bytes);
  } catch (error) {
    throw badAnswer(method.name, id, error);
  }
}
