/** The relist core by example: what a list means, what is reported, what hostile bytes do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadCore, type CoreBuild } from '../../../src/wasm/core.ts';
import { ListUnreadable, Relister, type Change } from '../../../src/wasm/relister.ts';
import {
  bytesField,
  concat,
  encodeContainer,
  encodeContainerList,
  encodeSandboxList,
  tag,
  varint,
  varintField,
} from '../../support/wire.ts';

const NOTHING = new Uint8Array();
const BUILDS: CoreBuild[] = ['release', 'debug'];

function newRelister(build: CoreBuild): Relister {
  return new Relister({ core: loadCore(build), random: () => 0.25 });
}

function brief(changes: readonly Change[]): string[] {
  return changes.map((c) => `${c.kind} ${c.id}: ${c.from} -> ${c.to}`);
}

function reasonOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ListUnreadable) return error.reason;
    throw error;
  }
  return 'none';
}

for (const build of BUILDS) {
  describe(`relister, ${build} build`, () => {
    test('reports what appears, changes and vanishes, and nothing else', () => {
      const relister = newRelister(build);
      const two = encodeContainerList([
        { id: 'a', state: 1 },
        { id: 'b', state: 0 },
      ]);
      const pod = encodeSandboxList([{ id: 'a', state: 0 }]);
      assert.deepEqual(brief(relister.relist(two, pod)), [
        'container a: non-existent -> running',
        'container b: non-existent -> unknown',
        'sandbox a: non-existent -> running',
      ]);
      assert.deepEqual(relister.relist(two, pod), []);
      const later = encodeContainerList([
        { id: 'c', state: 2 },
        { id: 'b', state: 1 },
      ]);
      assert.deepEqual(brief(relister.relist(later, encodeSandboxList([{ id: 'a', state: 1 }]))), [
        'container b: unknown -> running',
        'sandbox a: running -> exited',
        'container c: non-existent -> exited',
        'container a: running -> non-existent',
      ]);
      assert.deepEqual(brief(relister.relist(NOTHING, NOTHING)).length, 3);
      assert.deepEqual(relister.relist(NOTHING, NOTHING), []);
    });

    test('hands out the bytes of the entry that changed, and none for one that vanished', () => {
      const relister = newRelister(build);
      const entry = encodeContainer({ id: 'b', state: 1, labels: { app: 'web' } });
      const list = concat(encodeContainerList([{ id: 'a', state: 1 }]), bytesField(1, entry));
      const [, change] = relister.relist(list, NOTHING);
      assert.deepEqual(change?.entry, entry);
      assert.equal(relister.relist(NOTHING, NOTHING)[1]?.entry, undefined);
    });

    test('a new order of the same objects is no change', () => {
      const relister = newRelister(build);
      const ids = Array.from({ length: 50 }, (_, i) => ({ id: `id-${i}`, state: 1 }));
      relister.relist(encodeContainerList(ids), NOTHING);
      assert.deepEqual(relister.relist(encodeContainerList(ids.reverse()), NOTHING), []);
    });

    test('counts the states of the last good list, created apart from unknown', () => {
      const relister = newRelister(build);
      const list = encodeContainerList([
        { id: 'a', state: 0 },
        { id: 'b', state: 1 },
        { id: 'c', state: 1 },
        { id: 'c', state: 2 },
        { id: 'd', state: 3 },
        { id: 'e', state: 77 },
      ]);
      relister.relist(list, encodeSandboxList([{ id: 's' }, { id: 't', state: 1 }]));
      assert.equal(relister.count('container', 'created'), 1);
      assert.equal(relister.count('container', 'running'), 2);
      assert.equal(relister.count('container', 'exited'), 0);
      assert.equal(relister.count('container', 'unknown'), 2);
      assert.equal(relister.count('sandbox', 'running'), 1);
      assert.equal(relister.count('sandbox', 'exited'), 1);
      assert.equal(
        reasonOf(() => relister.relist(Uint8Array.of(0xff), NOTHING)),
        'truncated',
      );
      assert.equal(relister.count('container', 'running'), 2);
    });

    test('reads what a decoder reads: the last of a repeated field, unknown fields skipped', () => {
      const relister = newRelister(build);
      const group = concat(
        tag(15, 3),
        varintField(2, -1),
        tag(3, 3),
        tag(3, 4),
        bytesField(9, 'x'),
        tag(15, 4),
      );
      const entry = concat(
        group,
        bytesField(1, 'first'),
        varintField(6, 2),
        concat(tag(20, 1), new Uint8Array(8)),
        concat(tag(21, 5), new Uint8Array(4)),
        varintField(1, 5),
        bytesField(6, Uint8Array.of(2)),
        bytesField(1, 'last'),
        varintField(6, 1),
      );
      const list = concat(varintField(7, 1), bytesField(1, entry), group, bytesField(2, 'tail'));
      assert.deepEqual(brief(relister.relist(list, NOTHING)), [
        'container last: non-existent -> running',
      ]);
    });

    test('keeps ids of any length apart', () => {
      const relister = newRelister(build);
      const long = 'x'.repeat(64 * 1024);
      const ids = ['', 'a', 'aa', 'a\0', long, `${long}y`, `${long}z`, '01234567', '012345678'];
      const list = encodeContainerList(ids.map((id) => ({ id, state: 1 })));
      assert.equal(relister.relist(list, NOTHING).length, ids.length);
      assert.deepEqual(relister.relist(list, NOTHING), []);
      const fewer = encodeContainerList(
        ids.filter((id) => id !== `${long}y`).map((id) => ({ id, state: 1 })),
      );
      assert.deepEqual(
        relister.relist(fewer, NOTHING).map((c) => c.id),
        [`${long}y`],
      );
    });

    test('compares ids whole: a hundred thousands of them share some 32-bit hashes', () => {
      const relister = newRelister(build);
      const count = 200_000; // a pair with equal hashes is missing with a chance of 1 in 100
      const list = Buffer.concat(
        Array.from({ length: count }, (_, i) => bytesField(1, bytesField(1, i.toString(36)))),
      );
      assert.equal(relister.relist(list, NOTHING).length, count);
      assert.deepEqual(relister.relist(list, NOTHING), []);
      assert.equal(relister.count('container', 'created'), count);
    });

    const bad: [string, Uint8Array, string][] = [
      ['a tag cut off', Uint8Array.of(0x80), 'truncated'],
      ['a length past the end', Uint8Array.of(0x0a, 5, 1), 'truncated'],
      ['a length of 64 bits', concat(Uint8Array.of(0x0a), varint(-1)), 'truncated'],
      ['a length that never ends', Uint8Array.of(0x0a, ...Array<number>(11).fill(0x80)), 'varint'],
      ['an entry whose id leaves it', bytesField(1, Uint8Array.of(0x0a, 4, 65)), 'truncated'],
      ['an entry whose state is cut off', bytesField(1, Uint8Array.of(0x30, 0x80)), 'truncated'],
      ['field number 0', Uint8Array.of(0x02, 0), 'tag'],
      ['a tag beyond 32 bits', Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x7f), 'tag'],
      ['wire type 6', Uint8Array.of(0x0e), 'wire-type'],
      ['wire type 7', Uint8Array.of(0x0f), 'wire-type'],
      ['the end of a group that never began', Uint8Array.of(0x0c), 'group'],
      ['a group that ends as another', concat(tag(3, 3), tag(4, 4)), 'group'],
      ['a group without an end', tag(3, 3), 'truncated'],
      ['groups without bottom', concat(...Array<Uint8Array>(1000).fill(tag(3, 3))), 'depth'],
      ['a fixed64 cut off', concat(tag(3, 1), new Uint8Array(7)), 'truncated'],
      ['a fixed32 cut off', concat(tag(3, 5), new Uint8Array(3)), 'truncated'],
    ];
    for (const [what, bytes, reason] of bad) {
      test(`${what} is an error and changes nothing`, () => {
        const relister = newRelister(build);
        const good = encodeContainerList([{ id: 'a', state: 1 }]);
        relister.relist(good, NOTHING);
        const inContainers = concat(encodeContainerList([{ id: 'b', state: 1 }]), bytes);
        assert.equal(
          reasonOf(() => relister.relist(inContainers, NOTHING)),
          reason,
        );
        assert.equal(
          reasonOf(() => relister.relist(NOTHING, bytes)),
          reason,
        );
        assert.deepEqual(relister.relist(good, NOTHING), []);
      });
    }

    test('more entries than any node has are an error, not a table without end', () => {
      const relister = newRelister(build);
      const list = new Uint8Array(2 * (1024 * 1024 + 1)).fill(0);
      for (let i = 0; i < list.length; i += 2) list[i] = 0x0a;
      assert.equal(
        reasonOf(() => relister.relist(list, NOTHING)),
        'too-many',
      );
      assert.deepEqual(brief(relister.relist(list.subarray(2), NOTHING)), [
        'container : non-existent -> unknown',
      ]);
    });

    test('survives a list far larger than its memory, then reads small ones again', () => {
      const relister = newRelister(build);
      const good = encodeContainerList([{ id: 'a', state: 1 }]);
      relister.relist(good, NOTHING);
      const huge = concat(good, bytesField(5, new Uint8Array(8 * 1024 * 1024)));
      assert.deepEqual(relister.relist(huge, NOTHING), []);
      assert.deepEqual(brief(relister.relist(NOTHING, good)), [
        'sandbox a: non-existent -> running',
        'container a: running -> non-existent',
      ]);
    });

    test('instances share nothing', () => {
      const list = encodeContainerList([{ id: 'a', state: 1 }]);
      newRelister(build).relist(list, NOTHING);
      assert.equal(newRelister(build).relist(list, NOTHING).length, 1);
    });

    test('a scan without its prepare is refused', () => {
      const core = loadCore(build);
      core.reset(1, 2);
      assert.ok(core.scan(0, 0) < 0);
      assert.ok(core.prepare(10) > 0);
      assert.ok(core.scan(4, 7) < 0);
    });
  });
}
