import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { NO_CYCLE_YET } from '../../../src/eviction/cycle.ts';
import { grownSince, memorySlack, systemMemoryUse } from '../../../src/eviction/memory-watch.ts';
import { observationsOf } from '../../../src/eviction/signal.ts';
import type { Threshold } from '../../../src/eviction/threshold.ts';
import { GIB, MIB, nodeOf } from '../../support/stats.ts';

const HARD: Threshold = { signal: 'memory.available', value: '100Mi' };
const SOFT: Threshold = { signal: 'memory.available', value: '1Gi', graceMs: 1000 };
const DISK: Threshold = { signal: 'nodefs.available', value: '10%' };

test('the slack is what lies above the nearest threshold that is not met yet', () => {
  const observations = observationsOf(nodeOf({ memory: 2 * GIB }));
  assert.equal(memorySlack([HARD, SOFT, DISK], observations, NO_CYCLE_YET), GIB);
  const met = { ...NO_CYCLE_YET, firstMet: new Map([[SOFT, 0]]) };
  assert.equal(memorySlack([HARD, SOFT, DISK], observations, met), 2 * GIB - 100 * MIB);
  assert.equal(memorySlack([DISK], observations, NO_CYCLE_YET), undefined);
});

test('the measure that grew most counts, and one that is not known counts as grown', () => {
  assert.equal(grownSince([10, 20], [5, 27]), 7);
  assert.equal(grownSince(undefined, [1]), Infinity);
  assert.equal(grownSince([1], undefined), Infinity);
});

test('memory in use is read from the files of the kernel', (t) => {
  const proc = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-meminfo-'));
  t.after(() => fs.rmSync(proc, { recursive: true }));
  const pods = path.join(proc, 'usage');
  const write = (free: number, usage: number): void => {
    const text = `MemTotal: 1000 kB\nMemFree:  ${free} kB\nInactive:   77 kB\nInactive(file): 30 kB\n`;
    fs.writeFileSync(path.join(proc, 'meminfo'), text);
    fs.writeFileSync(pods, `${usage}\n`);
  };
  write(500, 4096);
  const use = systemMemoryUse(pods, proc);
  const before = use();
  write(400, 5096);
  assert.equal(grownSince(before, use()), 100 * 1024);
  write(500, 4096 + 200 * 1024);
  assert.equal(grownSince(before, use()), 200 * 1024);
  fs.rmSync(pods);
  assert.equal(use(), undefined);
  assert.equal(systemMemoryUse(undefined, proc)()?.length, 1);
});
