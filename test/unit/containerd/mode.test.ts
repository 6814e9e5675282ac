import assert from 'node:assert/strict';
import test from 'node:test';
import { chooseMode } from '../../../src/containerd/mode.ts';

const never = (): Promise<boolean> => assert.fail('the default socket was asked');

test('a mode that somebody chose is taken without a look', async () => {
  for (const mode of ['managed', 'external'] as const)
    for (const endpointSet of [true, false])
      assert.equal(await chooseMode({ mode, endpointSet }, never), mode);
});

test('auto: a named endpoint is external, even when nobody answers there', async () => {
  assert.equal(await chooseMode({ mode: 'auto', endpointSet: true }, never), 'external');
});

test('auto: the default endpoint is external only when it answers', async () => {
  const facts = { mode: 'auto', endpointSet: false } as const;
  assert.equal(await chooseMode(facts, () => Promise.resolve(true)), 'external');
  assert.equal(await chooseMode(facts, () => Promise.resolve(false)), 'managed');
  assert.equal(await chooseMode(facts, () => Promise.reject(new Error('refused'))), 'managed');
});
