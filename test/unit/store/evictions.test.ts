import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../../src/store/store.ts';
import { createLogger } from '../../../src/util/log.ts';
import { ManualClock } from '../../support/clock.ts';

test('evictions in a row outlive the agent', (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'islet-evictions-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const open = () =>
    openStore({
      path: path.join(dir, 'islet.db'),
      clock: new ManualClock(),
      logger: createLogger({ sink: { write: () => true }, level: 'error', wall: () => 0 }),
      limits: { maxEvents: 10, maxAgeMs: 1000 },
    });
  const first = open();
  first.evictions.put('a', 1);
  first.evictions.put('b', 1);
  first.evictions.put('a', 2);
  first.evictions.delete('b');
  first.close();
  const second = open();
  assert.deepEqual(second.evictions.all(), [['a', 2]]);
  second.close();
});
