import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadManifest } from '../../../src/manifest/load.ts';
import { readWhole } from '../../../src/manifest/read-whole.ts';

test('a device that never ends is read up to the limit and refused for its size', () => {
  const { errors } = loadManifest(readWhole('/dev/zero'), { path: 'zero', nodeName: 'n' });
  assert.match(errors[0]?.message ?? '', /at most 10485760 \(10 MiB\) are read/);
  assert.equal(readWhole('/dev/null').length, 0);
  assert.throws(() => readWhole('/proc'), /EISDIR/);
});
