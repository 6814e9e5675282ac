/**
 * Owns: a runtime in memory for the tests of the relist. Lists are real protobuf bytes, so the core is
 * part of every test; status calls can fail, hang and be counted.
 */
import type {
  Container,
  ContainerEvent,
  ContainerPhase,
  ContainerStatus,
  PodSandbox,
  RuntimeVersion,
  SandboxPhase,
  SandboxStatus,
} from '../../../src/cri/model.ts';
import type { PlegRuntime } from '../../../src/pleg/relist.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { encodeContainerList, encodeSandboxList } from '../../support/wire.ts';

export interface FakeContainer {
  readonly id: string;
  readonly sandboxId: string;
  /** undefined: not made by a kubelet. */
  readonly uid: string | undefined;
  readonly state: ContainerPhase;
  readonly createdAt?: bigint;
}

export interface FakeSandbox {
  readonly id: string;
  readonly uid: string | undefined;
  readonly state: SandboxPhase;
  readonly attempt?: number;
  readonly createdAt?: bigint;
  readonly ips?: string[];
}

const CONTAINER_STATE = { created: 0, running: 1, exited: 2, unknown: 3 };
const SANDBOX_STATE = { ready: 0, notready: 1 };

export class FakeRuntime implements PlegRuntime {
  readonly containers = new Map<string, FakeContainer>();
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly calls: string[] = [];
  /** What a call does before it answers, by `verb id` or by verb. */
  readonly before = new Map<string, (signal?: AbortSignal) => Promise<void>>();
  readonly listsAt: number[] = [];
  now: () => number = () => 0;
  runtimeVersion = '1.6.20';
  streams: FakeStream[] = [];
  events: 'unimplemented' | 'open' | 'unavailable' = 'unimplemented';
  decoded = 0;

  put(object: FakeContainer | FakeSandbox): void {
    if ('sandboxId' in object) this.containers.set(object.id, object);
    else this.sandboxes.set(object.id, object);
  }

  /** A pod `uid` with a ready sandbox `uid-s` and a running container `uid-c`. */
  putPod(uid: string): void {
    this.put({ id: `${uid}-s`, uid, state: 'ready', ips: ['10.0.0.1'] });
    this.put({ id: `${uid}-c`, sandboxId: `${uid}-s`, uid, state: 'running' });
  }

  remove(...ids: string[]): void {
    for (const id of ids) {
      this.containers.delete(id);
      this.sandboxes.delete(id);
    }
  }

  count(verb: string): number {
    return this.calls.filter((call) => call === verb || call.startsWith(`${verb} `)).length;
  }

  async listContainersRaw(signal?: AbortSignal): Promise<Uint8Array> {
    this.listsAt.push(this.now());
    const list = encodeContainerList(
      [...this.containers.values()].map((c) => ({
        id: c.id,
        sandboxId: c.sandboxId,
        state: CONTAINER_STATE[c.state],
        labels: labels(c.uid),
      })),
    );
    await this.#call('listContainers', '', signal);
    return list;
  }

  async listPodSandboxesRaw(signal?: AbortSignal): Promise<Uint8Array> {
    const list = encodeSandboxList(
      [...this.sandboxes.values()].map((s) => ({
        id: s.id,
        state: SANDBOX_STATE[s.state],
        labels: labels(s.uid),
      })),
    );
    await this.#call('listPodSandboxes', '', signal);
    return list;
  }

  decodeContainer(entry: Uint8Array): Container {
    this.decoded++;
    const found = this.containers.get(firstString(entry));
    if (!found) throw new IsletError('corrupt', 'no such container');
    const { id, sandboxId, uid, state, createdAt = 0n } = found;
    const rest = { name: 'main', attempt: 0, image: '', imageRef: '', annotations: {} };
    return { ...rest, id, sandboxId, state, createdAt, labels: labels(uid) };
  }

  decodePodSandbox(entry: Uint8Array): PodSandbox {
    this.decoded++;
    const found = this.sandboxes.get(firstString(entry));
    if (!found) throw new IsletError('corrupt', 'no such sandbox');
    return sandboxStatus(found);
  }

