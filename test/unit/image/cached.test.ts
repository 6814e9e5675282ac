import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callError } from '../../../src/cri/errors.ts';
import { DENIED, NAME, ofNode, REFUSED, Registry, UNREACHABLE } from './puller-fixture.ts';

describe('Always without a registry', () => {
  it('by default fails as a kubelet does, and says what would help', async () => {
    const r = new Registry();
    r.add(NAME);
    r.broken = UNREACHABLE;
    const first = await r.outcome({ policy: 'Always' });
    assert.ok(first.kind === 'failed');
    assert.equal(first.reason, 'ErrImagePull');
    assert.equal(
      first.message,
      `${REFUSED} (the registry cannot be reached, but the image is in the store: sha256:manifest;` +
        ' the pod annotation islet.dev/image-policy: newest-else-cached, or imagePolicy:' +
        ' newest-else-cached in the IsletConfiguration, would use it)',
    );
    const second = await r.outcome({ policy: 'Always' });
    assert.ok(second.kind === 'failed');
    assert.equal(
      second.message,
      `Back-off pulling image "${NAME}": ErrImagePull: ${first.message}`,
    );
  });

  it('says nothing of the store when it has nothing', async () => {
    const r = new Registry();
    r.broken = UNREACHABLE;
    const outcome = await r.outcome({ policy: 'Always' });
    assert.ok(outcome.kind === 'failed');
    assert.equal(outcome.message, REFUSED);
  });

  for (const by of ['node', 'pod'] as const)
    it(`newest-else-cached of the ${by}: the image in the store, with a warning`, async () => {
      const r = new Registry();
      r.imagePolicy = by === 'node' ? 'newest-else-cached' : 'always-ask';
      const annotations: Record<string, string> =
        by === 'pod' ? { 'islet.dev/image-policy': 'newest-else-cached' } : {};
      r.add(NAME);
      r.broken = UNREACHABLE;
      assert.equal(await r.ensure({ policy: 'Always', annotations }), `sha256:${NAME}`);
      assert.deepEqual(r.events, [
        `Pulling: Pulling image "${NAME}"`,
        `Failed: Failed to pull image "${NAME}": ${REFUSED}`,
        'UsingCachedImage: registry unreachable, used cached sha256:manifest',
      ]);
      // A container that restarts does not ask again before the pause is over.
      assert.equal(await r.ensure({ policy: 'Always', annotations }), `sha256:${NAME}`);
      assert.equal(r.pulls, 1);
      await r.clock.advance(10_000);
      r.broken = undefined;
      assert.equal(await r.ensure({ policy: 'Always', annotations }), `sha256:${NAME}`);
      assert.equal(r.pulls, 2);
    });

  it('an answer of the registry does not count as none', async () => {
    const r = new Registry();
    r.imagePolicy = 'newest-else-cached';
    r.add(NAME);
    for (const error of [
      DENIED,
      callError('PullImage', NAME, 5, `failed to resolve image: ${NAME}: not found`),
    ]) {
      r.broken = error;
      assert.equal(await r.ensure({ policy: 'Always', uid: error.message }), 'ErrImagePull 10000');
      assert.equal(
        await r.ensure({ policy: 'Always', uid: error.message }),
        'ImagePullBackOff 10000',
      );
    }
  });

  it('one credential that was answered is an answer', async () => {
    const r = new Registry();
    r.imagePolicy = 'newest-else-cached';
    r.add(NAME);
    r.credentials = [ofNode('a'), ofNode('b')];
    r.onlyFor = 'nobody';
    assert.equal(await r.ensure('Always'), 'ErrImagePull 10000');
  });

  it('nothing in the store, nothing to run', async () => {
    const r = new Registry();
    r.imagePolicy = 'newest-else-cached';
    r.broken = UNREACHABLE;
    assert.equal(await r.ensure('Always'), 'ErrImagePull 10000');
  });

  it('a word that is no policy is told, and the node counts', async () => {
    const r = new Registry();
    r.add(NAME);
    r.broken = UNREACHABLE;
    const annotations = { 'islet.dev/image-policy': 'cached' };
    assert.equal(await r.ensure({ policy: 'Always', annotations }), 'ErrImagePull 10000');
    assert.equal(
      r.events.at(-1),
      'ManifestWarning: metadata.annotations["islet.dev/image-policy"]: found "cached", expected always-ask or newest-else-cached; the node\'s always-ask counts',
    );
  });
});
