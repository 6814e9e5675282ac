import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Image } from '../../../src/cri/model.ts';
import { imagesInUse, mountedImages, namedImages, ranksOf } from '../../../src/gc/image-facts.ts';
import type { ImageFact } from '../../../src/gc/image-plan.ts';
import { bytesToFree, enoughFor, expired, removable } from '../../../src/gc/image-plan.ts';
import { containerOf, podOf } from '../../support/pods.ts';

const GIB = 1024 ** 3;
const CONTEXT = { nowMs: 1_000_000, minAgeMs: 120_000 };

function fact(id: string, more: Partial<ImageFact> = {}): ImageFact {
  return {
    ...{ id, size: GIB, pinned: false, inUse: false, rank: 'other', canBeHadAgain: false },
    ...{ stamp: undefined, detectedAt: 0, usedAt: undefined, claimedAt: undefined },
    ...more,
  };
}

function image(id: string, repoTags: string[], repoDigests: string[] = []): Image {
  return { id, repoTags, repoDigests, size: 1, username: '', pinned: false };
}

function ids(facts: readonly { id: string }[]): string {
  return facts.map(({ id }) => id).join(' ');
}

describe('how much to free', () => {
  const thresholds = { high: 85, low: 80 };
  const rows: [string, number, number][] = [
    ['as the worked example has it', 10 * GIB, 10 * GIB],
    ['exactly at the high threshold', 15 * GIB, 5 * GIB],
    ['just below it', 15.5 * GIB, 5 * GIB - GIB / 2],
    ['well below it', 16 * GIB, 0],
  ];
  for (const [name, available, expected] of rows)
    it(name, () => {
      const got = bytesToFree({ capacity: 100 * GIB, available }, thresholds);
      assert.equal(got, expected);
    });
});

describe('which images go for space', () => {
  it('as the worked example has it: the least recently used, until it is enough', () => {
    const images = [
      fact('c', { size: 4 * GIB, stamp: 3 }),
      fact('a', { size: 6 * GIB, stamp: 1 }),
      fact('b', { size: 5 * GIB, stamp: 2 }),
    ];
    assert.equal(ids(enoughFor(removable(images, 'others', CONTEXT), 10 * GIB)), 'a b');
  });

  it('never used ones first, and of those what was there first', () => {
    const images = [
      fact('used', { stamp: 1 }),
      fact('new', { detectedAt: 9 }),
      fact('old', { detectedAt: 8 }),
    ];
    assert.equal(ids(removable(images, 'others', CONTEXT)), 'old new used');
  });

  const safe: [string, Partial<ImageFact>][] = [
    ['in use', { inUse: true }],
    ['pinned', { pinned: true }],
    ['too young', { detectedAt: CONTEXT.nowMs - 119_999 }],
    ['used since the pass began', { usedAt: CONTEXT.nowMs }],
    ['about to be used', { claimedAt: CONTEXT.nowMs - 59_999 }],
    ['named by a manifest', { rank: 'named', canBeHadAgain: true }],
    ['of the version before', { rank: 'previous', canBeHadAgain: true }],
  ];
  for (const [name, more] of safe)
    it(`not one that is ${name}`, () => {
      assert.equal(ids(removable([fact('x', more)], 'others', CONTEXT)), '');
    });

  it('under pressure those of the manifests too, last, if they can be had again', () => {
    const images = [
      fact('named', { rank: 'named', canBeHadAgain: true, stamp: 1 }),
      fact('imported', { rank: 'named', stamp: 1 }),
      fact('previous', { rank: 'previous', canBeHadAgain: true, stamp: 2 }),
      fact('other', { stamp: 3 }),
    ];
    assert.equal(ids(removable(images, 'all', CONTEXT)), 'other previous named');
  });

  it('never a protected one, in order of use, and enough where there is enough', () => {
    const some = fc.record({
      id: fc.uuid(),
      size: fc.nat(1000),
      pinned: fc.boolean(),
      inUse: fc.boolean(),
      rank: fc.constantFrom('other' as const, 'previous' as const, 'named' as const),
      canBeHadAgain: fc.boolean(),
      stamp: fc.option(fc.nat(50), { nil: undefined }),
      detectedAt: fc.integer({ min: 0, max: CONTEXT.nowMs }),
      usedAt: fc.option(fc.integer({ min: 0, max: CONTEXT.nowMs }), { nil: undefined }),
      claimedAt: fc.option(fc.integer({ min: 0, max: CONTEXT.nowMs }), { nil: undefined }),
    });
    const which = fc.constantFrom('others' as const, 'all' as const);
    fc.assert(
      fc.property(fc.array(some), fc.nat(5000), which, (images, bytes, ranks) => {
        const candidates = removable(images, ranks, CONTEXT);
        const going = enoughFor(candidates, bytes);
        for (const one of going) {
          assert.ok(!one.pinned && !one.inUse);
          assert.ok(one.rank === 'other' || (ranks === 'all' && one.canBeHadAgain));
          assert.ok(CONTEXT.nowMs - one.detectedAt >= CONTEXT.minAgeMs);
        }
        const sum = (list: readonly ImageFact[]) => list.reduce((n, { size }) => n + size, 0);
        assert.ok(sum(going) >= Math.min(bytes, sum(candidates)));
        assert.ok(going.length === 0 || sum(going.slice(0, -1)) < bytes);
        const kept = candidates.filter((one) => !going.includes(one) && one.rank === 'other');
        for (const one of going.filter(({ rank }) => rank === 'other'))
          for (const other of kept) assert.ok((one.stamp ?? -1) <= (other.stamp ?? -1));
      }),
    );
  });
});

