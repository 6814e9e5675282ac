/**
 * Owns: asking the running agent over its unix socket (server/socket.ts).
 * Invariant: whatever goes wrong becomes one line that says what to do about it, as an IsletError:
 * `unavailable` (not running), `deadline`, `not-found`, `invalid` or `failed`.
 */
import { request, type IncomingMessage } from 'node:http';
import type { Node } from '../api/node.ts';
import type { Pod } from '../api/pod.ts';
import type {
  AllocatableView,
  EventFilter,
  EventView,
  FileView,
  VersionView,
} from '../server/view.ts';
import { IsletError, messageOf, type ErrorCode } from '../util/errors.ts';

export interface PodList {
  readonly items: readonly Pod[];
}

export interface LogRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Query of server/log-query.ts. */
  readonly query: Readonly<Record<string, string>>;
}

/** What the commands read of `/stats/summary`. */
export interface Usage {
  readonly cpu?: { readonly time: string; readonly usageNanoCores?: number };
  readonly memory?: { readonly workingSetBytes?: number };
}

export interface PodUsage extends Usage {
  readonly podRef: { readonly name: string; readonly namespace: string };
  readonly containers: readonly (Usage & { readonly name: string })[];
}

export interface UsageSummary {
  readonly node: Usage & { readonly nodeName: string };
  readonly pods: readonly PodUsage[];
  readonly allocatable: AllocatableView;
}

export interface AgentClientDeps {
  readonly socketPath: string;
  readonly signal: AbortSignal;
}

const ANSWER_TIMEOUT_MS = 15_000;
const LARGEST_ERROR_BYTES = 64 * 1024;

export class AgentClient {
  readonly #deps: AgentClientDeps;

  constructor(deps: AgentClientDeps) {
    this.#deps = deps;
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.#json<PodList>('/v1/pods')).items;
  }

  async files(): Promise<readonly FileView[]> {
    return (await this.#json<{ items: FileView[] }>('/v1/files')).items;
  }

  async events(filter: EventFilter): Promise<readonly EventView[]> {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(filter)) query.set(key, String(value));
    return (await this.#json<{ items: EventView[] }>(`/v1/events?${query.toString()}`)).items;
  }

  async warnings(uid: string): Promise<readonly string[]> {
    const path = `/v1/warnings/${encodeURIComponent(uid)}`;
    return (await this.#json<{ items: string[] }>(path)).items;
  }

  version(): Promise<VersionView> {
    return this.#json<VersionView>('/v1/version');
  }

  node(): Promise<Node> {
    return this.#json<Node>('/v1/node');
  }

  /** CPU and memory of the node and its pods. */
  usage(): Promise<UsageSummary> {
    return this.#json<UsageSummary>('/v1/stats/summary?only_cpu_and_memory=true');
  }

  /** Hands the log to `sink` as it comes; resolves at its end. Back-pressure reaches the agent. */
  async log(log: LogRequest, sink: (bytes: Buffer) => Promise<void>): Promise<void> {
    const path = [log.namespace, log.pod, log.container].map(encodeURIComponent).join('/');
    const query = new URLSearchParams(log.query).toString();
    const response = await this.#get(`/v1/logs/${path}?${query}`, 0);
    await this.#consume(response, sink);
  }

  async #json<T>(path: string): Promise<T> {
    const response = await this.#get(path, ANSWER_TIMEOUT_MS);
    const parts: Buffer[] = [];
    await this.#consume(response, (bytes) => {
      parts.push(bytes);
      return Promise.resolve();
    });
    return JSON.parse(Buffer.concat(parts).toString()) as T;
  }

  async #consume(response: IncomingMessage, sink: (bytes: Buffer) => Promise<void>): Promise<void> {
    let taking = false;
    try {
      for await (const bytes of response) {
        taking = true;
        await sink(bytes as Buffer);
        taking = false;
      }
    } catch (cause) {
      if (taking) throw cause; // the sink's own trouble, such as a reader that is gone
      const message = `islet ended the connection on ${this.#deps.socketPath} before all was said`;
      throw new IsletError('unavailable', message, { cause });
    }
  }

  /** A response of status 200. `timeoutMs` bounds the silence; 0: none. */
  async #get(path: string, timeoutMs: number): Promise<IncomingMessage> {
    const { socketPath, signal } = this.#deps;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request({ socketPath, path, signal, agent: false, timeout: timeoutMs });
      asked.on('timeout', () => {
        asked.destroy(
          new IsletError('deadline', `islet does not answer on ${socketPath}; see its log`),
        );
      });
      asked.on('response', resolve);
      asked.on('error', (cause) => reject(connectionError(socketPath, cause)));
      asked.end();
    });
    if (response.statusCode === 200) return response;
    throw await serverError(response);
  }
}

function connectionError(socketPath: string, cause: NodeJS.ErrnoException): Error {
  if (cause instanceof IsletError) return cause;
  if (NOBODY_THERE.includes(cause.code ?? '')) {
    const message = `islet is not running: nothing answers on ${socketPath}; start it with \`islet run\``;
    return new IsletError('unavailable', message, { cause });
  }
  if (cause.code === 'EACCES' || cause.code === 'EPERM') {
    const message = `no permission to use ${socketPath}: run this command as root`;
    return new IsletError('failed', message, { cause });
  }
  const message = `asking islet on ${socketPath}: ${messageOf(cause)}`;
  return new IsletError('unavailable', message, { cause });
}

const NOBODY_THERE: readonly string[] = ['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ENOTDIR'];

const CODE: Readonly<Record<string, ErrorCode>> = {
  NotFound: 'not-found',
  BadRequest: 'invalid',
  Invalid: 'invalid',
};

/** The error that the agent answered, in kubectl's form. */
async function serverError(response: IncomingMessage): Promise<IsletError> {
  let body = '';
  for await (const bytes of response) {
    body += String(bytes);
    if (body.length > LARGEST_ERROR_BYTES) break;
  }
  let reason = `HTTP ${response.statusCode}`;
  let message = body.trim();
  try {
    const parsed = JSON.parse(body) as { reason?: unknown; message?: unknown };
    if (typeof parsed.reason === 'string') reason = parsed.reason;
    if (typeof parsed.message === 'string') message = parsed.message;
  } catch {
    // not from this version of islet: shown as it came
  }
  return new IsletError(CODE[reason] ?? 'failed', `Error from server (${reason}): ${message}`);
}
