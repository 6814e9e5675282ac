/**
 * Owns: the client of a runtime: both services of model.ts over one channel, or over two where the
 * images are somewhere else. Leaves to others: whether and which runtime to use.
 */
import type { Registry } from '../metrics/registry.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import { GrpcTransport } from './channel.ts';
import { socketPathOf } from './endpoint.ts';
import { CriImageService } from './image-service.ts';
import { MeteredTransport } from './metered.ts';
import type { ImageService, RuntimeService, RuntimeVersion } from './model.ts';
import { CriRuntimeService } from './runtime-service.ts';
import type { Transport } from './transport.ts';

export interface CriClientDeps {
  /** `unix:///path`, `unix:/path` or `/path`; IsletError `invalid` for anything else. */
  readonly endpoint: string;
  /** '' or absent: the same as `endpoint`. */
  readonly imageEndpoint?: string;
  /** `runtimeRequestTimeout`; the deadlines of all calls follow from it. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Registry;
  /** The connection to the runtime is there again after it was lost: look at everything anew. */
  readonly onReconnect?: () => void;
}

export interface CriClient {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  /** Calls under way fail; nothing keeps the process alive afterwards. */
  close(): void;
}

/** Connects with the first call; a runtime that is not there yet is no error here. */
export function createCriClient(deps: CriClientDeps): CriClient {
  const { requestTimeoutMs } = deps;
  const socketPath = socketPathOf(deps.endpoint);
  const imageSocketPath = deps.imageEndpoint ? socketPathOf(deps.imageEndpoint) : socketPath;
  const channels = [open(deps, socketPath)];
  if (imageSocketPath !== socketPath) channels.push(open(deps, imageSocketPath));
  const [forRuntime, forImages] = channels.map((channel) => metered(deps, channel));
  if (!forRuntime) throw new Error('one channel at least');
  return {
    runtime: new CriRuntimeService({ transport: forRuntime, requestTimeoutMs }),
    images: new CriImageService({ transport: forImages ?? forRuntime, requestTimeoutMs }),
    close: () => channels.forEach((channel) => channel.close()),
  };
}

/**
 * Whether a CRI runtime answers on that endpoint: its version, or undefined when nobody does within
 * `timeoutMs`, whatever the reason (no socket, no listener, not gRPC, no CRI service, hanging).
 */
export async function probeSocket(deps: {
  readonly endpoint: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}): Promise<RuntimeVersion | undefined> {
  const { clock, timeoutMs, endpoint } = deps;
  const transport = new GrpcTransport({ clock, socketPath: socketPathOf(endpoint) });
  try {
    const runtime = new CriRuntimeService({ transport, requestTimeoutMs: timeoutMs });
    return await runtime.version(deps.signal);
  } catch {
    return undefined;
  } finally {
    transport.close();
  }
}

function open(deps: CriClientDeps, socketPath: string): GrpcTransport {
  let lost = false;
  const onConnection = (connected: boolean): void => {
    if (!connected) {
      lost = true;
      deps.logger.warn('connection to the runtime lost', { socket: socketPath });
    } else if (lost) {
      deps.logger.info('connection to the runtime is back', { socket: socketPath });
      deps.onReconnect?.();
    } else deps.logger.debug('connected to the runtime', { socket: socketPath });
  };
  return new GrpcTransport({ clock: deps.clock, socketPath, onConnection });
}

function metered(deps: CriClientDeps, inner: Transport): Transport {
  const { clock, metrics: registry } = deps;
  return registry ? new MeteredTransport({ inner, clock, registry }) : inner;
}
