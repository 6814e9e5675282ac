/**
 * Owns: a runtime's socket with a hand on it: every call goes through to containerd as it is, except
 * that one method can be held, before it reaches containerd or after it was done there. That is how a
 * test gets the agent killed at a chosen point.
 * Invariant: calls without an end, such as the event stream, are refused as unimplemented.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client, Server, ServerCredentials, credentials } from '@grpc/grpc-js';
import type { MethodDefinition, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { ImageService, RuntimeService } from '../../src/cri/gen/cri_pb.ts';

export type HoldPoint = 'before' | 'after';

export interface Hold {
  /** Whether a call is held. */
  readonly reached: boolean;
  /** Lets the call and all later ones through. */
  release(): void;
  /** Refuses what is held, as if it had never been asked; lets later ones through. */
  drop(): void;
}

interface Gate extends Hold {
  readonly method: string;
  readonly point: HoldPoint;
  readonly open: Promise<void>;
  reached: boolean;
}

type Bytes = MethodDefinition<Buffer, Buffer>;

const CALL_MS = 120_000;
const LONGEST_MESSAGE = 64 * 1024 * 1024;
const OPTIONS = {
  'grpc.max_receive_message_length': LONGEST_MESSAGE,
  'grpc.max_send_message_length': LONGEST_MESSAGE,
};

export class CriProxy {
  readonly socket: string;
  readonly #directory = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-proxy-'));
  readonly #server = new Server(OPTIONS);
  readonly #client: Client;
  #gate: Gate | undefined;

  private constructor(target: string) {
    this.socket = path.join(this.#directory, 'cri.sock');
    const patient = { ...OPTIONS, 'grpc.max_reconnect_backoff_ms': 200 };
    this.#client = new Client(`unix:${target}`, credentials.createInsecure(), patient);
    for (const service of [RuntimeService, ImageService]) {
      const methods = service.methods.filter(({ methodKind }) => methodKind === 'unary');
      const definitions = methods.map(({ name }) => definition(`/${service.typeName}/${name}`));
      this.#server.addService(
        Object.fromEntries(definitions.map((d) => [d.path, d])),
        Object.fromEntries(definitions.map((d) => [d.path, this.#handler(d)])),
      );
    }
  }

  /** Serves in front of the runtime whose socket is at `target`. */
  static async start(target: string): Promise<CriProxy> {
    const proxy = new CriProxy(target);
    await new Promise<void>((resolve, reject) => {
      const insecure = ServerCredentials.createInsecure();
      proxy.#server.bindAsync(`unix:${proxy.socket}`, insecure, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
    return proxy;
  }

  /** Holds the next call of a method, e.g. `StartContainer`, and those after it. */
  hold(method: string, point: HoldPoint): Hold {
    let release = (): void => undefined;
    let drop = (): void => undefined;
    const open = new Promise<void>((resolve, reject) => {
      release = resolve;
      drop = () => reject(new Error('dropped by the test'));
    });
    const gate: Gate = { method, point, open, reached: false, release, drop };
    this.#gate = gate;
    const forget = (): void => {
      if (this.#gate === gate) this.#gate = undefined;
    };
    void open.then(forget, forget);
    return gate;
  }

  stop(): void {
    this.#server.forceShutdown();
    this.#client.close();
    fs.rmSync(this.#directory, { recursive: true });
  }

  #handler(method: Bytes) {
    return (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
      void this.#pass(method, 'before')
        .then(() => this.#forward(method, call.request))
        .then(async (answer) => {
          await this.#pass(method, 'after');
          done(null, answer);
        })
        .catch((error: unknown) => done(error as Error));
    };
  }

  async #pass({ path: name }: Bytes, point: HoldPoint): Promise<void> {
    const gate = this.#gate;
    if (!gate || gate.point !== point || !name.endsWith(`/${gate.method}`)) return;
    gate.reached = true;
    await gate.open;
  }

  #forward(method: Bytes, request: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + CALL_MS };
      const { path: name, requestSerialize, responseDeserialize } = method;
      this.#client.makeUnaryRequest(
        ...([name, requestSerialize, responseDeserialize, request, options] as const),
        (error, answer) => {
          if (error) reject(error);
          else resolve(answer ?? Buffer.alloc(0));
        },
      );
    });
  }
}

function definition(name: string): Bytes {
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    ...{ path: name, requestStream: false, responseStream: false },
    ...{ requestSerialize: same, requestDeserialize: same },
    ...{ responseSerialize: same, responseDeserialize: same },
  };
}
