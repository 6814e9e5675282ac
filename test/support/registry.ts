/**
 * Owns: an image registry over a real socket on 127.0.0.1, which containerd pulls from over plain HTTP:
 * manifests and blobs of images made here, anonymous or with a user and password (basic) or a bearer
 * token that those buy (token).
 * It can be unplugged and plugged in again on the same port, and told to answer with any fault.
 */
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ociContent } from '../../src/image/oci.ts';
import type { OciImage } from '../../src/image/oci.ts';

export interface RegistryOptions {
  readonly auth?: 'none' | 'basic' | 'token';
  /** Passwords by user name. */
  readonly users?: Readonly<Record<string, string>>;
}

/** How every request for a manifest, or for a blob, is answered instead. */
export type Fault =
  | { readonly status: number; readonly code: string; readonly message: string }
  /** The connection is taken and never answered. */
  | 'silence'
  /** The connection is closed without an answer. */
  | 'hangup';

interface Stored {
  readonly type: string;
  readonly body: Buffer;
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

export async function startRegistry(options: RegistryOptions = {}): Promise<TestRegistry> {
  const registry = new TestRegistry(options);
  await registry.plugIn();
  return registry;
}

export class TestRegistry {
  readonly #options: RegistryOptions;
  readonly #manifests = new Map<string, Stored>();
  readonly #blobs = new Map<string, Buffer>();
  readonly #tokens = new Map<string, string>();
  readonly #connections = new Set<Socket>();
  #server: http.Server | undefined;
  #port = 0;
  /** Who got which manifest: `user repository:tag`, user '-' when anonymous. */
  readonly served: string[] = [];
  fault: Fault | undefined;
  faultOf: 'manifests' | 'blobs' = 'manifests';

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** `127.0.0.1:PORT`, the first part of the names of its images. */
  get host(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Takes an image in; returns the full name to pull and the digest of its manifest. */
  add(
    repository: string,
    tag: string,
    image: Omit<OciImage, 'name'>,
  ): { name: string; digest: string } {
    const name = `${this.host}/${repository}:${tag}`;
    const { manifest, blobs } = ociContent({ ...image, name });
    for (const [hex, body] of blobs) this.#blobs.set(`sha256:${hex}`, body);
    const body = this.#blobs.get(manifest.digest) ?? Buffer.alloc(0);
    for (const reference of [tag, manifest.digest])
      this.#manifests.set(`${repository}:${reference}`, { type: MANIFEST, body });
    return { name, digest: manifest.digest };
  }

  /** Listens, on the same port as before. */
  async plugIn(): Promise<void> {
    const server = http.createServer((request, answer) => this.#answer(request, answer));
    server.on('connection', (socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Nobody listens on its port afterwards. */
  async unplug(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#connections) socket.destroy();
    await closed;
  }

  #answer(request: IncomingMessage, answer: ServerResponse): void {
    const url = new URL(request.url ?? '/', `http://${this.host}`);
    if (url.pathname === '/token') return this.#sellToken(request, answer);
    const user = this.#userOf(request);
    if (user === undefined) return this.#challenge(answer, url.pathname);
    const [, repository = '', kind, reference = ''] =
      /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url.pathname) ?? [];
    if (this.fault && kind === this.faultOf) return this.#fail(request, answer, this.fault);
    if (kind === 'manifests')
      return this.#sendManifest(request, answer, { repository, reference, user });
    const blob = this.#blobs.get(reference);
    if (kind === 'blobs' && blob)
      return send(request, answer, { type: 'application/octet-stream', body: blob });
    if (url.pathname === '/v2/') return void answer.end('{}');
    refuse(answer, 404, 'NAME_UNKNOWN', 'nothing of that name here');
  }

  #sendManifest(
    request: IncomingMessage,
    answer: ServerResponse,
    asked: { repository: string; reference: string; user: string },
  ): void {
    const found = this.#manifests.get(`${asked.repository}:${asked.reference}`);
    if (!found) return refuse(answer, 404, 'MANIFEST_UNKNOWN', 'manifest unknown');
    this.served.push(`${asked.user} ${asked.repository}:${asked.reference}`);
    send(request, answer, found);
  }

  #fail(request: IncomingMessage, answer: ServerResponse, fault: Fault): void {
    if (fault === 'hangup') request.socket.destroy();
    else if (fault !== 'silence') refuse(answer, fault.status, fault.code, fault.message);
  }

  /** The user who asks; undefined when the registry wants another one. */
  #userOf(request: IncomingMessage): string | undefined {
    const { authorization = '' } = request.headers;
    const [scheme = '', value = ''] = authorization.split(' ');
    switch (this.#options.auth ?? 'none') {
      case 'none':
        return '-';
      case 'basic':
        return scheme === 'Basic' ? this.#login(value) : undefined;
      case 'token':
        return scheme === 'Bearer' ? this.#tokens.get(value) : undefined;
    }
  }

  #login(basic: string): string | undefined {
    const [user = '', password] = Buffer.from(basic, 'base64').toString().split(/:(.*)/s);
    const expected = this.#options.users?.[user];
    return expected !== undefined && expected === password ? user : undefined;
  }

  #challenge(answer: ServerResponse, path: string): void {
    const repository = /^\/v2\/(.+)\/(?:manifests|blobs)\//.exec(path)?.[1] ?? '';
    const bearer = `Bearer realm="http://${this.host}/token",service="test",scope="repository:${repository}:pull"`;
    const wanted = this.#options.auth === 'token' ? bearer : 'Basic realm="test"';
    answer.setHeader('www-authenticate', wanted);
    refuse(answer, 401, 'UNAUTHORIZED', 'authentication required');
  }

  /** Only the form with basic authentication, as most registries have it. */
  #sellToken(request: IncomingMessage, answer: ServerResponse): void {
    if (request.method !== 'GET') return refuse(answer, 405, 'UNSUPPORTED', 'GET only');
    const [scheme, value = ''] = (request.headers.authorization ?? '').split(' ');
    const user = scheme === 'Basic' ? this.#login(value) : undefined;
    if (user === undefined) return refuse(answer, 401, 'DENIED', 'access denied');
    const token = randomBytes(12).toString('hex');
    this.#tokens.set(token, user);
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify({ token, expires_in: 300 }));
  }
}

function send(request: IncomingMessage, answer: ServerResponse, { type, body }: Stored): void {
  answer.setHeader('content-type', type);
  answer.setHeader('content-length', body.length);
  const digest = createHash('sha256').update(body).digest('hex');
  answer.setHeader('docker-content-digest', `sha256:${digest}`);
  answer.end(request.method === 'HEAD' ? undefined : body);
}

function refuse(answer: ServerResponse, status: number, code: string, message: string): void {
  answer.statusCode = status;
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ errors: [{ code, message }] }));
}
