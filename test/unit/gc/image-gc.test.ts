import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { status } from '@grpc/grpc-js';
import type { Pod } from '../../../src/api/pod.ts';
import { ImageGc, sizeText } from '../../../src/gc/image-gc.ts';
import { UseLedger } from '../../../src/image/use-ledger.ts';
import { Registry } from '../../../src/metrics/registry.ts';
import { ManualClock } from '../../support/clock.ts';
import { connect, silent } from '../../support/fake-cri-client.ts';
import { containerOf, podOf } from '../../support/pods.ts';
import { StoreFixture } from '../store/store-fixture.ts';

const GIB = 1024 ** 3;
const never = new AbortController().signal;

/** A runtime whose images lie on a disk of 100 GiB. */
async function world(t: TestContext, settings: { maxAgeMs?: number } = {}) {
  const { fake, images, runtime } = await connect(t);
  const fixture = new StoreFixture();
  const store = fixture.open();
  t.after(() => fixture.end());
  const clock = new ManualClock();
  const ledger = new UseLedger({ uses: store.images, sources: store.imageSources, clock });
  const registry = new Registry();
  const pods: Pod[] = [];
  const events: string[] = [];
  const disk = { capacity: 100 * GIB, available: 50 * GIB };
  const made = { certain: true };
  fake.on('imageFsInfo', () => ({
    imageFilesystems: [{ fsId: { mountpoint: '/images' }, usedBytes: { value: 1n } }],
  }));
  fake.on('removeImage', ({ image }) => {
    for (const [name, { id, size }] of fake.runtime.images)
      if (id === image?.image && fake.runtime.images.delete(name)) disk.available += Number(size);
    return {};
  });
  const gc = new ImageGc({
    images,
    containers: (signal) => runtime.listContainers({}, signal),
    sandboxImages: () => Promise.resolve(['reg.test/sandbox:1']),
    pods: () => pods,
    hasEnded: ({ status: { phase } }) => phase === 'Succeeded',
    isCertain: () => made.certain,
    ledger,
    fileSystem: (path) => {
      assert.equal(path, '/images');
      return Promise.resolve({ ...disk });
    },
    onRemoved: () => Promise.resolve(),
    settings: { highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs: 0, ...settings },
    nodeName: 'edge1',
    events: { event: (_, type, reason, text) => void events.push(`${type} ${reason} ${text}`) },
    clock,
    logger: silent,
    collected: registry.counter('kubelet_image_garbage_collected_total', 'x', ['reason']),
  });
  const add = (name: string, gib: number): string => {
    const one = fake.runtime.addImage(name);
    one.size = BigInt(gib * GIB);
    return one.id;
  };
  const names = (): string => [...fake.runtime.images.keys()].join(' ');
  /** They are there for long, and were used in this order. */
  const settle = async (): Promise<void> => {
    await gc.collect(never);
    await clock.advance(120_000);
  };
  return { fake, gc, clock, ledger, registry, pods, events, disk, made, add, names, settle };
}

