/**
 * Image garbage collection against a real containerd: what it calls its images, which one it makes sandboxes
 * of, and that a removal by id takes every name.
 */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { createCriClient } from '../../src/cri/client.ts';
import type { CriClient } from '../../src/cri/client.ts';
import { ImageGc } from '../../src/gc/image-gc.ts';
import { BUSYBOX_IMAGE } from '../../src/image/busybox.ts';
import { UseLedger } from '../../src/image/use-ledger.ts';
import { Registry } from '../../src/metrics/registry.ts';
import { SystemClock } from '../../src/util/clock.ts';
import { PAUSE_IMAGE, startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { silent } from '../support/fake-cri-client.ts';
import { StoreFixture } from '../unit/store/store-fixture.ts';

const clock = new SystemClock();
const fixture = new StoreFixture();
let containerd: TestContainerd;
let cri: CriClient;

before(async () => {
  containerd = await startContainerd();
  const endpoint = `unix://${containerd.socket}`;
  cri = createCriClient({ endpoint, requestTimeoutMs: 30_000, clock, logger: silent });
});

after(async () => {
  cri?.close();
  fixture.end();
  await containerd?.stop();
});

test('an unused image goes, the one of the sandboxes stays', async () => {
  const signal = AbortSignal.timeout(60_000);
  assert.equal(await cri.runtime.sandboxImage(signal), PAUSE_IMAGE);
  const { images: uses, imageSources: sources } = fixture.open();
  const asked: string[] = [];
  const gc = new ImageGc({
    images: cri.images,
    containers: (stop) => cri.runtime.listContainers({}, stop),
    sandboxImages: async (stop) => [(await cri.runtime.sandboxImage(stop)) ?? ''],
    pods: () => [],
    hasEnded: () => false,
    isCertain: () => true,
    ledger: new UseLedger({ uses, sources, clock }),
    fileSystem: (path) => {
      asked.push(path);
      return Promise.resolve({ capacity: 100, available: 1 });
    },
    onRemoved: () => Promise.resolve(),
    settings: { highPercent: 85, lowPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
    nodeName: 'edge1',
    events: { event: () => undefined },
    clock,
    logger: silent,
    collected: new Registry().counter('collected', 'x', ['reason']),
  });
  const names = async (): Promise<string[]> =>
    (await cri.images.listImages(signal)).flatMap(({ repoTags }) => repoTags);
  assert.deepEqual((await names()).sort(), [BUSYBOX_IMAGE, PAUSE_IMAGE].sort());
  await gc.collect(signal);
  assert.deepEqual(await names(), [PAUSE_IMAGE]);
  assert.ok(asked[0]?.startsWith(containerd.root), asked[0]);
});
