/** Credential plugins as real processes. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import type { CredentialProvider } from '../../../src/config/model.ts';
import { readPluginAnswer } from '../../../src/image/plugin-answer.ts';
import { pluginAsker } from '../../../src/image/plugin-exec.ts';
import { PluginSource } from '../../../src/image/plugin-source.ts';
import { Registry } from '../../../src/metrics/registry.ts';
import { createLogger } from '../../../src/util/log.ts';
import { ManualClock } from '../../support/clock.ts';
import { until } from '../../support/agent.ts';

const API = 'credentialprovider.kubelet.k8s.io/v1';
const SECRET = 'hunter2';
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-plugin-'));
after(() => fs.rmSync(dir, { recursive: true }));

function answer(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    apiVersion: API,
    kind: 'CredentialProviderResponse',
    cacheKeyType: 'Image',
    cacheDuration: '5m0s',
    auth: { 'reg.test': { username: 'u', password: SECRET } },
    ...changes,
  };
}

/** A plugin made of a shell script; `$CALLS` is a file that it may write its calls to. */
function plugin(
  name: string,
  script: string,
  more: Partial<CredentialProvider> = {},
): CredentialProvider {
  const binary = path.join(dir, name);
  fs.writeFileSync(binary, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return {
    ...{ name, binary, matchImages: ['reg.test', '*.other.test'], defaultCacheDurationMs: 60_000 },
    ...{ apiVersion: API, args: [], env: [{ name: 'CALLS', value: `${binary}.calls` }] },
    ...more,
  };
}

/** Writes down what it is asked and says this. */
function says(
  name: string,
  what: unknown,
  more: Partial<CredentialProvider> = {},
): CredentialProvider {
  const file = path.join(dir, `${name}.json`);
  fs.writeFileSync(file, JSON.stringify(what));
  return plugin(name, `cat >> "$CALLS"; echo " $*" >> "$CALLS"; cat ${file}`, more);
}

function calls(provider: CredentialProvider): string[] {
  const file = `${provider.binary}.calls`;
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : [];
}

class Source {
  readonly clock = new ManualClock();
  readonly logged: string[] = [];
  readonly metrics = new Registry();
  readonly #source: PluginSource;

  constructor(...providers: CredentialProvider[]) {
    const sink = { write: (line: string) => void this.logged.push(line) };
    this.#source = new PluginSource({
      providers,
      ask: pluginAsker(this.clock),
      clock: this.clock,
      logger: createLogger({ sink, level: 'debug', wall: () => 0, format: 'json' }),
      metrics: this.metrics,
    });
  }

  async users(image: string, signal = new AbortController().signal): Promise<string[]> {
    return (await this.#source.lookup(image, signal)).map(({ username }) => username);
  }
}

describe('a credential plugin', () => {
  it('gets the request on stdin, its arguments and its environment, and its answer counts', async () => {
    const provider = says('asked', answer(), { args: ['get', 'it'] });
    const source = new Source(provider);
    assert.deepEqual(await source.users('reg.test/team/app:1'), ['u']);
    const [request = ''] = calls(provider);
    assert.match(request, / get it$/);
    assert.deepEqual(JSON.parse(request.replace(/ get it$/, '')), {
      kind: 'CredentialProviderRequest',
      apiVersion: API,
      image: 'reg.test/team/app:1',
    });
  });

  it('is asked about the images of its patterns only', async () => {
    const provider = says('picky', answer());
    const source = new Source(provider);
    assert.deepEqual(await source.users('else.test/app:1'), []);
    assert.deepEqual(calls(provider), []);
    // Asked, but what it knows is about another registry.
    assert.deepEqual(await source.users('x.other.test/app:1'), []);
    assert.equal(calls(provider).length, 1);
  });

  it('all plugins that match are asked, the more specific answer first', async () => {
    const auth = { 'reg.test/team': { username: 'specific', password: 'x' } };
    const source = new Source(says('first', answer()), says('second', answer({ auth })));
    assert.deepEqual(await source.users('reg.test/team/app:1'), ['specific', 'u']);
    assert.deepEqual(await source.users('reg.test/else:1'), ['u']);
  });
});

