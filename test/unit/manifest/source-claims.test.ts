/** Who provides a pod that several files want: rules, and properties over random directories. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Claim, refusedClaims } from '../../../src/manifest/claims.ts';

const claim = (file: string, held: string, wanted?: string): Claim => ({
  file,
  held: [...held],
  wanted: wanted === undefined ? undefined : [...wanted],
});

const CASES: { what: string; claims: Claim[]; refused: Record<string, string> }[] = [
  { what: 'no conflict', claims: [claim('a', '', 'x'), claim('b', '', 'y')], refused: {} },
  {
    what: 'the first name',
    claims: [claim('a', '', 'x'), claim('b', '', 'x')],
    refused: { b: 'a' },
  },
  { what: 'the holder', claims: [claim('a', '', 'x'), claim('b', 'x', 'x')], refused: { a: 'b' } },
  { what: 'a broken holder', claims: [claim('a', '', 'x'), claim('b', 'x')], refused: { a: 'b' } },
  { what: 'a swap', claims: [claim('a', 'x', 'y'), claim('b', 'y', 'x')], refused: {} },
  {
    what: 'a move that is refused keeps its pod from others',
    claims: [claim('a', '', 'x'), claim('b', 'x', 'z'), claim('c', 'z', 'z')],
    refused: { a: 'b', b: 'c' },
  },
  {
    what: 'a file refused because of a refused one gets its way',
    claims: [claim('a', '', 'xy'), claim('b', '', 'yz'), claim('c', 'x', 'x')],
    refused: { a: 'c' },
  },
];

describe('refusedClaims', () => {
  for (const { what, claims, refused } of CASES) {
    it(what, () => {
      const owners = [...refusedClaims(claims)].map(([file, { owner }]) => [file, owner]);
      assert.deepEqual(Object.fromEntries(owners), refused);
    });
  }

  it('never lets two files provide one pod, nor refuses a file without a reason', () => {
    const keys = fc.uniqueArray(fc.constantFrom<string>('u', 'v', 'w', 'x', 'y'), { maxLength: 3 });
    const files = fc.array(fc.record({ held: keys, wanted: fc.option(keys, { nil: undefined }) }));
    fc.assert(
      fc.property(files, (drawn) => {
        const taken = new Set<string>();
        const claims = drawn.map(({ held, wanted }, i) => {
          const own = held.filter((key) => !taken.has(key));
          own.forEach((key) => taken.add(key));
          return { file: `f${i}`, held: own, wanted };
        });
        const refused = refusedClaims(claims);
        const provided = claims.map((c) => ({
          file: c.file,
          keys: c.wanted && !refused.has(c.file) ? c.wanted : c.held,
        }));
        const all = provided.flatMap(({ keys: own }) => [...own]);
        assert.equal(new Set(all).size, all.length);
        for (const [file, { key, owner }] of refused) {
          assert.ok(
            provided.some((p) => p.file === owner && p.keys.includes(key)),
            `${file} ${key}`,
          );
          assert.notEqual(owner, file);
        }
      }),
    );
  });
});
