import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openHashKey } from '../../../src/store/hash-key.ts';
import { createLogger } from '../../../src/util/log.ts';

test('the key of a node outlives the agent, in a file for root only', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'islet-key-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const lines: string[] = [];
  const logger = createLogger({
    sink: { write: (line: string) => lines.push(line) },
    level: 'warn',
    wall: () => 0,
    format: 'json',
  });
  const file = join(dir, 'root', 'hash.key');
  const key = openHashKey(file, logger);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const again = openHashKey(file, logger);
  assert.deepEqual([again.id, again.hash('x')], [key.id, key.hash('x')]);
  assert.match(key.hash('x'), /^[0-9a-f]{64}$/);

  truncateSync(file, 5); // power went in the middle
  const next = openHashKey(file, logger);
  assert.notEqual(next.id, key.id);
  assert.equal(openHashKey(file, logger).id, next.id);
  assert.deepEqual(lines, []);

  writeFileSync(join(dir, 'file'), '');
  const homeless = openHashKey(join(dir, 'file', 'hash.key'), logger);
  assert.match(homeless.hash('x'), /^[0-9a-f]{64}$/);
  assert.equal(lines.length, 1);
  mkdirSync(join(dir, 'other'));
  assert.notEqual(openHashKey(join(dir, 'other', 'hash.key'), logger).id, next.id);
});
