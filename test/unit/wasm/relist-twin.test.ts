/** The Wasm core against its plain TypeScript twin, on sequences of lists that nobody would write. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadCore, type CoreBuild } from '../../../src/wasm/core.ts';
import { ListUnreadable, Relister } from '../../../src/wasm/relister.ts';
import type { ListedState, ObjectKind } from '../../../src/wasm/relister.ts';
import { RelistTwin, type TwinResult } from '../../support/relist-twin.ts';
import {
  bytesField,
  concat,
  encodeContainer,
  tag,
  varint,
  varintField,
} from '../../support/wire.ts';

const KINDS: ObjectKind[] = ['container', 'sandbox'];
const LISTED: ListedState[] = ['running', 'exited', 'unknown', 'created'];

interface Lists {
  readonly containers: Uint8Array;
  readonly sandboxes: Uint8Array;
}

const id = fc.oneof(
  { weight: 8, arbitrary: fc.nat(30).map((n) => new TextEncoder().encode(`id-${n}`)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.nat(70_000).map((n) => new Uint8Array(n)) },
);

const junk = fc.oneof(
  fc
    .record({ field: fc.integer({ min: 2, max: 40 }), value: fc.bigInt(0n, 2n ** 64n - 1n) })
    .map(({ field, value }) => varintField(field, value)),
  fc
    .record({ field: fc.integer({ min: 4, max: 5000 }), value: fc.uint8Array({ maxLength: 300 }) })
    .map(({ field, value }) => bytesField(field, value)),
  fc.constant(concat(tag(40, 1), new Uint8Array(8))),
  fc.constant(concat(tag(41, 5), new Uint8Array(4))),
  fc.nat(80).map((depth) => groups(depth)),
);

const entry = fc
  .record({
    ids: fc.array(id, { maxLength: 2 }),
    states: fc.array(fc.integer({ min: -1, max: 4 }), { maxLength: 2 }),
    before: fc.array(junk, { maxLength: 2 }),
    after: fc.array(junk, { maxLength: 2 }),
  })
  .map(({ ids, states, before, after }) =>
    concat(
      ...before,
      ...ids.map((value) => bytesField(1, value)),
      ...states.flatMap((state) => [varintField(6, state), varintField(3, state)]),
      ...after,
    ),
  );

const list = fc
  .record({
    entries: fc.array(
      fc.oneof({ weight: 6, arbitrary: entry.map((e) => bytesField(1, e)) }, junk),
      {
        maxLength: 25,
      },
    ),
    cut: fc.option(fc.nat(4000), { freq: 8, nil: undefined }),
    flips: fc.array(fc.record({ at: fc.nat(4000), byte: fc.nat(255) }), { maxLength: 2 }),
    flip: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ entries, cut, flips, flip }) => {
    const bytes = concat(...entries).slice(0, cut);
    if (flip === 0) for (const { at, byte } of flips) if (at < bytes.length) bytes[at] = byte;
    return bytes;
  });

const lists: fc.Arbitrary<Lists> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ containers: list, sandboxes: list }) },
  {
    weight: 1,
    arbitrary: fc.record({
      containers: fc.uint8Array({ maxLength: 200 }),
      sandboxes: fc.uint8Array({ maxLength: 200 }),
    }),
  },
);

/** Steady objects with a few that come, go and change: the life of a real node, long enough to grow. */
const quiet: fc.Arbitrary<Lists> = fc
  .record({ size: fc.nat(400), from: fc.nat(50), odd: fc.nat(400), rotate: fc.nat(400) })
  .map(({ size, from, odd, rotate }) => {
    const entries = Array.from({ length: size }, (_, i) =>
      bytesField(
        1,
        encodeContainer({ id: `${'0'.repeat(50)}${i + from}`, state: i === odd ? 2 : 1 }),
      ),
    );
    const turned = [...entries.slice(rotate), ...entries.slice(0, rotate)];
    return { containers: concat(...turned), sandboxes: concat(...turned.slice(0, 10)) };
  });

for (const build of ['release', 'debug'] satisfies CoreBuild[]) {
  test(`core and twin agree on hostile sequences, ${build} build`, () => {
    fc.assert(
      fc.property(fc.array(lists, { minLength: 1, maxLength: 8 }), fc.nat(), agreesWithTwin(build)),
      { numRuns: 400 },
    );
  });

  test(`core and twin agree on quiet sequences, ${build} build`, () => {
    fc.assert(
      fc.property(fc.array(quiet, { minLength: 1, maxLength: 6 }), fc.nat(), agreesWithTwin(build)),
      { numRuns: 100 },
    );
  });
}

function agreesWithTwin(build: CoreBuild) {
  return (sequence: Lists[], seed: number): void => {
    const relister = new Relister({ core: loadCore(build), random: () => (seed % 1000) / 1000 });
    const twin = new RelistTwin();
    for (const { containers, sandboxes } of sequence) {
      assert.deepEqual(
        attempt(relister, containers, sandboxes),
        twin.relist(containers, sandboxes),
      );
      for (const kind of KINDS) {
        for (const state of LISTED) {
          assert.equal(relister.count(kind, state), twin.count(kind, state), `${kind} ${state}`);
        }
      }
    }
  };
}

function attempt(relister: Relister, containers: Uint8Array, sandboxes: Uint8Array): TwinResult {
  try {
    return { changes: [...relister.relist(containers, sandboxes)] };
  } catch (error) {
    if (error instanceof ListUnreadable) return { error: error.reason };
    throw error;
  }
}

function groups(depth: number): Uint8Array {
  const open = tag(50, 3);
  const close = concat(tag(50, 4));
  return concat(
    ...Array<Uint8Array>(depth).fill(open),
    concat(tag(9, 0), varint(1)),
    ...Array<Uint8Array>(depth).fill(close),
  );
}
