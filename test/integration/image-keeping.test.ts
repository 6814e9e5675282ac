/**
 * The whole agent on a disk that is too full, beside a manifest that has an error: once that is put right,
 * the image that it names must still be there.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench } from '../support/bench.ts';
import { MIB, nodeOf } from '../support/stats.ts';

const IMPORTED = 'docker.io/library/imported:1';

test('an image that was imported stays for a manifest that is yet to be put right', async (t) => {
  const bench = await Bench.start(t, {
    evictionHard: { 'nodefs.available': '1Gi' },
    imageMinimumGCAge: '1ns',
  });
  bench.cri.on('imageFsInfo', () => ({
    imageFilesystems: [{ fsId: { mountpoint: bench.dir }, usedBytes: { value: 1n } }],
  }));
  bench.cri.runtime.addImage(IMPORTED);
  // Each eviction lets the next look follow at once.
  for (const name of ['first', 'second']) bench.apply(name);
  bench.write('faulty', `{"apiVersion": "v1", "kind": "Pod", "image": "${IMPORTED}"}`);
  let disk = 50 * 1024 * MIB;
  await bench.startAgent({
    node: () => Promise.resolve(nodeOf({ disk, timeMs: performance.now() })),
    pods: () => Promise.resolve([]),
  });
  for (const name of ['first', 'second'])
    await bench.until(`${name} runs`, () => bench.isRunning(name));
  const removals = (): number => bench.cri.callsOf('removeImage').length;
  disk = MIB;
  for (const name of ['first', 'second'])
    await bench.until(`${name} is gone`, () => bench.containers(name).length === 0);
  assert.equal(bench.verdict('faulty')?.state, 'invalid');
  assert.equal(removals(), 0);

  bench.remove('faulty');
  await bench.until('it goes when nobody names it', () => removals() > 0);
});
