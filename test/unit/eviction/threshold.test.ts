import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EvictionSettings } from '../../../src/config/eviction.ts';
import { evictionSettings, thresholdAmount } from '../../../src/config/eviction.ts';
import { diskLayoutOf, observationsOf } from '../../../src/eviction/signal.ts';
import {
  amountOf,
  ignoredSignals,
  metThresholds,
  thresholdsOf,
  withContainerFs,
} from '../../../src/eviction/threshold.ts';
import { GIB, MIB, fileSystemOf, nodeOf } from '../../support/stats.ts';

const NONE = evictionSettings({}, false);

function settings(more: Partial<EvictionSettings>): EvictionSettings {
  return { ...NONE, ...more };
}

test('the defaults are those of the kubelet: five hard signals with a file, none without', () => {
  assert.deepEqual(NONE.hard, {});
  assert.equal(NONE.transitionMs, 300_000);
  assert.deepEqual(evictionSettings({}, true).hard, {
    'memory.available': '100Mi',
    'nodefs.available': '10%',
    'nodefs.inodesFree': '5%',
    'imagefs.available': '15%',
    'imagefs.inodesFree': '5%',
  });
});

test('own hard signals replace the defaults unless they are merged', () => {
  const evictionHard = { 'memory.available': '1Gi' };
  assert.deepEqual(evictionSettings({ evictionHard }, true).hard, evictionHard);
  const merged = evictionSettings({ evictionHard, mergeDefaultEvictionSettings: true }, true).hard;
  assert.equal(merged['memory.available'], '1Gi');
  assert.equal(merged['imagefs.available'], '15%');
  assert.deepEqual(evictionSettings({ evictionHard: {} }, true).hard, {});
});

test('a percentage has the 32 bits of the kubelet; 0% and 100% switch a signal off', () => {
  assert.equal(thresholdAmount('10%', 8 * GIB), 858_993_472);
  assert.equal(thresholdAmount('12.5%', 1000), 125);
  assert.equal(thresholdAmount('100Mi', 1), 100 * MIB);
  assert.equal(thresholdAmount('0%', 1000), undefined);
  assert.equal(thresholdAmount('100%', 1000), undefined);
});

test('the memory threshold holds for the cgroup of the pods too, where that is enforced', () => {
  const eviction = settings({
    hard: { 'memory.available': '100Mi', 'nodefs.available': '0%' },
    minimumReclaim: { 'memory.available': '50Mi' },
  });
  const threshold = { value: '100Mi', minReclaim: '50Mi' };
  assert.deepEqual(thresholdsOf({ eviction, enforceNodeAllocatable: ['pods'] }), [
    { signal: 'memory.available', ...threshold },
    { signal: 'allocatableMemory.available', ...threshold },
  ]);
  assert.deepEqual(thresholdsOf({ eviction, enforceNodeAllocatable: ['none'] }), [
    { signal: 'memory.available', ...threshold },
  ]);
});

test('soft thresholds have their grace period', () => {
  const written = {
    evictionHard: {},
    evictionSoft: { 'pid.available': '500' },
    evictionSoftGracePeriod: { 'pid.available': '1m30s' },
  };
  const eviction = evictionSettings(written, true);
  assert.deepEqual(thresholdsOf({ eviction, enforceNodeAllocatable: [] }), [
    { signal: 'pid.available', value: '500', graceMs: 90_000 },
  ]);
});

test('thresholds of containerfs are not taken, they follow nodefs or a separate imagefs', () => {
  const eviction = settings({
    hard: { 'containerfs.available': '1Gi', 'nodefs.available': '2Gi', 'imagefs.available': '3Gi' },
  });
  assert.deepEqual(ignoredSignals(eviction), ['containerfs.available']);
  const own = thresholdsOf({ eviction, enforceNodeAllocatable: [] });
  assert.deepEqual(
    own.map(({ signal }) => signal),
    ['nodefs.available', 'imagefs.available'],
  );
  const valueIn = (layout: 'one' | 'imagefs' | 'split') =>
    withContainerFs(own, layout).find(({ signal }) => signal === 'containerfs.available')?.value;
  assert.deepEqual([valueIn('one'), valueIn('imagefs'), valueIn('split')], ['2Gi', '3Gi', '2Gi']);
});

test('a threshold is met below its value, and resolved above value and minimum reclaim', () => {
  const threshold = { signal: 'memory.available', value: '1Gi', minReclaim: '1Gi' } as const;
  const metAt = (memory: number, withReclaim: boolean) =>
    metThresholds([threshold], observationsOf(nodeOf({ memory })), withReclaim).length === 1;
  assert.deepEqual([metAt(GIB, false), metAt(GIB - 1, false)], [false, true]);
  assert.deepEqual([metAt(2 * GIB, true), metAt(2 * GIB - 1, true)], [false, true]);
  const seen = { available: 0, capacity: 1000, timeMs: 0 };
  const percent = { signal: 'pid.available', value: '10%', minReclaim: '5%' } as const;
  assert.equal(amountOf(percent, seen, true), 150);
});

test('what is not measured is not short: file systems without inodes, pods without a limit', () => {
  const node = nodeOf({ imageFs: { ...fileSystemOf(2, GIB), inodes: 0, inodesFree: 0 } });
  const observations = observationsOf(node);
  assert.equal(observations.has('imagefs.inodesFree'), false);
  assert.equal(observations.has('allocatableMemory.available'), false);
  assert.deepEqual(observationsOf(nodeOf({ podsMemory: GIB })).get('allocatableMemory.available'), {
    available: GIB,
    capacity: 2 * GIB,
    timeMs: 1,
  });
});

test('the layout of the disks follows the devices', () => {
  assert.equal(diskLayoutOf(nodeOf()), 'one');
  assert.equal(diskLayoutOf(nodeOf({ imageFs: fileSystemOf(1, GIB) })), 'one');
  const imageFs = fileSystemOf(2, GIB);
  assert.equal(diskLayoutOf(nodeOf({ imageFs })), 'imagefs');
  assert.equal(
    diskLayoutOf({ ...nodeOf({ imageFs }), containerFs: fileSystemOf(1, GIB) }),
    'split',
  );
});
