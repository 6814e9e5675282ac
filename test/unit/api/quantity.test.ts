import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  milliValue,
  parseQuantity,
  quantityMilli,
  quantityValue,
  readQuantity,
  roundUpToMilli,
  value,
} from '../../../src/api/quantity.ts';
import type { ParsedQuantity } from '../../../src/api/quantity.ts';

function parsed(text: string): ParsedQuantity {
  const quantity = parseQuantity(text);
  assert.ok(quantity, `${text} is a quantity`);
  return quantity;
}

test('one value has one spelling within its suffix family', () => {
  const cases: [string, string][] = [
    ['0.1', '100m'],
    ['100m', '100m'],
    ['+2', '2'],
    ['5.', '5'],
    ['.5', '500m'],
    ['-1500m', '-1500m'],
    ['1000', '1k'],
    ['1000k', '1M'],
    ['0.5Gi', '512Mi'],
    ['1024Ki', '1Mi'],
    ['1.5Gi', '1536Mi'],
    ['512Ki', '512Ki'],
    ['1Ki', '1Ki'],
    ['0.1Ki', '102400m'],
    ['100Mi', '100Mi'],
    ['1e3', '1e3'],
    ['12E3', '12e3'],
    ['1e-3', '1e-3'],
    ['1E', '1E'],
    ['0', '0'],
    ['0Mi', '0'],
    ['1u', '1u'],
    ['12345678901234567890', '12345678901234567890'],
    ['104857600', '104857600'],
  ];
  for (const [text, canonical] of cases) {
    assert.equal(formatQuantity(parsed(text)), canonical, text);
  }
});

test('what is no quantity is refused, and says why', () => {
  for (const text of ['', ' 1', '1 Gi', 'yes', '1.2.3', '1_000', '0x10']) {
    const result = readQuantity(text);
    assert.ok(!result.ok && /regular expression/.test(result.error), text);
  }
  for (const text of ['1K', '1ki', '1mm', '1e', '1EE', '1Gi5', '--1']) {
    const result = readQuantity(text);
    assert.ok(!result.ok && /suffix/.test(result.error), text);
  }
  const result = readQuantity('1e999999999');
  assert.ok(!result.ok, 'a number that would fill the memory is refused');
});

test('values are rounded up to what was asked for', () => {
  assert.equal(milliValue(parsed('0.0001')), 1);
  assert.equal(value(parsed('1500m')), 2);
  assert.equal(value(parsed('-1500m')), -1);
  assert.equal(parsed('1e-12').nano, 1n);
  assert.equal(formatQuantity(roundUpToMilli(parsed('1n'))), '1m');
  assert.equal(formatQuantity(roundUpToMilli(parsed('-1n'))), '-1m');
  assert.equal(quantityValue('64Mi'), 67108864);
  assert.equal(quantityMilli('2'), 2000);
  assert.equal(quantityMilli(undefined), 0);
  assert.equal(quantityValue('nonsense'), 0);
});

test('the spelling reads back as the same amount, and order follows the amount', () => {
  const suffix = fc.constantFrom('n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'e3');
  const text = fc
    .tuple(fc.integer({ min: -100000, max: 100000 }), fc.nat({ max: 999 }), suffix)
    .map(([whole, fraction, unit]) => `${whole}.${fraction}${unit}`);
  fc.assert(
    fc.property(text, text, (a, b) => {
      const [left, right] = [parsed(a), parsed(b)];
      assert.equal(parsed(formatQuantity(left)).nano, left.nano);
      assert.equal(
        Math.sign(compareQuantities(left, right)),
        -Math.sign(compareQuantities(right, left)),
      );
      assert.equal(addQuantities(left, right).nano, left.nano + right.nano);
    }),
    { numRuns: 300 },
  );
});

test('no text makes the parser throw or hang', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.eEKMGinmuk+- ') }), (text) => {
      const result = readQuantity(text);
      if (result.ok) assert.ok(readQuantity(formatQuantity(result.quantity)).ok);
    }),
    { numRuns: 1000 },
  );
});
