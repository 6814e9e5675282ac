import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callError } from '../../../src/cri/errors.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { DENIED, NAME, Registry, UNREACHABLE, ofNode, ofSecret } from './puller-fixture.ts';

describe('pull policies', () => {
  it('IfNotPresent pulls once', async () => {
    const r = new Registry();
    assert.equal(await r.ensure('IfNotPresent'), `sha256:${NAME}`);
    assert.equal(await r.ensure('IfNotPresent'), `sha256:${NAME}`);
    assert.equal(r.pulls, 1);
    assert.deepEqual(r.events, [
      `Pulling: Pulling image "${NAME}"`,
      `Pulled: Successfully pulled image "${NAME}" in 0µs (0µs including waiting). Image size: 7 bytes.`,
      `Pulled: Container image "${NAME}" already present on machine and can be accessed by the pod`,
    ]);
  });

  it('Always asks the registry each time', async () => {
    const r = new Registry();
    r.add(NAME);
    await r.ensure('Always');
    await r.ensure('Always');
    assert.equal(r.pulls, 2);
  });

  it('Never does not pull, and takes an image that was imported meanwhile', async () => {
    const r = new Registry();
    assert.equal(await r.ensure('Never'), 'ErrImageNeverPull undefined');
    assert.equal(r.pulls, 0);
    r.add(NAME);
    assert.equal(await r.ensure('Never'), `sha256:${NAME}`);
  });

  it('a name that no registry could serve is told without asking one', async () => {
    const r = new Registry();
    assert.equal(await r.ensure('Always', 'CaptainAmerica'), 'InvalidImageName undefined');
    assert.equal(r.pulls, 0);
  });
});

describe('back-off of failed pulls', () => {
  it('10 s doubling to 5 minutes, told with the failure before it', async () => {
    const r = new Registry();
    r.broken = new IsletError('failed', 'no route to host');
    const delays: number[] = [];
    for (let i = 0; i < 7; i++) {
      // Asked again soon: only then is a long pause seen as one, and an image that was imported meanwhile.
      assert.equal(await r.ensure('IfNotPresent'), 'ErrImagePull 10000');
      const waiting = await r.ensure('IfNotPresent');
      assert.match(waiting, /^ImagePullBackOff /);
      const ms = Number(waiting.split(' ')[1]);
      delays.push(ms / 1000);
      await r.clock.advance(ms);
    }
    assert.deepEqual(delays, [10, 20, 40, 80, 160, 300, 300]);
    assert.ok(r.events.includes(`BackOff: Back-off pulling image "${NAME}"`));
    assert.equal(r.pulls, 7);
  });

  it('a success forgets it', async () => {
    const r = new Registry();
    r.broken = new IsletError('failed', 'x');
    await r.ensure('Always');
    await r.clock.advance(10_000);
    r.broken = undefined;
    assert.equal(await r.ensure('Always'), `sha256:${NAME}`);
    r.broken = new IsletError('failed', 'x');
    assert.equal(await r.ensure('Always'), 'ErrImagePull 10000');
  });

  it('names the two kinds of failure that the runtime marks', async () => {
    const r = new Registry();
    r.broken = new IsletError('failed', 'RegistryUnavailable: connection refused');
    assert.match(await r.ensure('Always'), /^RegistryUnavailable /);
    await r.clock.advance(10_000);
    r.broken = new IsletError('failed', 'SignatureValidationFailed: bad key');
    assert.match(await r.ensure('Always'), /^SignatureValidationFailed /);
  });
});

describe('a pull secret that comes or changes', () => {
  it('ends the pause', async () => {
    const r = new Registry();
    r.credentials = [ofSecret('wrong')];
    r.onlyFor = 'right';
    assert.equal(await r.ensure({ secrets: ['x'] }), 'ErrImagePull 10000');
    assert.equal(await r.ensure({ secrets: ['x'] }), 'ImagePullBackOff 10000');
    r.credentials = [ofSecret('right')];
    assert.equal(await r.ensure({ secrets: ['x'] }), `sha256:${NAME}`);
  });
});

describe('events and messages name the image as the pod does', () => {
  it('without the default tag', async () => {
    const r = new Registry();
    r.broken = new IsletError('failed', 'x');
    await r.ensure('IfNotPresent', 'reg.test/app');
    await r.ensure('IfNotPresent', 'reg.test/app');
    assert.deepEqual(r.events, [
      'Pulling: Pulling image "reg.test/app"',
      'Failed: Failed to pull image "reg.test/app": x',
      'BackOff: Back-off pulling image "reg.test/app"',
    ]);
  });
});

describe('credentials of a pull', () => {
  it('none: once, anonymously', async () => {
    const r = new Registry();
    await r.ensure('Always');
    assert.deepEqual(r.users, ['-']);
  });

  it('each in order until one works', async () => {
    const r = new Registry();
    r.credentials = [ofSecret('a'), ofNode('b'), ofNode('c')];
    r.onlyFor = 'b';
    await r.ensure('Always');
    assert.deepEqual(r.users, ['a', 'b']);
  });

  it('none works: the failures in one, anonymous is not tried after', async () => {
    const r = new Registry();
    r.credentials = [ofSecret('a'), ofNode('b')];
    r.onlyFor = '-';
    const outcome = await r.outcome({ policy: 'Always' });
    assert.ok(outcome.kind === 'failed');
    assert.equal(outcome.message, '[no for a, no for b]');
    assert.deepEqual(r.users, ['a', 'b']);
  });

  it('the same failure of all is told once', async () => {
    const r = new Registry();
    r.credentials = [ofNode('a'), ofNode('b')];
    r.broken = new IsletError('failed', 'denied');
    const outcome = await r.outcome({ policy: 'Always' });
    assert.ok(outcome.kind === 'failed');
    assert.equal(outcome.message, 'denied');
  });

  it('what a registry repeats of them is shown to nobody', async () => {
    const r = new Registry();
    const password = 'p/w+d=1';
    r.credentials = [ofNode('joe', password)];
    const basic = Buffer.from(`joe:${password}`).toString('base64');
    const echo = `403 Forbidden: got "Authorization: Basic ${basic}", ${basic}, ${password}, ${encodeURIComponent(password)}, Bearer abcdefgh.12345678`;
    r.broken = callError('PullImage', NAME, 2, echo);
    const first = await r.outcome({ policy: 'Always' });
    const second = await r.outcome({ policy: 'Always' });
    const shown = JSON.stringify([r.events, first, second]);
    for (const secret of [password, basic, encodeURIComponent(password), 'abcdefgh.12345678'])
      assert.ok(!shown.includes(secret), shown);
    assert.match(shown, /403 Forbidden: got .*\*\*\*/);
  });
});

it('what the image GC has to know of an image is told: its use, its source, a silent registry', async () => {
  const r = new Registry();
  await r.ensure('IfNotPresent');
  await r.ensure('IfNotPresent');
  assert.deepEqual(r.ledger, [
    `pulled ${NAME} sha256:${NAME}`,
    `used sha256:${NAME}`,
    `used sha256:${NAME}`,
  ]);
  r.ledger.length = 0;
  r.broken = UNREACHABLE;
  await r.ensure('Always');
  await r.clock.advance(10_000);
  r.broken = DENIED;
  await r.ensure('Always');
  assert.deepEqual(r.ledger, [`silent ${NAME}`, `refused ${NAME}`]);
});
