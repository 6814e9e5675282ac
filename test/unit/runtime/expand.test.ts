import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConfigError } from '../../../src/runtime/config-error.ts';
import { expand, expandStrictly } from '../../../src/runtime/expand.ts';

const vars = new Map([
  ['A', '1'],
  ['EMPTY', ''],
  ['REF', '$(A)$$'],
  ['with space', 'x'],
]);

const rows: [string, string][] = [
  ['$(A)-$(B)', '1-$(B)'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$1'],
  ['$$$$(A)', '$$(A)'],
  ['a$b', 'a$b'],
  ['trailing $', 'trailing $'],
  ['trailing $$', 'trailing $'],
  ['$(A', '$(A'],
  ['$(A$(A)', '$(A$(A)'],
  ['$(', '$('],
  ['$()', '$()'],
  ['[$(EMPTY)]', '[]'],
  ['$(REF)', '$(A)$$'],
  ['$(with space)', 'x'],
  ['$é$(A)', '$é1'],
  ['', ''],
];
for (const [text, want] of rows) {
  test(`expand ${JSON.stringify(text)}`, () => assert.equal(expand(text, vars), want));
}

test('text without a dollar stays', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const plain = text.replaceAll('$', '');
      assert.equal(expand(plain, vars), plain);
    }),
  );
});

test('doubling every dollar keeps any text as it was', () => {
  const pieces = fc.constantFrom('$', '(', ')', 'A', 'é', '$(A)', '$$');
  fc.assert(
    fc.property(fc.array(pieces), (parts) => {
      const text = parts.join('');
      assert.equal(expand(text.replaceAll('$', '$$$$'), vars), text);
    }),
  );
});

test('a value is put in as it is, whatever it holds', () => {
  fc.assert(
    fc.property(fc.string(), (value) => {
      assert.equal(expand('<$(X)|$(X)>', new Map([['X', value]])), `<${value}|${value}>`);
    }),
  );
});

test('where a value is needed, all that are missing or empty are named', () => {
  assert.equal(expandStrictly('$(A)/$$(B)', vars), '1/$(B)');
  assert.throws(
    () => expandStrictly('$(Z)/$(EMPTY)/$(B)/$(Z)', vars),
    (error) => error instanceof ConfigError && error.message === 'missing value for B, EMPTY, Z',
  );
});

test('values that double each other end in an error, not in gigabytes', () => {
  const grown = new Map([['E0', 'x'.repeat(8)]]);
  assert.throws(
    () => {
      for (let i = 1; i <= 60; i++) grown.set(`E${i}`, expand(`$(E${i - 1})$(E${i - 1})`, grown));
    },
    (error) => error instanceof ConfigError && /longer than 131072 characters/.test(error.message),
  );
  assert.ok(Math.max(...[...grown.values()].map((v) => v.length)) <= 131_072);
});
