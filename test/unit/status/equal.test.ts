import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jsonEqual } from '../../../src/status/equal.ts';

describe('jsonEqual', () => {
  it('agrees with the text of both, key order aside', () => {
    const sorted = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(sorted)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .sort(([a], [b]) => (a < b ? -1 : 1))
                .map(([k, v]) => [k, sorted(v)]),
            )
          : value;
    const small = fc.jsonValue({ maxDepth: 2 });
    fc.assert(
      fc.property(small, small, (a, b) => {
        assert.equal(jsonEqual(a, structuredClone(a)), true);
        const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
        assert.equal(jsonEqual(a, b), same);
      }),
    );
  });

  it('takes undefined for absent', () => {
    assert.equal(jsonEqual({ a: 1, b: undefined }, { a: 1 }), true);
    assert.equal(jsonEqual({ a: 1 }, { a: 1, b: undefined }), true);
    assert.equal(jsonEqual({ a: 1 }, { a: 1, b: null }), false);
    assert.equal(jsonEqual([], {}), false);
  });
});