describe('how long an answer of a plugin is kept', () => {
  const asked = (
    name: string,
    changes: Record<string, unknown>,
    more: Partial<CredentialProvider> = {},
  ): ((image: string, afterMs?: number) => Promise<number>) => {
    const auth = { '*.other.test': { username: 'o', password: 'x' } };
    const provider = says(name, answer({ auth, ...changes }), more);
    const source = new Source(provider);
    return async (image, afterMs = 0) => {
      await source.clock.advance(afterMs);
      const before = calls(provider).length;
      assert.deepEqual(await source.users(image), ['o']);
      return calls(provider).length - before;
    };
  };

  it('for its image, its registry, or everything', async () => {
    const image = asked('by-image', {});
    assert.equal(await image('a.other.test/x:1'), 1);
    assert.equal(await image('a.other.test/x:1'), 0);
    assert.equal(await image('a.other.test/x:2'), 1);
    const registry = asked('by-registry', { cacheKeyType: 'Registry' });
    assert.equal(await registry('a.other.test/x:1'), 1);
    assert.equal(await registry('a.other.test/y:2'), 0);
    assert.equal(await registry('b.other.test/x:1'), 1);
    const global = asked('by-all', { cacheKeyType: 'Global' });
    assert.equal(await global('a.other.test/x:1'), 1);
    assert.equal(await global('b.other.test/y:2'), 0);
  });

  it('as long as it says, else as configured; 0 is not at all', async () => {
    const own = asked('own', { cacheDuration: '5m' });
    assert.equal(await own('a.other.test/x'), 1);
    assert.equal(await own('a.other.test/x', 299_000), 0);
    assert.equal(await own('a.other.test/x', 1_000), 1);
    const configured = asked('configured', { cacheDuration: undefined });
    assert.equal(await configured('a.other.test/x'), 1);
    assert.equal(await configured('a.other.test/x', 59_000), 0);
    assert.equal(await configured('a.other.test/x', 1_000), 1);
    const never = asked('never', { cacheDuration: '0s' });
    assert.equal(await never('a.other.test/x'), 1);
    assert.equal(await never('a.other.test/x'), 1);
    const off = asked('off', { cacheDuration: null }, { defaultCacheDurationMs: 0 });
    assert.equal(await off('a.other.test/x'), 1);
    assert.equal(await off('a.other.test/x'), 1);
  });

  it('two who ask at once ask together', async () => {
    const provider = says('once', answer({ cacheDuration: '0s' }));
    const source = new Source(provider);
    const asks = ['reg.test/x', 'reg.test/x', 'reg.test/x'].map((image) => source.users(image));
    assert.deepEqual(await Promise.all(asks), [['u'], ['u'], ['u']]);
    assert.equal(calls(provider).length, 1);
  });
});

