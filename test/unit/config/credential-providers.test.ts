import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { readCredentialProviders } from '../../../src/config/credential-providers.ts';
import { problemLine } from '../../../src/config/problem.ts';
import type { Problem } from '../../../src/config/problem.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-providers-'));
const bin = path.join(dir, 'bin');
fs.mkdirSync(bin);
for (const name of ['one', 'two'])
  fs.writeFileSync(path.join(bin, name), '#!/bin/sh\n', { mode: 0o755 });
fs.writeFileSync(path.join(bin, 'plain'), '');
after(() => fs.rmSync(dir, { recursive: true }));

const head = 'apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n';
const GOOD = `- name: one
  matchImages: ["*.dkr.ecr.*.amazonaws.com", "reg.io:5000/team"]
  defaultCacheDuration: 12h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  args: [get, --quiet]
  env: [{name: PROFILE, value: temp}]
`;

function read(config: string | undefined, binDir: string | undefined = bin) {
  const problems: Problem[] = [];
  const flags = {
    ...(config !== undefined && { credentialProviderConfig: config }),
    ...(binDir !== undefined && { credentialProviderBinDir: binDir }),
  };
  const providers = readCredentialProviders(flags, problems);
  return {
    providers,
    said: problems.map((problem) => problemLine(problem).replaceAll(dir, 'DIR')),
  };
}

function file(text: string, name = 'config.yaml'): string {
  const where = path.join(dir, name);
  fs.mkdirSync(path.dirname(where), { recursive: true });
  fs.writeFileSync(where, text);
  return where;
}

describe('CredentialProviderConfig', () => {
  it('every field', () => {
    const { providers, said } = read(file(head + GOOD));
    assert.deepEqual(said, []);
    assert.deepEqual(providers, [
      {
        name: 'one',
        binary: path.join(bin, 'one'),
        matchImages: ['*.dkr.ecr.*.amazonaws.com', 'reg.io:5000/team'],
        defaultCacheDurationMs: 12 * 3_600_000,
        apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
        args: ['get', '--quiet'],
        env: [{ name: 'PROFILE', value: 'temp' }],
      },
    ]);
  });

  it('a directory: its files by name, JSON too, a name only once in all', () => {
    const config = path.join(dir, 'many');
    file(head + GOOD.replace('name: one', 'name: two'), 'many/20.yaml');
    file(head + GOOD, 'many/10.yml');
    file('no configuration', 'many/README');
    assert.deepEqual(
      read(config).providers.map(({ name }) => name),
      ['one', 'two'],
    );
    file(head + GOOD, 'many/30.yaml');
    assert.deepEqual(read(config), {
      providers: [],
      said: ['DIR/many/30.yaml:4: providers[0].name: found "one", expected each provider once'],
    });
  });

  it('is no matter without the flags', () => {
    const problems: Problem[] = [];
    assert.deepEqual(readCredentialProviders({}, problems), []);
    assert.deepEqual(problems, []);
  });

  const v1 = 'credentialprovider.kubelet.k8s.io/v1';
  const faults: readonly [what: string, text: string, said: RegExp][] = [
    [
      'no provider',
      `${head.replace('providers:\n', '')}`,
      /providers: found none, expected at least one provider$/,
    ],
    [
      'another kind',
      'apiVersion: v1\nkind: Pod\n',
      /config.yaml:2: kind: found "Pod", expected CredentialProviderConfig$/,
    ],
    ['an empty file', '', /found no document, expected CredentialProviderConfig$/],
    [
      'another version',
      head.replace('/v1', '/v9') + GOOD,
      /:1: apiVersion: found "kubelet.config.k8s.io\/v9"/,
    ],
    [
      'a misspelt field',
      head + GOOD.replace('args', 'arg'),
      /:8: providers\[0\].arg: found an unknown field, expected args\?$/,
    ],
    [
      'no name',
      head + GOOD.replace('name: one', 'name: ""'),
      /:4: providers\[0\].name: found "", expected the name of a program$/,
    ],
    [
      'a path as name',
      head + GOOD.replace('name: one', 'name: ../one'),
      /found "..\/one", expected the name of a program, without/,
    ],
    [
      'a program that is missing',
      head + GOOD.replace('name: one', 'name: three'),
      /found "three", expected a program DIR\/bin\/three$/,
    ],
    [
      'a program that cannot run',
      head + GOOD.replace('name: one', 'name: plain'),
      /found "plain", expected a program DIR\/bin\/plain$/,
    ],
    [
      'no images',
      head + GOOD.replace(/matchImages.*/, 'matchImages: []'),
      /:5: providers\[0\].matchImages: found none/,
    ],
    [
      'a URL as image',
      head + GOOD.replace(/matchImages.*/, 'matchImages: ["https://reg.io"]'),
      /:5: providers\[0\].matchImages\[0\]: found "https:\/\/reg.io", expected a pattern/,
    ],
    [
      'no duration',
      head + GOOD.replace('  defaultCacheDuration: 12h\n', ''),
      /:4: providers\[0\].defaultCacheDuration: found nothing/,
    ],
    [
      'a negative duration',
      head + GOOD.replace('12h', '-1s'),
      /defaultCacheDuration: found "-1s", expected a duration/,
    ],
    [
      'another protocol',
      head + GOOD.replace(v1, `${v1}0`),
      /:7: providers\[0\].apiVersion: found "credentialprovider.kubelet.k8s.io\/v10"/,
    ],
    [
      'no protocol',
      head + GOOD.replace(/ {2}apiVersion.*\n/, ''),
      /providers\[0\].apiVersion: found nothing, expected credentialprovider/,
    ],
    [
      'a variable without a name',
      head + GOOD.replace('name: PROFILE', 'name: ""'),
      /providers\[0\].env\[0\].name: found "", expected the name of a variable$/,
    ],
    [
      'service account tokens',
      `${head + GOOD}  tokenAttributes: {serviceAccountTokenAudience: x, cacheType: Token}\n`,
      /:10: providers\[0\].tokenAttributes: found a request.*API server$/,
    ],
  ];
  for (const [what, text, expected] of faults)
    it(`one line for ${what}`, () => {
      const { providers, said } = read(file(text));
      assert.deepEqual(providers, []);
      assert.equal(said.length, 1, said.join('\n'));
      assert.match(said[0] ?? '', expected);
    });

  it('one flag without the other, and paths that are not there', () => {
    const problems: Problem[] = [];
    const config = file(head + GOOD);
    readCredentialProviders({ credentialProviderConfig: config }, problems);
    readCredentialProviders({ credentialProviderBinDir: bin }, problems);
    assert.deepEqual(
      problems.map(({ where }) => where),
      ['--image-credential-provider-bin-dir', '--image-credential-provider-config'],
    );
    assert.match(
      read(path.join(dir, 'none')).said.join(),
      /^--image-credential-provider-config: found an unreadable file/,
    );
    assert.match(
      read(config, path.join(dir, 'none')).said[0] ?? '',
      /^--image-credential-provider-bin-dir: found "DIR\/none", expected a directory$/,
    );
  });
});
