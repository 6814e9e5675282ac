import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Keyring, matchesImage } from '../../../src/image/keyring.ts';
import { fullImageName, repositoryOf } from '../../../src/image/repository.ts';

describe('the repository of an image name', () => {
  const table: readonly [string, string][] = [
    ['nginx', 'docker.io/library/nginx'],
    ['nginx:1.25', 'docker.io/library/nginx'],
    ['team/app', 'docker.io/team/app'],
    ['docker.io/nginx', 'docker.io/library/nginx'],
    ['index.docker.io/team/app:1', 'docker.io/team/app'],
    ['reg.io/team/app:1', 'reg.io/team/app'],
    ['reg.io:5000/app', 'reg.io:5000/app'],
    ['localhost/app:1', 'localhost/app'],
    [`reg.io/app:1@sha256:${'a'.repeat(64)}`, 'reg.io/app'],
    [`app@sha256:${'a'.repeat(64)}`, 'docker.io/library/app'],
  ];
  for (const [image, repository] of table)
    it(`${image} → ${repository}`, () => assert.equal(repositoryOf(image), repository));

  it('the full name keeps tag and digest', () => {
    assert.equal(fullImageName('nginx:1.25'), 'docker.io/library/nginx:1.25');
    assert.equal(fullImageName('reg.io:5000/app'), 'reg.io:5000/app');
    assert.equal(fullImageName('app:1@sha256:ab'), 'docker.io/library/app:1@sha256:ab');
  });
});

describe('which key covers which image', () => {
  const table: readonly [key: string, image: string, covered: boolean][] = [
    ['*.azurecr.io', 'foo.azurecr.io/app', true],
    ['*.azurecr.io', 'a.b.azurecr.io/app', false],
    ['reg.io:5000', 'reg.io/app', false],
    ['reg.io:5000', 'reg.io:5000/app', true],
    ['reg.io', 'reg.io:5000/app', false],
    ['reg.io/team', 'reg.io/team/x', true],
    ['reg.io/team', 'reg.io/teamster/x', true],
    ['reg.io/team', 'reg.io/other/team', false],
    ['reg.io/team/', 'reg.io/teamster/x', false],
    ['reg*.io', 'registry.io/x', true],
    ['reg?.io', 'reg1.io/x', true],
    ['reg[0-3].io', 'reg2.io/x', true],
    ['reg[^0-3].io', 'reg2.io/x', false],
    ['*', 'reg.io/x', false],
    ['*.*', 'reg.io/x', true],
    ['reg.io', 'reg-io/x', false],
    ['[::1]:5000', '[::1]:5000/x', true],
    ['reg[.io', 'reg[.io/x', false],
    ['', 'reg.io/x', false],
  ];
  for (const [key, image, covered] of table)
    it(`${key || "''"} ${covered ? 'covers' : 'does not cover'} ${image}`, () => {
      assert.equal(matchesImage(key, image), covered);
    });
});

describe('the credentials of an image', () => {
  const users = (keys: readonly string[], image: string): string => {
    const ring = new Keyring();
    keys.forEach((key, i) => ring.add(key, { username: `${key}#${i}`, password: 'x' }));
    return ring
      .lookup(repositoryOf(image))
      .map(({ username }) => username)
      .join(' ');
  };

  it('all that match, the longer key first, one key in the order of addition', () => {
    assert.equal(
      users(['reg.io', 'reg.io/team', 'reg.io', '*.io', 'other.io'], 'reg.io/team/x'),
      'reg.io/team#1 reg.io#0 reg.io#2 *.io#3',
    );
  });

  it('scheme and API path of a key do not count, another path does', () => {
    assert.equal(users(['https://reg.io/v2/'], 'reg.io/x'), 'https://reg.io/v2/#0');
    assert.equal(users(['http://reg.io/v1/team'], 'reg.io/team/x'), 'http://reg.io/v1/team#0');
    assert.equal(users(['https://reg.io/v1/team'], 'reg.io/x'), '');
    assert.equal(users(['reg.io/'], 'reg.io/x'), 'reg.io/#0');
  });

  it("Docker's own key serves every image of Docker's registry, unless another matches", () => {
    const own = 'https://index.docker.io/v1/';
    assert.equal(users([own], 'nginx'), `${own}#0`);
    assert.equal(users([own], 'docker.io/team/app:1'), `${own}#0`);
    assert.equal(users([own], 'reg.io/nginx'), '');
    assert.equal(users([own, 'docker.io'], 'nginx'), 'docker.io#1');
  });

  it('a key that is nothing is no trouble to the others', () => {
    assert.equal(users(['::', 'reg.io'], 'reg.io/x'), 'reg.io#1');
  });
});