describe('a plugin that fails is one without credentials, and the log says so without secrets', () => {
  const failing: readonly [name: string, script: string, said: RegExp][] = [
    ['status', `echo ${SECRET} >&2; exit 3`, /exit status 3/],
    ['signal', 'kill -9 $$', /ended by SIGKILL/],
    ['nonsense', `echo ${SECRET}: [`, /not valid JSON/],
    ['silent', 'exit 0', /the answer: expected an object/],
    ['endless', 'yes', /longer than 1 MiB/],
  ];
  for (const [name, script, said] of failing)
    it(name, async () => {
      const source = new Source(plugin(name, script));
      assert.deepEqual(await source.users('reg.test/app:1'), []);
      assert.equal(source.logged.length, 1);
      assert.match(source.logged[0] ?? '', said);
      assert.ok(!source.logged.join('').includes(SECRET));
      assert.match(
        source.metrics.expose(),
        new RegExp(`kubelet_credential_provider_plugin_errors_total{plugin_name="${name}"} 1\\n`),
      );
    });

  it('gone since the start', async () => {
    const provider = says('gone', answer());
    fs.rmSync(provider.binary);
    const source = new Source(provider);
    assert.deepEqual(await source.users('reg.test/app:1'), []);
    assert.match(source.logged.join(''), /cannot be run: .*ENOENT/);
  });

  it('no answer within a minute: it is ended, and its children too', async () => {
    const provider = plugin('hanging', 'sleep 1000 & echo $! > "$CALLS"; wait');
    const source = new Source(provider);
    const users = source.users('reg.test/app:1');
    const [child = ''] = await until('it has started', () => {
      const found = calls(provider);
      return found[0] ? found : undefined;
    });
    await source.clock.advance(60_000);
    assert.deepEqual(await users, []);
    assert.match(source.logged.join(''), /no answer within 1m0s/);
    await until('its child is gone', () => !fs.existsSync(`/proc/${child}`) || zombie(child));
  });

  it('nobody waits for it any more: it is ended at once, and that is no failure', async () => {
    const provider = plugin('given-up', 'sleep 1000 & echo $! >> "$CALLS"; wait');
    const source = new Source(provider);
    const [first, second] = [new AbortController(), new AbortController()];
    const asked = [first, second].map(({ signal }) => source.users('reg.test/app:1', signal));
    const [child = ''] = await until('it has started', () => {
      const found = calls(provider);
      return found[0] ? found : undefined;
    });
    first.abort(new Error('the pod was removed'));
    await assert.rejects(asked[0]!, /the pod was removed/);
    assert.ok(fs.existsSync(`/proc/${child}`) && !zombie(child), 'the other pod still waits');
    second.abort(new Error('the agent stops'));
    await assert.rejects(asked[1]!, /the agent stops/);
    await until('its child is gone', () => !fs.existsSync(`/proc/${child}`) || zombie(child));
    assert.deepEqual(source.logged, []);
    // Whoever comes next starts it anew.
    const third = new AbortController();
    const again = source.users('reg.test/app:1', third.signal);
    await until('it was started again', () => calls(provider).length === 2 || undefined);
    third.abort(new Error('enough'));
    await assert.rejects(again, /enough/);
  });
});

function zombie(pid: string): boolean {
  return /^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
}

describe('the answer of a plugin is read strictly', () => {
  const wrong: readonly [what: string, value: unknown, said: RegExp][] = [
    ['a list', [SECRET], /^the answer: expected an object$/],
    ['another kind', answer({ kind: SECRET }), /kind: expected CredentialProviderResponse$/],
    ['another version', answer({ apiVersion: 'v9' }), /apiVersion: expected credentialprovider/],
    [
      'no cache key',
      answer({ cacheKeyType: undefined }),
      /cacheKeyType: expected Image or Registry or Global$/,
    ],
    ['another cache key', answer({ cacheKeyType: 'image' }), /cacheKeyType: expected/],
    ['a number as duration', answer({ cacheDuration: 5 }), /cacheDuration: expected a duration/],
    ['a negative duration', answer({ cacheDuration: '-5s' }), /cacheDuration: expected a duration/],
    [
      'an unknown field',
      answer({ [SECRET]: 1 }),
      /^the answer: expected no other fields than apiVersion, /,
    ],
    ['auth that is none', answer({ auth: SECRET }), /auth: expected an object$/],
    [
      'a login that is none',
      answer({ auth: { 'a.io': SECRET } }),
      /auth\["a.io"\]: expected an object$/,
    ],
    [
      'an unknown field of a login',
      answer({ auth: { 'a.io': { token: SECRET } } }),
      /auth\["a.io"\]: expected no other fields than username, password$/,
    ],
    [
      'a number as password',
      answer({ auth: { 'a.io': { password: 5 } } }),
      /auth\["a.io"\].password: expected a string$/,
    ],
  ];
  for (const [what, value, said] of wrong)
    it(what, () => {
      assert.throws(
        () => readPluginAnswer(JSON.stringify(value), API),
        (error: Error) => said.test(error.message) && !error.message.includes(SECRET),
      );
    });

  it('a key twice', () => {
    const text = JSON.stringify(answer()).replace('"kind"', '"kind": "x", "kind"');
    assert.throws(() => readPluginAnswer(text, API), /not valid JSON/);
  });

  it('no auth at all is an answer', () => {
    assert.equal(readPluginAnswer(JSON.stringify(answer({ auth: undefined })), API).auth.size, 0);
  });
});
