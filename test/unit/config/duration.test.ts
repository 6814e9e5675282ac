import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parseDuration } from '../../../src/config/duration.ts';

test('durations as Go reads them', () => {
  const table: Record<string, number> = {
    '0': 0,
    '0s': 0,
    '-0': 0,
    '1h2m3.5s': 3_723_500,
    '100ms': 100,
    '1.5h': 5_400_000,
    '.5s': 500,
    '5.s': 5000,
    '+10s': 10_000,
    '-1m30s': -90_000,
    '1us': 0.001,
    '1µs': 0.001,
    '1μs': 0.001,
    '250ns': 0.00025,
    '1m1m': 120_000,
  };
  for (const [text, ms] of Object.entries(table)) assert.equal(parseDuration(text), ms, text);
});

test('what Go refuses is refused', () => {
  const wrong = ['', '-', '5', '5q', 's', '.s', '1 s', ' 1s', '1s ', '1e3s', '1h2', '--1s', '1d'];
  for (const text of [...wrong, '300000000h', '1.2.3s', '0x1s', '١s'])
    assert.equal(parseDuration(text), undefined, JSON.stringify(text));
});

test('any sum of whole parts is read back exactly, whatever their order', () => {
  const unit = fc.constantFrom(
    ['h', 3_600_000] as const,
    ['m', 60_000] as const,
    ['s', 1000] as const,
    ['ms', 1] as const,
  );
  const part = fc.tuple(fc.integer({ min: 0, max: 10_000 }), unit);
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), fc.boolean(), (parts, negative) => {
      const sum = parts.reduce((total, [count, [, ms]]) => total + count * ms, 0);
      const text = parts.map(([count, [name]]) => `${count}${name}`).join('');
      assert.equal(parseDuration(negative ? `-${text}` : text), negative && sum !== 0 ? -sum : sum);
    }),
  );
});

test('any text gives a finite number or nothing', () => {
  const unit = fc.constantFrom(...'0123456789.-+hmsµnu ');
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit })), (text) => {
      const ms = parseDuration(text);
      assert.ok(ms === undefined || Number.isFinite(ms));
    }),
    { numRuns: 2000 },
  );
});
