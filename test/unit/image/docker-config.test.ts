import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDockerConfig } from '../../../src/image/docker-config.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('Docker configuration', () => {
  it('reads auths: user and password, or auth, which wins', () => {
    const auths = {
      'a.io': { username: 'u', password: 'p', email: 'x@y' },
      'b.io': { auth: base64('u:p:q'), username: 'no', password: 'no' },
      'c.io': { auth: base64('user:pw').replace(/=+$/, '') },
      'd.io': {},
    };
    const text = JSON.stringify({ auths, credsStore: 'desktop', credHelpers: { 'e.io': 'x' } });
    assert.deepEqual(parseDockerConfig(text, 'config.json'), [
      { key: 'a.io', login: { username: 'u', password: 'p' } },
      { key: 'b.io', login: { username: 'u', password: 'p:q' } },
      { key: 'c.io', login: { username: 'user', password: 'pw' } },
      { key: 'd.io', login: { username: '', password: '' } },
    ]);
    assert.equal(parseDockerConfig(JSON.stringify(auths), '.dockercfg').length, 4);
    assert.deepEqual(parseDockerConfig('{}', 'config.json'), []);
  });

  const secret = 'hunter2';
  const broken: readonly [string, RegExp][] = [
    [`{"auths": {"a.io": {"password": "${secret}"`, /^not valid JSON$/],
    [`"${secret}"`, /^expected an object$/],
    [`{"auths": "${secret}"}`, /^auths: expected an object$/],
    [`{"auths": {"a.io": "${secret}"}}`, /^auths\["a.io"\]: expected an object$/],
    [`{"auths": {"a.io": {"password": ["${secret}"]}}}`, /password: expected a string$/],
    [
      `{"auths": {"a.io": {"auth": "${base64(secret)}"}}}`,
      /auth: expected base64 of user:password$/,
    ],
    [`{"auths": {"a.io": {"auth": "${secret}:!"}}}`, /auth: expected base64 of user:password$/],
  ];
  for (const [text, message] of broken)
    it(`a fault is named without what it holds: ${String(message)}`, () => {
      assert.throws(
        () => parseDockerConfig(text, 'config.json'),
        (error: Error) => message.test(error.message) && !error.message.includes(secret),
      );
    });
});
