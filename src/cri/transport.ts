/**
 * Owns: the shape of one gRPC call in bytes, so that metering and typed calls are written once
 * around it. Leaves to others: what the bytes mean (typed-call.ts), the socket (channel.ts).
 */

export interface WireCall {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** The method's own name, for errors and metrics, e.g. `StopContainer`. */
  readonly rpc: string;
  /** What the call is about, for errors; '' for the runtime as a whole. */
  readonly id: string;
  readonly request: Uint8Array;
  /** Infinity: no deadline. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Only of RunPodSandbox, for its metrics. */
  readonly runtimeHandler?: string;
}

/** Every failure is an IsletError made by errors.ts. */
export interface Transport {
  unary(call: WireCall): Promise<Uint8Array>;
  /** The call starts with the first `next()` and is cancelled when the iteration is left. */
  stream(call: WireCall): AsyncIterable<Uint8Array>;
}
