/** ConfigMaps and Secrets of the manifest directory, with the real decoder and the real database. */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { ConfigObjectKey } from '../../../src/api/config-object.ts';
import { objectText } from '../../../src/api/config-object.ts';
import { loadManifest } from '../../../src/manifest/load.ts';
import { Fixture, documents } from './source-fixture.ts';

const VALUE = 'hunter2-is-the-value';
const ENCODED = Buffer.from(VALUE).toString('base64');

const configMap = (name: string, greeting: string, more = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n${more}data: {greeting: ${greeting}}\n`;
const secret = (name: string, value = ENCODED, more = ''): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}}\n${more}data:\n  password: ${value}\n`;
const pod = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers: [{name: c, image: x}]\n`;

describe('objects of the file source', () => {
  let f: Fixture;
  let told: ConfigObjectKey[][];
  beforeEach(() => {
    f = new Fixture();
    told = [];
  });
  afterEach(() => f.end());

  const start = async (): Promise<void> => {
    await f.start({ load: loadManifest });
    f.source.subscribeObjects((changed) => told.push([...changed]));
  };
  const restart = (meanwhile?: () => void): Promise<void> =>
    f.restart(meanwhile, { load: loadManifest });
  const publish = (name: string, text: string): void => {
    f.publish(name, text);
    chmodSync(f.file(name), 0o600);
  };
  const greeting = (name = 'cm'): string | undefined =>
    f.source.configs.configMap('default', name)?.data.get('greeting');
  const password = (name = 's'): string | undefined => {
    const value = f.source.configs.secret('default', name)?.data.get('password');
    return value && Buffer.from(value).toString();
  };
  /** All bytes that the database has on the disk now. */
  const database = (): string =>
    readdirSync(f.root)
      .filter((name) => name.startsWith('state.db'))
      .map((name) => readFileSync(join(f.root, name), 'latin1'))
      .join('\n');

  it('decodes base64, binaryData, and stringData over data', async () => {
    publish(
      'a.yaml',
      documents(
        `apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: prod}\ntype: kubernetes.io/basic-auth\n` +
          `data: {a: aGk=, b: aGk=, raw: /wA=}\nstringData: {b: plain}\n`,
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {t: text}\nbinaryData: {b: /wA=}\nimmutable: true\n`,
      ),
    );
    await start();
    const found = f.source.configs.secret('prod', 's');
    assert.equal(found?.type, 'kubernetes.io/basic-auth');
    assert.equal(found.immutable, false);
    const values = [...found.data].map(([key, value]) => [key, Buffer.from(value).toString('hex')]);
    assert.deepEqual(values.sort(), [
      ['a', '6869'],
      ['b', Buffer.from('plain').toString('hex')],
      ['raw', 'ff00'],
    ]);
    const map = f.source.configs.configMap('default', 'cm');
    assert.deepEqual([...(map?.data ?? [])], [['t', 'text']]);
    assert.deepEqual([...(map?.binaryData ?? [])], [['b', Buffer.from([255, 0])]]);
    assert.equal(map?.immutable, true);
    assert.equal(f.source.configs.secret('default', 's'), undefined);
  });

  it('tells which objects changed, keeps the others, and does not disturb the pods', async () => {
    publish('a.yaml', documents(configMap('cm', 'morning'), configMap('other', 'x'), pod('web')));
    await start();
    const { configs } = f.source;
    const [before, web] = [configs.configMap('default', 'other'), f.pod('web-node')];
    publish('a.yaml', documents(configMap('other', '"x"'), configMap('cm', 'evening'), pod('web')));
    await f.until('the change', () => greeting() === 'evening');
    assert.deepEqual(
      told.map((keys) => keys.map(objectText)),
      [['ConfigMap default/cm']],
    );
    assert.equal(configs.configMap('default', 'other'), before);
    assert.equal(f.pod('web-node'), web);
    assert.deepEqual(f.sets.slice(1), []);
    publish('a.yaml', documents(configMap('other', 'x'), pod('web')));
    await f.until('the removal', () => greeting() === undefined);
    assert.deepEqual(told.at(-1)?.map(objectText), ['ConfigMap default/cm']);
    assert.equal(f.pod('web-node'), web);
  });

  it('the first file to have an object keeps it, and the other one is reported whole', async () => {
    publish('b.yaml', configMap('cm', 'first'));
    await start();
    publish('a.yaml', documents(configMap('cm', 'second'), pod('web')));
    await f.untilState('a.yaml', 'duplicate');
    assert.equal(greeting(), 'first');
    assert.deepEqual(f.names(), []);
    assert.match(
      f.verdict('a.yaml')?.messages.join() ?? '',
      /ConfigMap default\/cm is provided by .*b\.yaml already/,
    );
    rmSync(f.file('b.yaml'));
    await f.until('the second takes over', () => greeting() === 'second');
    assert.deepEqual(f.names(), ['web-node']);
  });

  it('an immutable object keeps its content until it was removed and added again', async () => {
    const fixed = (value: string): string => configMap('cm', value, 'immutable: true\n');
    publish('a.yaml', documents(fixed('one'), pod('web')));
    await start();
    publish('a.yaml', documents(pod('web'), configMap('cm', 'two')));
    await f.until('it is noted', () => f.verdict('a.yaml')?.warnings.length === 1);
    assert.equal(greeting(), 'one');
    assert.match(f.verdict('a.yaml')?.warnings[0] ?? '', /a\.yaml:7: ConfigMap default\/cm is imm/);
    publish('a.yaml', pod('web'));
    await f.until('it is gone', () => greeting() === undefined);
    publish('a.yaml', documents(pod('web'), fixed('two')));
    await f.until('it is back', () => greeting() === 'two');
    assert.deepEqual(f.verdict('a.yaml')?.warnings, []);
  });

  it('warns of a Secret in a file that others can read, as the mode is now', async () => {
    f.write('a.yaml', documents(configMap('cm', 'x'), secret('s')));
    chmodSync(f.file('a.yaml'), 0o644);
    await start();
    assert.deepEqual(f.verdict('a.yaml')?.warnings, [
      `${f.file('a.yaml')}:6: Secret default/s is in a file of mode 0644, expected 0600`,
    ]);
    chmodSync(f.file('a.yaml'), 0o600);
    await f.until('no warning', () => f.verdict('a.yaml')?.warnings.length === 0);
    f.write('plain.yaml', configMap('plain', 'x'));
    chmodSync(f.file('plain.yaml'), 0o644);
    await f.untilState('plain.yaml', 'accepted');
    assert.deepEqual(f.verdict('plain.yaml')?.warnings, []);
  });

  it('has no value of a Secret in the database, and the pods all the same', async () => {
    const all = documents(pod('web'), `# old: ${VALUE}\n${secret('s')}`, configMap('cm', 'kept'));
    publish('a.yaml', all);
    publish('only.yaml', secret('alone'));
    publish(
      'json.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'j' },
        stringData: { password: VALUE },
      }),
    );
    await start();
    assert.deepEqual([password(), password('alone'), password('j')], [VALUE, VALUE, VALUE]);
    const web = f.pod('web-node');
    await restart(() => {
      for (const value of [VALUE, ENCODED]) assert.ok(!database().includes(value), value);
      for (const name of ['a.yaml', 'only.yaml']) writeFileSync(f.file(name), 'kind: [broken\n');
    });
    assert.deepEqual(f.pod('web-node'), web);
    assert.equal(greeting(), 'kept');
    assert.deepEqual([password(), password('alone'), password('j')], [undefined, undefined, VALUE]);
    assert.deepEqual(
      f.verdict('only.yaml')?.messages.at(-1),
      `${f.file('only.yaml')}: Secret default/alone is missing until the file is accepted again: its values are not kept`,
    );
    publish('a.yaml', all);
    await f.until('the Secret is back', () => password() === VALUE);
    assert.equal(f.pod('web-node')?.metadata.uid, web?.metadata.uid);
    await f.stop();
    for (const value of [VALUE, ENCODED]) assert.ok(!database().includes(value), value);
  });

  it('a file whose Secret was withheld still has its name', async () => {
    publish('b.yaml', secret('s'));
    await start();
    await restart(() => {
      publish('b.yaml', 'kind: [broken\n');
      publish('a.yaml', secret('s', Buffer.from('other').toString('base64')));
    });
    assert.equal(f.verdict('a.yaml')?.state, 'duplicate');
    assert.equal(password(), undefined);
  });
});
