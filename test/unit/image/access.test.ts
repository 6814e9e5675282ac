import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { VerificationPolicy } from '../../../src/config/model.ts';
import { ImageAccess } from '../../../src/image/access.ts';
import type { Credential } from '../../../src/image/puller.ts';
import { NAME, ofNode, ofSecret, Registry, UNREACHABLE } from './puller-fixture.ts';

describe('an image that was pulled with the pull secret of a pod', () => {
  async function pulledWith(credential: Credential, verification?: VerificationPolicy) {
    const r = new Registry();
    if (verification) r.verification = verification;
    r.credentials = [credential];
    await r.ensure({ secrets: ['team'] });
    r.credentials = [];
    r.onlyFor = 'team';
    return r;
  }

  it('is for pods that name the secret', async () => {
    const r = await pulledWith(ofSecret('team'));
    assert.equal(await r.ensure({ uid: 'other', secrets: ['x', 'team'] }), `sha256:${NAME}`);
    assert.equal(r.pulls, 1);
  });

  it('is not for others: they must be able to pull it', async () => {
    const r = await pulledWith(ofSecret('team'));
    const outcome = await r.outcome({ uid: 'other' });
    assert.ok(outcome.kind === 'failed');
    assert.equal(
      outcome.message,
      'no for - (the image is in the store, but it was pulled with a pull secret that this pod does not name)',
    );
    assert.deepEqual(r.users, ['team', '-']);
    r.onlyFor = undefined;
    await r.clock.advance(10_000);
    assert.equal(await r.ensure({ uid: 'other' }), `sha256:${NAME}`);
    // From now on everyone may: it was pulled without credentials.
    assert.equal(await r.ensure({ uid: 'third' }), `sha256:${NAME}`);
    assert.equal(r.pulls, 3);
  });

  it('with Never it counts as absent', async () => {
    const r = await pulledWith(ofSecret('team'));
    assert.equal(await r.ensure({ uid: 'other', policy: 'Never' }), 'ErrImageNeverPull undefined');
    assert.equal(
      await r.ensure({ uid: 'o', policy: 'Never', secrets: ['team'] }),
      `sha256:${NAME}`,
    );
    assert.equal(r.pulls, 1);
  });

  it('does not become free by an unreachable registry', async () => {
    const r = await pulledWith(ofSecret('team'));
    r.broken = UNREACHABLE;
    const annotations = { 'islet.dev/image-policy': 'newest-else-cached' };
    for (const policy of ['Always', 'IfNotPresent'] as const)
      assert.equal(await r.ensure({ uid: policy, policy, annotations }), 'ErrImagePull 10000');
    const wish = { uid: 'a', policy: 'Always', annotations, secrets: ['team'] } as const;
    assert.equal(await r.ensure({ ...wish, secrets: [...wish.secrets] }), `sha256:${NAME}`);
  });

  it('of the node, or of nobody, it is for all', async () => {
    const r = await pulledWith(ofNode('team'));
    assert.equal(await r.ensure({ uid: 'other' }), `sha256:${NAME}`);
    assert.equal(r.pulls, 1);
  });

  it('by another name that somebody gave it, it is as if preloaded; by its id it is not', async () => {
    const r = await pulledWith(ofSecret('team'));
    const image = r.present.get(NAME);
    assert.ok(image);
    const retagged = 'local.test/copy:1';
    r.present.set(retagged, { ...image, repoTags: [NAME, retagged] });
    assert.equal(await r.ensure({ uid: 'a', image: retagged }), `sha256:${NAME}`);
    const id = `sha256:${'a'.repeat(64)}`;
    r.present.set(id, image);
    assert.equal(await r.ensure({ uid: 'b', image: id }), 'ErrImagePull 10000');
    assert.deepEqual(r.users, ['team', '-']);
  });

  it('NeverVerify asks nobody', async () => {
    const r = await pulledWith(ofSecret('team'), 'NeverVerify');
    assert.equal(await r.ensure({ uid: 'other' }), `sha256:${NAME}`);
  });

  it('an image that came another way is for all, unless the policy says otherwise', async () => {
    const cases: readonly [VerificationPolicy, string, number][] = [
      ['NeverVerifyPreloadedImages', NAME, 0],
      ['NeverVerifyAllowlistedImages', NAME, 1],
      ['NeverVerifyAllowlistedImages', 'reg.test/free/app:1', 0],
      ['AlwaysVerify', 'reg.test/free/app:1', 1],
    ];
    for (const [verification, image, pulls] of cases) {
      const r = new Registry();
      r.verification = verification;
      r.add(image);
      assert.equal(await r.ensure({ image }), `sha256:${image}`);
      assert.equal(r.pulls, pulls, `${verification} ${image}`);
    }
  });

  it('a crash in the middle of the pull leaves it to nobody, and a failure after it neither', async () => {
    const r = new Registry();
    r.store.imageAccess.beginPull(NAME); // and then the power went
    r.add(NAME);
    r.onlyFor = 'team';
    assert.equal(await r.ensure({ uid: 'a' }), 'ErrImagePull 10000');
    r.credentials = [ofSecret('wrong')];
    assert.equal(await r.ensure({ uid: 'b', secrets: ['wrong'] }), 'ErrImagePull 10000');
    r.credentials = [];
    assert.equal(await r.ensure({ uid: 'c' }), 'ErrImagePull 10000');
    r.credentials = [ofSecret('team')];
    assert.equal(await r.ensure({ uid: 'd', secrets: ['team'] }), `sha256:${NAME}`);
    assert.equal(await r.ensure({ uid: 'e', secrets: ['team'] }), `sha256:${NAME}`);
    assert.equal(r.pulls, 4);
  });

  it('a pull that fails leaves no trace', async () => {
    const r = new Registry();
    r.credentials = [ofSecret('team')];
    r.onlyFor = 'nobody';
    await r.ensure({ secrets: ['team'] });
    r.add(NAME); // imported by hand
    assert.equal(await r.ensure({ uid: 'other' }), `sha256:${NAME}`);
  });

  it('is forgotten with the image; a record that comes meanwhile stays', async () => {
    const r = await pulledWith(ofSecret('team'));
    const { imageAccess } = r.store;
    imageAccess.put('sha256:gone', {});
    const access = new ImageAccess({ policy: 'NeverVerify', allowlist: [], records: imageAccess });
    await access.prune(() => {
      imageAccess.put('sha256:new', {});
      return Promise.resolve([...r.present.values()]);
    });
    assert.deepEqual(imageAccess.images(), [`sha256:${NAME}`, 'sha256:new']);
  });
});
