import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fnv1a32 } from '../../../src/util/fnv.ts';

test('FNV-1a-32 has the published values', () => {
  const published: [string, number][] = [
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ];
  for (const [text, hash] of published) assert.equal(fnv1a32(text), hash, text);
});