describe('which images are too old', () => {
  const since = { ...CONTEXT, sinceMs: 100_000 };
  it('unused for longer than the age, as far as this life of the agent can tell', () => {
    const images = [
      fact('old', { usedAt: 300_000 }),
      fact('young', { usedAt: 600_000 }),
      fact('never', {}),
      fact('come lately', { detectedAt: 700_000 }),
      fact('in use', { usedAt: 1, inUse: true }),
      fact('named', { rank: 'named', canBeHadAgain: true }),
    ];
    assert.equal(ids(expired(images, 500_000, since)), 'old never');
  });
  it('none while the agent has not lived so long, and none where there is no age', () => {
    assert.equal(ids(expired([fact('x')], 900_001, since)), '');
    assert.equal(ids(expired([fact('x')], 0, since)), '');
  });
});

describe('what images are to the node', () => {
  const pod = podOf({
    containers: [
      containerOf('a', { image: 'nginx:1' }),
      containerOf('b', { image: `reg.test/app:2@sha256:${'a'.repeat(64)}` }),
    ],
    initContainers: [containerOf('i', { image: 'reg.test/tool', imagePullPolicy: 'Never' })],
    volumes: [{ name: 'v', image: { reference: 'reg.test/data:1' } }],
  });
  const images = [
    image('nginx', ['docker.io/library/nginx:1']),
    image('app', [], [`reg.test/app@sha256:${'a'.repeat(64)}`]),
    image('tool', ['reg.test/tool:latest']),
    image('data', ['reg.test/data:1']),
    image('nginx-old', ['docker.io/library/nginx:0']),
    image('app-1', ['reg.test/app:1']),
    image('app-0', ['reg.test/app:0']),
    image('foreign', ['reg.test/other:1']),
  ];
  const stamps: Record<string, number> = { 'app-1': 5, 'app-0': 4, foreign: 9 };

  it('named by containers and volumes, with the version before of each', () => {
    const ranks = ranksOf(images, namedImages([pod]), (id) => stamps[id]);
    const of = (rank: string) => ids(images.filter(({ id }) => ranks.get(id) === rank));
    assert.equal(of('named'), 'nginx app tool data');
    assert.equal(of('previous'), 'app-1');
    assert.equal(of('other'), 'nginx-old app-0 foreign');
  });

  it('not to be pulled, where a pod says so', () => {
    const named = namedImages([pod]);
    assert.equal(named.get('reg.test/tool:latest')?.neverPulled, true);
    assert.equal(named.get('docker.io/library/nginx:1')?.neverPulled, false);
  });

  it('in use by any container, dead or not, and by mounts', () => {
    const containers = [
      { image: 'reg.test/other:1', imageRef: '' },
      { image: '', imageRef: 'nginx-old' },
    ];
    const used = imagesInUse(images, containers, mountedImages([pod]));
    assert.deepEqual([...used], ['data', 'nginx-old', 'foreign']);
  });
});
