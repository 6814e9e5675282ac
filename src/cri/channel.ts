/**
 * Owns: the one gRPC channel to a runtime's socket, and calls of bytes over it.
 *
 * Invariants:
 * - A call fails fast with `unavailable` while nobody listens. It never waits for the runtime to come
 *   back: the callers are level-driven and ask again.
 * - The channel comes back by itself. A connection that was lost is opened anew by the next call;
 *   after failures in a row there is a pause of 0.1 s growing to 3 s (spec: cri-mapping.md §1).
 * - No pings: a dead peer closes a unix socket, and containerd punishes clients that ping often.
 *
 * Calls go to the channel below grpc-js's client classes. Those add an error with a stack trace, an
 * event emitter and an interceptor chain to every call, for nothing: the relist calls twice a second
 * for ever.
 */
import { Channel, Metadata, connectivityState, credentials, status as Status } from '@grpc/grpc-js';
import type { StatusObject } from '@grpc/grpc-js';
import type { Clock } from '../util/clock.ts';
import type { IsletError } from '../util/errors.ts';
import { callError } from './errors.ts';
import type { Transport, WireCall } from './transport.ts';

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** Longer than a timer can run; grpc-js would fire a longer one at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const OPTIONS = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3000,
  // The default closes a connection that was idle for 30 min, only to open it again.
  'grpc.client_idle_timeout_ms': LONGEST_TIMER_MS,
  'grpc.enable_channelz': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.primary_user_agent': 'islet',
};

export interface ChannelDeps {
  readonly socketPath: string;
  readonly clock: Clock;
  /** The connection was there and is lost, or is there (again). */
  readonly onConnection?: (connected: boolean) => void;
}

type GrpcCall = ReturnType<Channel['createCall']>;

export class GrpcTransport implements Transport {
  private readonly deps: ChannelDeps;
  private readonly channel: Channel;
  /** Sent with every call; grpc-js clones it before it adds a call's own headers. */
  private readonly metadata = new Metadata();
  /** Calls under way; grpc-js does not end them with the channel. */
  private readonly calls = new Set<GrpcCall>();
  private closed = false;

  constructor(deps: ChannelDeps) {
    this.deps = deps;
    this.channel = new Channel(`unix:${deps.socketPath}`, credentials.createInsecure(), OPTIONS);
    if (deps.onConnection) this.watch(deps.onConnection, connectivityState.IDLE);
  }

  unary(call: WireCall): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      let answer: Uint8Array | undefined;
      this.start(
        call,
        (message) => (answer = message),
        (outcome, deadline) => {
          if (outcome.code !== Status.OK) reject(this.failure(call, outcome, deadline));
          else if (answer) resolve(answer);
          else reject(callError(call.rpc, call.id, Status.INTERNAL, 'the answer is missing'));
        },
      ).startRead();
    });
  }

  async *stream(call: WireCall): AsyncGenerator<Uint8Array, void, undefined> {
    let wake: () => void = () => {};
    let message: Uint8Array | undefined;
    let failure: IsletError | undefined;
    let ended = false;
    const wire = this.start(
      call,
      (received) => {
        message = received;
        wake();
      },
      (outcome, deadline) => {
        ended = true;
        if (outcome.code !== Status.OK) failure = this.failure(call, outcome, deadline);
        wake();
      },
    );
    try {
      for (;;) {
        wire.startRead(); // one message at a time: a slow reader slows the runtime, not our memory
        if (!message && !ended) await new Promise<void>((resolve) => (wake = resolve));
        if (!message) break;
        const next = message;
        message = undefined;
        yield next;
      }
      if (failure) throw failure;
    } finally {
      wire.cancelWithStatus(Status.CANCELLED, 'left');
    }
  }

  /** Calls under way fail, later ones are refused as `unavailable`. */
  close(): void {
    this.closed = true;
    for (const wire of this.calls)
      wire.cancelWithStatus(Status.UNAVAILABLE, 'the client is closed');
    this.channel.close();
  }

  private start(
    call: WireCall,
    onMessage: (message: Uint8Array) => void,
    onEnd: (outcome: StatusObject, deadline: number) => void,
  ): GrpcCall {
    const { signal } = call;
    if (this.closed) {
      throw callError(call.rpc, call.id, Status.UNAVAILABLE, 'the client is closed');
    }
    if (signal?.aborted) throw callError(call.rpc, call.id, Status.CANCELLED, 'given up');
    // grpc-js turns the wall time into a timer at once, so a later jump of the clock does no harm.
    const deadline =
      call.timeoutMs > LONGEST_TIMER_MS ? Infinity : this.deps.clock.wall() + call.timeoutMs;
    const wire = this.channel.createCall(call.path, deadline, null, null, null);
    const onAbort = (): void => wire.cancelWithStatus(Status.CANCELLED, 'given up');
    this.calls.add(wire);
    wire.start(this.metadata, {
      onReceiveMetadata: () => {},
      onReceiveMessage: onMessage,
      onReceiveStatus: (outcome) => {
        this.calls.delete(wire);
        signal?.removeEventListener('abort', onAbort);
        onEnd(outcome, deadline);
      },
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    wire.sendMessageWithContext({}, bufferOf(call.request));
    wire.halfClose();
    return wire;
  }

  private failure(call: WireCall, outcome: StatusObject, deadline: number): IsletError {
    // grpc-js puts times and addresses into its text; users see it, so it must stay the same.
    const ours = outcome.code === Status.DEADLINE_EXCEEDED && this.deps.clock.wall() >= deadline;
    const text = ours ? 'context deadline exceeded' : outcome.details;
    // `aborted` is only what the caller gave up; a runtime that cancels has failed.
    const cancelled = outcome.code === Status.CANCELLED && !call.signal?.aborted;
    return callError(call.rpc, call.id, cancelled ? Status.UNKNOWN : outcome.code, text);
  }

  private watch(onConnection: (connected: boolean) => void, seen: connectivityState): void {
    let connected = false;
    const step = (last: connectivityState): void => {
      this.channel.watchConnectivityState(last, Infinity, () => {
        const now = this.channel.getConnectivityState(false);
        if (now === connectivityState.SHUTDOWN) return;
        if (connected !== (now === connectivityState.READY)) {
          connected = !connected;
          onConnection(connected);
        }
        step(now);
      });
    };
    step(seen);
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
