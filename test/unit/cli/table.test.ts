import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { painter } from '../../../src/cli/colour.ts';
import { harmless } from '../../../src/cli/io.ts';
import { tableLines } from '../../../src/cli/table.ts';
import { Screen } from './support.ts';

const paint = (text: string): string => text;

describe('a table', () => {
  it('has columns as wide as their widest cell and three, the last one as it is', () => {
    assert.deepEqual(
      tableLines(
        ['A', 'NAME', 'AGE'],
        [
          ['1', 'a-long-name', '5m'],
          ['2', 'b', '10m'],
        ],
        { paint },
      ),
      ['A     NAME          AGE', '1     a-long-name   5m', '2     b             10m'],
    );
  });

  it('starts each column at one place, and no line is longer than the screen', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'é', '😀'), minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 40 }),
        (rows, columns) => {
          const whole = tableLines(['X', 'Y', 'Z'], rows, { paint }).map((line) => [...line]);
          const column = whole[0]?.indexOf('Y') ?? NaN;
          for (const [i, row] of rows.entries()) {
            assert.equal(whole[i + 1]?.slice(column).join('').startsWith(row[1]), true);
          }
          for (const line of tableLines(['X', 'Y', 'Z'], rows, { paint, columns })) {
            assert.ok([...line].length <= columns);
          }
        },
      ),
    );
  });

  it('has colours on a terminal only, and none when they are not wanted', () => {
    const cell = { text: 'Running', colour: 'green' } as const;
    const line = (tty: boolean, env: Record<string, string>): string | undefined =>
      tableLines(['S'], [[cell]], { paint: painter(new Screen(tty), env) })[1];
    assert.equal(line(true, {}), '\x1b[32mRunning\x1b[0m');
    assert.equal(line(false, {}), 'Running');
    assert.equal(line(true, { NO_COLOR: '1' }), 'Running');
    assert.equal(line(true, { TERM: 'dumb' }), 'Running');
  });

  it('lets no text of others move the cursor', () => {
    assert.equal(harmless('a\n  b\tc\r\n'), 'a b c');
    assert.equal(harmless('\x1b[2Jx\x9b'), '^[[2Jx\\x9b');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        assert.doesNotMatch(harmless(text), /\p{Cc}/u);
      }),
    );
  });
});
