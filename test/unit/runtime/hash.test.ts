import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerHash, goJsonOf } from '../../../src/runtime/hash.ts';

test('the container hash is the kubelet’s, so that its containers are adopted', () => {
  assert.equal(containerHash({ name: 'c', image: 'busybox' }), 'ad819b5c');
});

test('only name and image count, and both do', () => {
  const base = containerHash({ name: 'c', image: 'busybox' });
  assert.notEqual(containerHash({ name: 'd', image: 'busybox' }), base);
  assert.notEqual(containerHash({ name: 'c', image: 'busybox:1' }), base);
  const more = { name: 'c', image: 'busybox', command: ['sh'] };
  assert.equal(containerHash(more), base);
});

test('JSON is written as Go writes it', () => {
  assert.equal(goJsonOf({ command: ['a<b>&c'] }), '{"command":["a\\u003cb\\u003e\\u0026c"]}');
});
