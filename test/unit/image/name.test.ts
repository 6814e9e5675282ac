import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { normalizeImage } from '../../../src/image/name.ts';

describe('normalizeImage', () => {
  const valid: [string, string][] = [
    ['busybox', 'busybox:latest'],
    ['busybox:1.36', 'busybox:1.36'],
    ['registry.example:5000/a/b', 'registry.example:5000/a/b:latest'],
    ['[::1]:5000/a', '[::1]:5000/a:latest'],
    [`a@sha256:${'0'.repeat(64)}`, `a@sha256:${'0'.repeat(64)}`],
    [`a:1@sha256:${'0'.repeat(64)}`, `a:1@sha256:${'0'.repeat(64)}`],
    ['UPPER.example/app', 'UPPER.example/app:latest'],
  ];
  for (const [image, name] of valid) {
    it(`${image} is ${name}`, () =>
      assert.deepEqual(normalizeImage(image), { kind: 'valid', name }));
  }

  const invalid: [string, RegExp][] = [
    [
      'CaptainAmerica',
      /^Failed to apply default image tag "CaptainAmerica": couldn't parse image name "CaptainAmerica": invalid reference format: repository name \(library\/CaptainAmerica\) must be lowercase$/,
    ],
    ['', /invalid reference format$/],
    ['a b', /invalid reference format$/],
    ['a:', /invalid reference format$/],
    ['a@sha256:short', /invalid reference format$/],
    ['f'.repeat(64), /64-byte hexadecimal/],
    [`x/${'a'.repeat(260)}`, /more than 255/],
  ];
  for (const [image, message] of invalid) {
    it(`${image.slice(0, 20)} is refused`, () => {
      const name = normalizeImage(image);
      assert.match(name.kind === 'invalid' ? name.message : 'valid', message);
    });
  }
});
