/**
 * Owns: a CRI runtime that lives in the test: a real gRPC server on a real unix socket in front of the
 * runtime in memory of fake-runtime.ts. Tests script what a good runtime does not do: failures, calls
 * that never end, answers of any size, restarts.
 * Invariant: `stop()` ends every call and removes the socket's directory.
 */
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import type {
  MethodDefinition,
  ServerUnaryCall,
  ServerWritableStream,
  UntypedHandleCall,
  sendUnaryData,
} from '@grpc/grpc-js';
import { ImageService, RuntimeService } from '../../src/cri/gen/cri_pb.ts';
import type { ContainerEventResponseSchema } from '../../src/cri/gen/cri_pb.ts';
import { CriFault } from './fake-cri-rpc.ts';
import type { Handler, RpcName } from './fake-cri-rpc.ts';
import { FakeRuntime } from './fake-runtime.ts';

type AnyHandler = (request: unknown) => unknown;

export interface ReceivedCall {
  readonly rpc: RpcName;
  readonly request: unknown;
  /** Milliseconds that the client gave the call, or undefined when it set no deadline. */
  readonly timeoutMs: number | undefined;
  /** True once the client gave it up (or ran into its deadline) before an answer. */
  cancelled: boolean;
}

type EventInit = MessageInitShape<typeof ContainerEventResponseSchema>;

export class FakeCri {
  readonly socket: string;
  /** Every call so far, oldest first. */
  readonly calls: ReceivedCall[] = [];
  readonly runtime = new FakeRuntime();
  private readonly directory: string;
  private readonly scripts = new Map<RpcName, AnyHandler>();
  private readonly streams = new Set<ServerWritableStream<unknown, EventInit>>();
  private readonly connections = new Set<net.Socket>();
  private listener: net.Server | undefined;
  private server: Server | undefined;

  private constructor() {
    this.directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fake-cri-'));
    this.socket = path.join(this.directory, 'cri.sock');
    this.runtime.onEvent = (event) => this.emit(event);
  }

  static async start(): Promise<FakeCri> {
    const fake = new FakeCri();
    await fake.listen();
    return fake;
  }

  /** From now on the RPC is answered by `handler`, until `reset`. */
  on<N extends RpcName>(rpc: N, handler: Handler<N>): void {
    this.scripts.set(rpc, handler as AnyHandler);
  }

  fail(rpc: RpcName, code: status, text = 'scripted failure'): void {
    this.scripts.set(rpc, () => {
      throw new CriFault(code, text);
    });
  }

  /** Calls of this RPC get no answer. */
  hang(rpc: RpcName): void {
    this.scripts.set(rpc, () => new Promise(() => {}));
  }

  /** Back to the runtime in memory, for one RPC or for all. */
  reset(rpc?: RpcName): void {
    if (rpc) this.scripts.delete(rpc);
    else this.scripts.clear();
  }

  callsOf(rpc: RpcName): ReceivedCall[] {
    return this.calls.filter((call) => call.rpc === rpc);
  }

  /** To everyone who listens for container events. */
  emit(event: EventInit): void {
    for (const stream of this.streams) stream.write(event);
  }

  /** How many listen for container events now. */
  get listeners(): number {
    return this.streams.size;
  }

  /** The process dies: connections are cut and nobody listens; what it had in memory stays. */
  kill(): void {
    for (const connection of this.connections) connection.destroy();
    this.connections.clear();
    this.streams.clear();
    this.listener?.close();
    this.server?.forceShutdown();
    this.listener = this.server = undefined;
    fs.rmSync(this.socket, { force: true });
  }

  /** It listens again, on the same socket. */
  async listen(): Promise<void> {
    const server = new Server({ 'grpc.max_receive_message_length': -1 });
    server.addService(...this.service(RuntimeService));
    server.addService(...this.service(ImageService));
    // Its own listener, so that `kill` cuts connections as a dead process does: without a word.
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    const listener = net.createServer((connection) => {
      this.connections.add(connection);
      connection.once('close', () => this.connections.delete(connection));
      injector.injectConnection(connection);
    });
    listener.listen(this.socket);
    await once(listener, 'listening');
    this.listener = listener;
    this.server = server;
  }

  stop(): void {
    this.kill();
    fs.rmSync(this.directory, { recursive: true, force: true });
  }

  private service(
    desc: typeof RuntimeService | typeof ImageService,
  ): [Record<string, MethodDefinition<unknown, unknown>>, Record<string, UntypedHandleCall>] {
    const definition: Record<string, MethodDefinition<unknown, unknown>> = {};
    const handlers: Record<string, UntypedHandleCall> = {};
    for (const [name, method] of Object.entries<DescMethod>(desc.method)) {
      const rpc = name as RpcName;
      const streams = method.methodKind === 'server_streaming';
      definition[name] = methodDefinition(`/${desc.typeName}/${method.name}`, method, streams);
      if (rpc === 'getContainerEvents') handlers[name] = this.serveEvents.bind(this);
      else if (!streams) handlers[name] = this.serve.bind(this, rpc);
    }
    return [definition, handlers];
  }

  private serve(
    rpc: RpcName,
    call: ServerUnaryCall<unknown, unknown>,
    done: sendUnaryData<unknown>,
  ): void {
    const received = this.record(rpc, call);
    call.on('cancelled', () => (received.cancelled = true));
    const own = (this.runtime.handlers as Partial<Record<RpcName, AnyHandler>>)[rpc];
    const handler = this.scripts.get(rpc) ?? own ?? unknownMethod;
    void Promise.resolve(call.request)
      .then(handler)
      .then(
        (answer) => done(null, answer),
        (error: unknown) => done(faultOf(error)),
      );
  }

  private serveEvents(call: ServerWritableStream<unknown, EventInit>): void {
    this.record('getContainerEvents', call);
    const script = this.scripts.get('getContainerEvents');
    if (script) {
      void Promise.resolve(call.request)
        .then(script)
        .then(
          () => call.end(),
          (error: unknown) => call.emit('error', faultOf(error)),
        );
      return;
    }
    this.streams.add(call);
    call.on('cancelled', () => this.streams.delete(call));
  }

  private record(
    rpc: RpcName,
    call: ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>,
  ): ReceivedCall {
    const deadline = Number(call.getDeadline());
    const timeoutMs = Number.isFinite(deadline) ? deadline - Date.now() : undefined;
    const received = { rpc, request: call.request, timeoutMs, cancelled: false };
    this.calls.push(received);
    return received;
  }
}

function unknownMethod(): never {
  throw new CriFault(status.UNIMPLEMENTED, 'unknown method');
}

function methodDefinition(
  path: string,
  method: DescMethod,
  responseStream: boolean,
): MethodDefinition<unknown, unknown> {
  const bytes = (desc: DescMethod['input'], value: unknown): Buffer =>
    Buffer.from(toBinary(desc, create(desc, value as Record<string, unknown>)));
  return {
    path,
    requestStream: false,
    responseStream,
    requestSerialize: (value) => bytes(method.input, value),
    requestDeserialize: (buffer) => fromBinary(method.input, buffer),
    responseSerialize: (value) => bytes(method.output, value),
    responseDeserialize: (buffer) => fromBinary(method.output, buffer),
  };
}

function faultOf(error: unknown): { code: status; details: string } {
  if (error instanceof CriFault) return { code: error.code, details: error.message };
  return { code: status.UNKNOWN, details: error instanceof Error ? error.message : String(error) };
}
