import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ageOf, humanDuration, parseDuration } from '../../../src/cli/duration.ts';
import { codeOf } from '../../../src/util/errors.ts';

const S = 1000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;
const Y = 365 * D;

describe('a length of time', () => {
  for (const [ms, text] of [
    [-2 * S, '<invalid>'],
    [-1 * S, '0s'],
    [0, '0s'],
    [999, '0s'],
    [70 * S, '70s'],
    [119 * S, '119s'],
    [2 * M, '2m'],
    [2 * M + 1 * S, '2m1s'],
    [9 * M + 59 * S, '9m59s'],
    [10 * M + 30 * S, '10m'],
    [179 * M, '179m'],
    [3 * H, '3h'],
    [3 * H + 10 * M, '3h10m'],
    [7 * H + 59 * M, '7h59m'],
    [8 * H + 59 * M, '8h'],
    [47 * H, '47h'],
    [48 * H, '2d'],
    [49 * H, '2d1h'],
    [8 * D - H, '7d23h'],
    [8 * D + 5 * H, '8d'],
    [729 * D, '729d'],
    [2 * Y, '2y'],
    [2 * Y + 3 * D, '2y3d'],
    [8 * Y + 3 * D, '8y'],
  ] as const) {
    it(`of ${ms} ms is ${text}`, () => assert.equal(humanDuration(ms), text));
  }

  it('never reads as more than it is, nor as less than it is by a unit shown', () => {
    const unit = { s: S, m: M, h: H, d: D, y: Y } as Record<string, number>;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 * Y }), (ms) => {
        const parts = [...humanDuration(ms).matchAll(/(\d+)([smhdy])/g)];
        const shown = parts.reduce((sum, [, n, u]) => sum + Number(n) * (unit[u ?? ''] ?? NaN), 0);
        const smallest = unit[parts.at(-1)?.[2] ?? ''] ?? NaN;
        assert.ok(shown <= ms);
        assert.ok(ms - shown < smallest || parts.length === 1);
      }),
    );
  });

  it('since a time that is not known is said to be unknown', () => {
    assert.equal(ageOf(undefined, 0), '<unknown>');
    assert.equal(ageOf(null, 0), '<unknown>');
    assert.equal(ageOf('1970-01-01T00:00:05Z', 65_000), '60s');
  });

  it('is read as Go writes it', () => {
    assert.equal(parseDuration('--since', '90s'), 90 * S);
    assert.equal(parseDuration('--since', '1h30m'), 90 * M);
    assert.equal(parseDuration('--since', '1.5h'), 90 * M);
    assert.equal(parseDuration('--since', '10ms'), 10);
    for (const wrong of ['', '5', 'm', '-5m', '5 m', '5mx', 'x5m', '1d']) {
      assert.throws(
        () => parseDuration('--since', wrong),
        (e) => codeOf(e) === 'invalid',
        wrong,
      );
    }
  });
});
