import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { DiskUsage } from '../../../src/stats/disk-usage.ts';
import { walkDirectory } from '../../../src/stats/disk-walk.ts';
import type { DirectoryUse } from '../../../src/stats/disk-walk.ts';
import { Limiter } from '../../../src/util/limiter.ts';
import { ManualClock, settle } from '../../support/clock.ts';
import { put, temporary } from './support.ts';

const { signal } = new AbortController();

/** Bytes as du(1) counts them. */
function du(directory: string): number {
  const text = execFileSync('du', ['-sx', '--block-size=1', directory], { encoding: 'utf8' });
  return Number(text.split('\t')[0]);
}

test('a walk says what du says: blocks, hard links once, symbolic links not followed', async (t) => {
  const root = temporary(t);
  put(root, 'a/one', 'x'.repeat(100_000));
  put(root, 'a/deep/er/two', 'y'.repeat(5000));
  put(root, 'b/three', 'z');
  for (let i = 0; i < 40; i++) put(root, `many/${i}`, String(i));
  fs.linkSync(path.join(root, 'a/one'), path.join(root, 'b/one-again'));
  fs.symlinkSync('/usr', path.join(root, 'usr'));
  fs.truncateSync(path.join(root, 'b/three'), 50_000_000);
  const use = await walkDirectory(root, signal);
  assert.equal(use?.used, du(root));
  // The top, a, deep, er, b, many, six names of which two are one file, and 40 files.
  assert.equal(use?.inodesUsed, 6 + 4 + 40);
  assert.equal(use?.parts.get('many')?.used, du(path.join(root, 'many')));
  assert.deepEqual([...(use?.parts.keys() ?? [])].sort(), ['a', 'b', 'many']);
});

test('what is mounted within counts for itself', async (t) => {
  const root = temporary(t);
  put(root, 'own', 'x'.repeat(10_000));
  const mounted = path.join(root, 'mounted');
  fs.mkdirSync(mounted);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', mounted]);
  try {
    put(mounted, 'foreign', 'x'.repeat(2_000_000));
    const use = await walkDirectory(root, signal);
    assert.equal(use?.used, du(root));
    assert.ok((use?.used ?? Infinity) < 100_000);
  } finally {
    execFileSync('umount', [mounted]);
  }
});

test('a directory that is not there has no size, and an abort ends a walk', async (t) => {
  const root = temporary(t);
  assert.equal(await walkDirectory(path.join(root, 'none'), signal), undefined);
  put(root, 'file', 'x');
  assert.equal(await walkDirectory(path.join(root, 'file'), signal), undefined);
  const gone = new AbortController();
  gone.abort(new Error('enough'));
  await assert.rejects(walkDirectory(root, gone.signal), /enough/);
});

const USE: DirectoryUse = { used: 1, inodesUsed: 1, parts: new Map() };

function usageOf(t: TestContext, costMs = 0) {
  const clock = new ManualClock();
  const stop = new AbortController();
  t.after(() => stop.abort(new Error('the test ends')));
  const walked: string[] = [];
  const usage = new DiskUsage({
    ...{ clock, random: () => 0.5, periodMs: 60_000, stop: stop.signal },
    walks: new Limiter({ slots: 1, patienceMs: 1e9, clock }),
    walk: async (directory) => {
      walked.push(directory);
      if (costMs > 0) await clock.sleep(costMs, stop.signal);
      return USE;
    },
  });
  return { usage, clock, walked };
}

test('a size is kept for its period and some jitter', async (t) => {
  const { usage, clock, walked } = usageOf(t);
  const ask = () => usage.of('/d', { fresh: false }, signal);
  assert.equal(await ask(), USE);
  await clock.advance(62_000);
  await ask();
  assert.equal(walked.length, 1, 'half of a tenth more than the period');
  await clock.advance(1_000);
  await ask();
  assert.equal(walked.length, 2);
  usage.retain(new Set());
  await ask();
  assert.equal(walked.length, 3, 'forgotten');
});

test('who needs it fresh gets it as fresh as a hundredth of the time can make it', async (t) => {
  const { usage, clock, walked } = usageOf(t, 50);
  const ask = async (): Promise<void> => {
    const answer = usage.of('/d', { fresh: true }, signal);
    await settle();
    await clock.advance(50);
    await answer;
  };
  await ask();
  await clock.advance(4_900);
  await ask();
  assert.equal(walked.length, 1, '50 ms of walking: not again within 5 s');
  await clock.advance(200);
  await ask();
  assert.equal(walked.length, 2);
});

test('who asks for the same at once shares a walk, and may give up alone', async (t) => {
  const { usage, clock, walked } = usageOf(t, 100);
  const gone = new AbortController();
  const first = usage.of('/d', { fresh: false }, gone.signal);
  const second = usage.of('/d', { fresh: false }, signal);
  await settle();
  gone.abort(new Error('lost interest'));
  await assert.rejects(first, /lost interest/);
  await clock.advance(100);
  assert.equal(await second, USE);
  assert.deepEqual(walked, ['/d']);
});
