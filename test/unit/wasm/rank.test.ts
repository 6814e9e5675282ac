/** The ranking core: the order of the kubelet on chosen pods, and its twin's order on any. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadCore, type CoreBuild } from '../../../src/wasm/core.ts';
import { rankRows } from '../../../src/wasm/rank.ts';
import type { RankOrder, RankRow } from '../../../src/wasm/rank.ts';
import { Relister } from '../../../src/wasm/relister.ts';
import { rankTwin } from '../../support/rank-twin.ts';
import { encodeContainerList } from '../../support/wire.ts';

const MOST = 2 ** 53;
const amount = fc.oneof(
  fc.nat(3),
  fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  fc.maxSafeNat(),
  fc.constantFrom(0, MOST, MOST - 1),
);
const row: fc.Arbitrary<RankRow> = fc.record({
  usage: fc.option(amount, { nil: undefined, freq: 6 }),
  request: amount,
  priority: fc.oneof(
    fc.integer({ min: -2, max: 2 }),
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  ),
  overRequest: fc.boolean(),
});
const order = fc.constantFrom<RankOrder>('use', 'priority');

for (const build of ['release', 'debug'] satisfies CoreBuild[]) {
  test(`core and twin rank alike, ${build} build`, () => {
    const core = loadCore(build);
    fc.assert(
      fc.property(fc.array(row, { maxLength: 300 }), order, (rows, by) => {
        assert.deepEqual(rankRows(core, rows, by), rankTwin(rows, by));
      }),
      { numRuns: 500 },
    );
  });
}

test('equal pods keep their order, whatever their number', () => {
  const core = loadCore();
  const same: RankRow = { usage: 7, request: 7, priority: 0, overRequest: false };
  for (const count of [0, 1, 2, 3, 1000]) {
    const rows = Array.from({ length: count }, () => same);
    assert.deepEqual(
      rankRows(core, rows, 'use'),
      rows.map((_, i) => i),
    );
  }
});

test('over request goes before priority, priority before usage, no statistics before all', () => {
  const rows: RankRow[] = [
    { usage: 100, request: 200, priority: -5, overRequest: false }, // 0: within its request
    { usage: 300, request: 100, priority: 10, overRequest: true }, // 1: over, but important
    { usage: 150, request: 100, priority: 0, overRequest: true }, // 2
    { usage: 190, request: 100, priority: 0, overRequest: true }, // 3: as 2, but uses more
    { usage: undefined, request: 100, priority: 99, overRequest: false }, // 4
  ];
  assert.deepEqual(rankRows(loadCore(), rows, 'use'), [4, 3, 2, 1, 0]);
  assert.deepEqual(rankRows(loadCore(), rows, 'priority'), [0, 3, 2, 1, 4]);
});

test('more pods than the core takes are refused, and it goes on', () => {
  const core = loadCore();
  assert.equal(core.rankPrepare(2 ** 21), -2);
  assert.equal(core.rank(3, 0), -9, 'nothing was prepared');
  assert.ok(core.rankPrepare(1) > 0);
  assert.equal(core.rank(1, 7), -9, 'there is no such order');
  assert.deepEqual(rankRows(core, [], 'use'), []);
});

test('a ranking between two relists of the same core changes neither', () => {
  const core = loadCore();
  const relister = new Relister({ core, random: () => 0.3 });
  const list = encodeContainerList(
    Array.from({ length: 500 }, (_, i) => ({ id: `id-${i}`, state: 1 })),
  );
  assert.equal(relister.relist(list, new Uint8Array()).length, 500);
  const rows = Array.from({ length: 20_000 }, (_, i) => ({
    ...{ usage: (i * 7919) % 20_000, request: 0, priority: 0, overRequest: true },
  }));
  assert.deepEqual(rankRows(core, rows, 'use'), rankTwin(rows, 'use'));
  assert.deepEqual(relister.relist(list, new Uint8Array()), []);
});