describe('image garbage collection', () => {
  it('removes the least recently used until the low threshold is reached', async (t) => {
    const w = await world(t);
    const [c, a, b] = [w.add('reg/c:1', 4), w.add('reg/a:1', 6), w.add('reg/b:1', 5)];
    for (const id of [a, b, c]) w.ledger.seen(id);
    await w.settle();
    assert.equal(w.names(), 'reg/c:1 reg/a:1 reg/b:1', 'half of the disk is free');
    w.disk.available = 10 * GIB;
    await w.gc.collect(never);
    assert.equal(w.names(), 'reg/c:1');
    assert.deepEqual(w.events, []);
    assert.match(
      w.registry.expose(),
      /kubelet_image_garbage_collected_total\{reason="space"\} 2\n/,
    );
  });

  it('says when that was not enough', async (t) => {
    const w = await world(t);
    w.add('reg/a:1', 6);
    await w.settle();
    w.disk.available = 10 * GIB;
    await w.gc.collect(never);
    assert.deepEqual(w.events, [
      "Warning FreeDiskSpaceFailed Insufficient free disk space on the node's image filesystem (90% of 100.0 GiB used). " +
        `Failed to free sufficient space by deleting unused images (freed ${6 * GIB} bytes). ` +
        'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.',
    ]);
  });

  it('passes over an image that cannot be removed', async (t) => {
    const w = await world(t);
    const stuck = w.add('reg/a:1', 6);
    w.add('reg/b:1', 20);
    await w.settle();
    w.disk.available = 10 * GIB;
    w.fake.on('removeImage', ({ image }) => {
      if (image?.image === stuck) throw new Error('in use by something');
      w.fake.runtime.images.delete('reg/b:1');
      return {};
    });
    await w.gc.collect(never);
    assert.equal(w.names(), 'reg/a:1');
  });

  it('never takes what has a container, is a sandbox image, or is named by a manifest', async (t) => {
    const w = await world(t);
    for (const name of ['reg.test/app:1', 'reg.test/sandbox:1', 'registry.k8s.io/pause:3.6'])
      w.add(name, 1);
    w.add('reg.test/used:1', 1);
    w.add('reg.test/free:1', 1);
    w.pods.push(podOf({ containers: [containerOf('a', { image: 'reg.test/app:1' })] }));
    w.fake.on('listContainers', () => ({
      containers: [
        {
          id: 'c',
          metadata: { name: 'c' },
          imageRef: w.fake.runtime.images.get('reg.test/used:1')?.id ?? '',
        },
      ],
    }));
    await w.settle();
    w.disk.available = 0;
    await w.gc.collect(never);
    assert.doesNotMatch(w.names(), /free/);
    assert.equal(w.fake.runtime.images.size, 4);
  });

  it('under pressure takes an image of a manifest only if it can be had again', async (t) => {
    const w = await world(t);
    const pulled = w.add('reg.test/pulled:1', 5);
    w.add('reg.test/imported:1', 5);
    w.add('reg.test/other:1', 5);
    w.ledger.pulled('reg.test/pulled:1', pulled);
    for (const image of ['reg.test/pulled:1', 'reg.test/imported:1'])
      w.pods.push(podOf({ containers: [containerOf('a', { image })] }, image));
    await w.settle();
    w.disk.available = 11 * GIB;
    assert.equal(await w.gc.unusedImages(never), 5 * GIB);
    assert.equal(w.names(), 'reg.test/pulled:1 reg.test/imported:1', 'others are enough');
    w.disk.available = 1 * GIB;
    w.ledger.notPulled('reg.test/pulled:2', false);
    assert.equal(await w.gc.unusedImages(never), 0, 'the registry does not answer');
    w.ledger.notPulled('reg.test/pulled:2', true);
    assert.equal(await w.gc.unusedImages(never), 5 * GIB);
    assert.equal(w.names(), 'reg.test/imported:1');
  });

  it('takes nothing that may be named by a manifest which cannot be read', async (t) => {
    const w = await world(t);
    w.add('reg.test/x:1', 20);
    w.made.certain = false;
    await w.settle();
    w.disk.available = 10 * GIB;
    await w.gc.collect(never);
    assert.equal(await w.gc.unusedImages(never), 0);
    assert.equal(w.names(), 'reg.test/x:1');
  });

  it('goes on taking what can be had again beside such a manifest', async (t) => {
    const w = await world(t);
    w.ledger.pulled('reg.test/pulled:1', w.add('reg.test/pulled:1', 20));
    w.add('reg.test/imported:1', 20);
    w.made.certain = false;
    await w.settle();
    w.disk.available = 10 * GIB;
    await w.gc.collect(never);
    assert.equal(w.names(), 'reg.test/imported:1');
  });

  it('removes what was unused for too long, however much room there is', async (t) => {
    const w = await world(t, { maxAgeMs: 3_600_000 });
    w.add('reg.test/x:1', 1);
    await w.settle();
    await w.clock.advance(3_600_000);
    await w.gc.collect(never);
    assert.equal(w.names(), '');
    assert.match(w.registry.expose(), /collected_total\{reason="age"\} 1\n/);
  });

  it('fails quietly once, then with an event', async (t) => {
    const w = await world(t);
    w.fake.fail('imageFsInfo', status.UNKNOWN, 'no stats yet');
    await w.gc.collect(never);
    assert.deepEqual(w.events, []);
    await w.gc.collect(never);
    assert.deepEqual(w.events, ['Warning ImageGCFailed no stats yet']);
  });

  it('tells of a file system without a size', async (t) => {
    const w = await world(t);
    w.disk.capacity = 0;
    await w.gc.collect(never);
    assert.deepEqual(w.events, [
      'Warning InvalidDiskCapacity invalid capacity 0 on image filesystem',
    ]);
  });
});

it('sizes are written as the kubelet writes them', () => {
  assert.equal(sizeText(19.5 * GIB), '19.5 GiB');
  assert.equal(sizeText(512), '512 bytes');
});