  async podSandboxStatus(id: string, signal?: AbortSignal): Promise<SandboxStatus> {
    await this.#call('podSandboxStatus', id, signal);
    const found = this.sandboxes.get(id);
    if (!found) throw new IsletError('not-found', `PodSandboxStatus ${id}`);
    return sandboxStatus(found);
  }

  async containerStatus(id: string, signal?: AbortSignal): Promise<ContainerStatus> {
    await this.#call('containerStatus', id, signal);
    const found = this.containers.get(id);
    if (!found) throw new IsletError('not-found', `ContainerStatus ${id}`);
    const rest = {
      name: 'main',
      attempt: 0,
      startedAt: 0n,
      finishedAt: 0n,
      exitCode: 0,
      image: '',
      imageRef: '',
      imageId: '',
      reason: '',
      message: '',
      annotations: {},
      mounts: [],
      logPath: '',
    };
    const { uid, state, createdAt = 0n } = found;
    return { ...rest, id, state, createdAt, labels: labels(uid) };
  }

  async version(): Promise<RuntimeVersion> {
    await this.#call('version', '');
    return {
      version: '0.1.0',
      runtimeName: 'containerd',
      runtimeVersion: this.runtimeVersion,
      runtimeApiVersion: 'v1',
    };
  }

  containerEvents(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    this.calls.push('containerEvents');
    if (this.events !== 'open') return failing(new IsletError(this.events, 'GetContainerEvents'));
    const stream = new FakeStream(signal);
    this.streams.push(stream);
    return stream;
  }

  async #call(verb: string, id: string, signal?: AbortSignal): Promise<void> {
    const name = id ? `${verb} ${id}` : verb;
    this.calls.push(name);
    await (this.before.get(name) ?? this.before.get(verb))?.(signal);
  }
}

/** An event stream that a test feeds and breaks. */
export class FakeStream implements AsyncIterable<ContainerEvent> {
  readonly #queue: ContainerEvent[] = [];
  #end: Error | undefined;
  #wake: () => void = () => undefined;

  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.break(new IsletError('aborted', 'stop')));
  }

  tell(containerId: string): void {
    this.#queue.push({ containerId, kind: 'stopped', createdAt: 0n, podUid: undefined });
    this.#wake();
  }

  break(error: Error = new IsletError('unavailable', 'GetContainerEvents')): void {
    this.#end = error;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ContainerEvent> {
    for (;;) {
      const event = this.#queue.shift();
      if (event) yield event;
      else if (this.#end) throw this.#end;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** A call that hangs until the returned function is called or the signal aborts. */
export function gate(): { wait: (signal?: AbortSignal) => Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const wait = (signal?: AbortSignal): Promise<void> =>
    Promise.race([
      opened,
      new Promise<never>((_, reject) =>
        signal?.addEventListener('abort', () => reject(new IsletError('aborted', 'stop'))),
      ),
    ]);
  return { wait, open };
}

async function* failing(error: Error): AsyncGenerator<ContainerEvent> {
  await Promise.resolve();
  throw error;
}

function labels(uid: string | undefined): Record<string, string> {
  if (uid === undefined) return {};
  return {
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.pod.name': `${uid}-name`,
    'io.kubernetes.pod.namespace': 'default',
  };
}

function sandboxStatus(sandbox: FakeSandbox): SandboxStatus {
  const { id, uid, state, attempt = 0, createdAt = 0n, ips = [] } = sandbox;
  return {
    id,
    metadata: { name: `${uid}-name`, namespace: 'default', uid: uid ?? '', attempt },
    state,
    createdAt,
    ips,
    networkMode: 'pod',
    labels: labels(uid),
    annotations: {},
    runtimeHandler: '',
  };
}

/** Field 1 of the entry, which both messages begin with. */
function firstString(entry: Uint8Array): string {
  return Buffer.from(entry.subarray(2, 2 + (entry[1] ?? 0))).toString();
}
