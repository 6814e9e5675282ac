import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LineSplitter, type Piece } from '../../../src/log/line-splitter.ts';

interface Split {
  lines: string[];
  rest: string;
  longest: number;
}

function split(chunks: readonly Buffer[], maxBytes: number): Split {
  const splitter = new LineSplitter(maxBytes);
  const result: Split = { lines: [], rest: '', longest: 0 };
  let current: Buffer[] = [];
  const take = (piece: Piece): void => {
    assert.equal(piece.starts, current.length === 0);
    current.push(Buffer.from(piece.bytes));
    result.longest = Math.max(result.longest, piece.bytes.length);
    if (!piece.ends) return;
    result.lines.push(Buffer.concat(current).toString('latin1'));
    current = [];
  };
  for (const chunk of chunks) {
    const reused = Buffer.from(chunk);
    for (const piece of splitter.push(reused)) take(piece);
    reused.fill(0xff); // the reader reads the next chunk into the same memory
  }
  const rest = splitter.end();
  if (rest) take(rest);
  result.rest = Buffer.concat(current).toString('latin1');
  return result;
}

describe('cutting bytes into lines', () => {
  it('gives the lines of the input however it was cut, never holding more than the bound', () => {
    const chunk = fc.array(fc.constantFrom(0x0a, 0x61, 0x62), { maxLength: 20 });
    fc.assert(
      fc.property(
        fc.array(chunk, { maxLength: 20 }),
        fc.integer({ min: 1, max: 30 }),
        (all, max) => {
          const chunks = all.map((bytes) => Buffer.from(bytes));
          const expected = Buffer.concat(chunks).toString('latin1').split('\n');
          const { lines, rest, longest } = split(chunks, max);
          assert.deepEqual([...lines, rest], expected);
          assert.ok(longest <= max + 20);
        },
      ),
    );
  });
});
