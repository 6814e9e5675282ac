/**
 * Owns: a manifest directory on the real file system with a FileSource on it, for the source tests.
 * The decoder is a small stand-in (YAML documents with a name), so these tests say nothing about
 * decoding and do not need it; the store is the real one.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Pod } from '../../../src/api/pod.ts';
import type { LoadOptions, LoadedDocument, LoadedFile } from '../../../src/manifest/model.ts';
import { type DesiredPod, FileSource, type FileSourceDeps } from '../../../src/manifest/source.ts';
import type { FileVerdict } from '../../../src/manifest/verdict.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { createLogger } from '../../../src/util/log.ts';

export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

export class Fixture {
  readonly root = mkdtempSync(join(tmpdir(), 'islet-source-'));
  readonly dir = join(this.root, 'manifests');
  readonly logs: LogLine[] = [];
  /** Content of every decoding, in order. */
  readonly decoded: string[] = [];
  /** Every set that listeners were told. */
  readonly sets: (readonly DesiredPod[])[] = [];
  readonly logger = createLogger({
    sink: { write: (line: string) => this.logs.push(JSON.parse(line) as LogLine) },
    level: 'debug',
    wall: () => 0,
    format: 'json',
  });
  store: Store;
  source!: FileSource;
  #stop = new AbortController();

  constructor() {
    mkdirSync(this.dir);
    this.store = this.#openStore();
  }

  async start(options: Partial<FileSourceDeps> = {}): Promise<FileSource> {
    this.#stop = new AbortController();
    this.source = new FileSource({
      path: this.dir,
      fileCheckFrequencyMs: 20_000,
      nodeName: 'node',
      load: (content, load) => {
        this.decoded.push(Buffer.from(content).toString());
        return fakeLoad(content, load);
      },
      store: this.store,
      digestOf: (content) => createHash('sha256').update(content).digest('hex'),
      clock: new SystemClock(),
      logger: this.logger,
      events: this.store.events,
      ...options,
    });
    this.source.subscribe((pods) => this.sets.push(pods));
    await this.source.start(this.#stop.signal);
    return this.source;
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stop'));
    await this.source.stopped();
  }

  /** As the agent ends and starts again; `meanwhile` runs in between. */
  async restart(meanwhile?: () => void, options?: Partial<FileSourceDeps>): Promise<void> {
    await this.stop();
    this.store.close();
    meanwhile?.();
    this.store = this.#openStore();
    await this.start(options);
  }

  async end(): Promise<void> {
    await this.stop();
    this.store.close();
    rmSync(this.root, { recursive: true, force: true });
  }

  file(name: string): string {
    return join(this.dir, name);
  }

  /** Written in place, as an editor or `cat >` does. */
  write(name: string, content: string): void {
    writeFileSync(this.file(name), content);
  }

  /** Written elsewhere and renamed into place. */
  publish(name: string, content: string): void {
    const temporary = join(this.root, 'temporary');
    writeFileSync(temporary, content);
    renameSync(temporary, this.file(name));
  }

  names(): string[] {
    return this.source.current().map(({ pod }) => pod.metadata.name);
  }

  pod(name: string): Pod | undefined {
    return this.source.current().find(({ pod }) => pod.metadata.name === name)?.pod;
  }

  verdict(name: string): FileVerdict | undefined {
    return this.source.verdicts().find(({ file }) => file === this.file(name));
  }

  /** Resolves as soon as the condition holds, however long that takes (up to 20 s). */
  async until(what: string, condition: () => boolean): Promise<void> {
    const end = performance.now() + 20_000;
    while (!condition()) {
      if (performance.now() > end) throw new Error(`never came true: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  untilNames(...names: string[]): Promise<void> {
    return this.until(`pods ${names.join(', ')}`, () => this.names().join() === names.join());
  }

  untilState(name: string, state: FileVerdict['state']): Promise<void> {
    return this.until(`${name} is ${state}`, () => this.verdict(name)?.state === state);
  }

  #openStore(): Store {
    return openStore({
      path: join(this.root, 'state.db'),
      clock: new SystemClock(),
      logger: this.logger,
      limits: { maxEvents: 100, maxAgeMs: 1e9 },
    });
  }
}

/** A manifest of one pod; `extra` is any text that makes it another pod spec. */
export function manifest(name: string, extra = 'one', uid?: string): string {
  const line = uid === undefined ? '' : `uid: ${uid}\n`;
  return `name: ${name}\n${line}extra: ${extra}\n`;
}

export function documents(...texts: string[]): string {
  return texts.join('---\n');
}

function fakeLoad(content: Uint8Array, { path, nodeName }: LoadOptions): LoadedFile {
  const loaded: LoadedFile = { documents: [], errors: [], warnings: [] };
  for (const document of parseAllDocuments(Buffer.from(content).toString())) {
    const value = document.toJS() as Record<string, string> | null;
    if (value === null) continue;
    if (document.errors.length > 0 || !value.name) {
      const message = 'a name is needed';
      loaded.errors.push({ path: 'metadata.name', line: 1, message, stage: 'decode' });
      continue;
    }
    loaded.documents.push(toDocument(value, path, nodeName));
  }
  return loaded.errors.length > 0 ? { ...loaded, documents: [] } : loaded;
}

function toDocument(value: Record<string, string>, path: string, nodeName: string): LoadedDocument {
  const name = String(value.name);
  if (value.kind === 'ConfigMap') {
    const metadata = { name, namespace: 'default' };
    return {
      kind: 'ConfigMap',
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata },
      line: 1,
    };
  }
  const text = JSON.stringify([value, path, nodeName]);
  const uid = value.uid ?? createHash('md5').update(text).digest('hex');
  const pod = {
    metadata: { name, namespace: 'default', uid, annotations: { extra: value.extra } },
    spec: { containers: [] },
  } as unknown as Pod;
  return { kind: 'Pod', pod, warnings: [], line: 1 };
}
