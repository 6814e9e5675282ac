/** Logins of the node's files and of a pod's Secrets, together in their order. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import type { ConfigObjects, Secret } from '../../../src/api/config-object.ts';
import { NO_CONFIG_OBJECTS } from '../../../src/api/config-object.ts';
import { Credentials } from '../../../src/image/credentials.ts';
import { NodeCredentials } from '../../../src/image/node-credentials.ts';
import { Registry } from '../../../src/metrics/registry.ts';
import { createLogger } from '../../../src/util/log.ts';
import { ManualClock } from '../../support/clock.ts';

const top = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-credentials-'));
after(() => fs.rmSync(top, { recursive: true }));

const PASSWORD = 'hunter2';

function auths(username: string, key = 'reg.test'): object {
  return { [key]: { username, password: PASSWORD } };
}

/** A node with directories of its own. */
class Node {
  readonly dir = fs.mkdtempSync(path.join(top, 'node-'));
  readonly logged: string[] = [];
  readonly credentials: NodeCredentials;

  constructor() {
    const sink = { write: (line: string) => void this.logged.push(line) };
    this.credentials = new NodeCredentials({
      rootDir: path.join(this.dir, 'root'),
      cwd: path.join(this.dir, 'cwd'),
      home: path.join(this.dir, 'home'),
      logger: createLogger({ sink, level: 'debug', wall: () => 0, format: 'json' }),
    });
  }

  write(file: string, content: unknown): void {
    const where = path.join(this.dir, file);
    fs.mkdirSync(path.dirname(where), { recursive: true });
    fs.writeFileSync(where, typeof content === 'string' ? content : JSON.stringify(content));
  }

  user(): string | undefined {
    return this.credentials.lookup('reg.test/app')[0]?.username;
  }
}

describe("the node's configuration files", () => {
  it('the first that is there counts, config.json before .dockercfg', () => {
    const node = new Node();
    assert.equal(node.user(), undefined);
    const order: readonly [string, object][] = [
      ['home/.dockercfg', auths('home-old')],
      ['cwd/.dockercfg', auths('cwd-old')],
      ['root/.dockercfg', auths('root-old')],
      ['home/.docker/config.json', { auths: auths('home') }],
      ['cwd/config.json', { auths: auths('cwd') }],
      ['root/config.json', { auths: auths('root') }],
    ];
    const users = order.map(([file, content]) => {
      node.write(file, content);
      return node.user();
    });
    assert.deepEqual(users, ['home-old', 'cwd-old', 'root-old', 'home', 'cwd', 'root']);
    node.write('root/config.json', {});
    assert.equal(node.user(), undefined); // a file without credentials is one, too
    fs.rmSync(path.join(node.dir, 'root/config.json'));
    assert.equal(node.user(), 'cwd');
  });

  it('a changed password counts at once', () => {
    const node = new Node();
    node.write('root/config.json', { auths: auths('before') });
    assert.equal(node.user(), 'before');
    node.write('root/config.json', { auths: auths('afterwards') });
    assert.equal(node.user(), 'afterwards');
  });

  it('a broken file is told once, without what it holds, and the next one counts', () => {
    const node = new Node();
    node.write('cwd/config.json', { auths: auths('cwd') });
    node.write('root/config.json', `{"auths": {"reg.test": {"password": "${PASSWORD}"}`);
    assert.equal(node.user(), 'cwd');
    assert.equal(node.user(), 'cwd');
    assert.equal(node.logged.length, 1);
    assert.match(node.logged[0] ?? '', /root\/config\.json","reason":"not valid JSON"/);
    assert.ok(!node.logged.join('').includes(PASSWORD));
  });
});

const pod = { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'u' } as const;
const container = { ...pod, fieldPath: 'spec.containers{main}' };

function secret(name: string, type: string, key: string, content: unknown): Secret {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const data = new Map([[key, new TextEncoder().encode(text)]]);
  return { namespace: 'ns', name, type, data, immutable: false };
}

class Pod {
  readonly events: string[] = [];
  readonly credentials: Credentials;

  constructor(secrets: readonly Secret[], rootDir = top) {
    const objects: ConfigObjects = {
      ...NO_CONFIG_OBJECTS,
      secret: (namespace, name) =>
        secrets.find((one) => one.namespace === namespace && one.name === name),
    };
    this.credentials = new Credentials({
      ...{ objects, rootDir, providers: [], metrics: new Registry(), clock: new ManualClock() },
      events: {
        event: ({ fieldPath = '-' }, type, reason, message) =>
          void this.events.push(`${fieldPath} ${type} ${reason}: ${message}`),
      },
      logger: createLogger({ sink: { write: () => undefined }, level: 'error', wall: () => 0 }),
    });
  }

  async users(...pullSecrets: string[]): Promise<string[]> {
    const asker = { target: container, pullSecrets };
    this.credentials.announce(asker);
    const found = await this.credentials.credentialsFor(
      'reg.test/team/app:1',
      asker,
      new AbortController().signal,
    );
    return found.map(
      ({ auth, origin }) => `${auth.username} ${origin.kind === 'secret' ? origin.secret : '-'}`,
    );
  }
}

describe('pull secrets of a pod', () => {
  const json = (name: string, content: unknown): Secret =>
    secret(name, 'kubernetes.io/dockerconfigjson', '.dockerconfigjson', content);
  const good = json('good', { auths: auths('u1') });
  const old = secret('old', 'kubernetes.io/dockercfg', '.dockercfg', auths('u2', 'reg.test/team'));

  it('of both types, before the node, the more specific key first', async () => {
    const rootDir = fs.mkdtempSync(path.join(top, 'root-'));
    fs.writeFileSync(
      path.join(rootDir, 'config.json'),
      JSON.stringify({ auths: auths('node', 'reg.test/team/app') }),
    );
    const p = new Pod([good, old], rootDir);
    assert.deepEqual(await p.users('good', 'old'), ['u2 ns/old', 'u1 ns/good', 'node -']);
    assert.deepEqual(await p.users('old'), ['u2 ns/old', 'node -']);
    assert.deepEqual(await p.users(), ['node -']);
    assert.deepEqual(p.events, []);
  });

  it('that are missing are told in one event on the pod', async () => {
    const p = new Pod([good]);
    assert.deepEqual(await p.users('a', 'good', 'b'), ['u1 ns/good']);
    assert.deepEqual(p.events, [
      '- Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (a, b); attempting to pull the image may not succeed.',
    ]);
  });

  it('that are of no use are told by name and reason, never by content', async () => {
    const p = new Pod([
      secret('opaque', 'Opaque', '.dockerconfigjson', { auths: auths('u') }),
      secret('empty', 'kubernetes.io/dockerconfigjson', 'other', PASSWORD),
      json('broken', `{"auths": {"reg.test": {"auth": "${PASSWORD}"}}}`),
    ]);
    assert.deepEqual(await p.users('opaque', 'empty', 'broken'), []);
    assert.deepEqual(
      p.events.map((event) => event.replace('- Warning FailedToRetrieveImagePullSecret: ', '')),
      [
        'Image pull secret opaque is not used: its type is Opaque, expected kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg',
        'Image pull secret empty is not used: it has no .dockerconfigjson',
        'Image pull secret broken is not used: .dockerconfigjson: auths["reg.test"].auth: expected base64 of user:password',
      ],
    );
    assert.ok(!p.events.join().includes(PASSWORD));
  });
});
