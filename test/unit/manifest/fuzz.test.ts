/**
 * Damaged manifests: whatever the bytes, there is a verdict, soon, and it never is half a file.
 * `FUZZ_RUNS` raises the number of inputs.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadManifest } from '../../../src/manifest/load.ts';
import { container, pod } from './helper.ts';

const RUNS = Number(process.env.FUZZ_RUNS ?? 400);

const SEEDS = [
  container('args: &a ["x", *b]', 'env: [{name: A, value: "\\x41"}]').replace('*b', 'z'),
  `${pod('  containers:\n  - &c\n    name: a\n    image: x\n  - <<: *c\n    name: b')}---\nkind: Secret\napiVersion: v1\nmetadata: {name: s}\ndata: {k: aGk=}\n`,
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'j', labels: { a: 'b' } },
    spec: {
      containers: [{ name: 'c', image: 'x', resources: { limits: { cpu: '1', memory: '1Gi' } } }],
    },
  }),
  container(
    'command: |',
    '  - "sh"',
    'livenessProbe: {httpGet: {port: 80}}',
    'securityContext: {privileged: true}',
  ),
];
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  ':',
  '- ',
  '\n',
  '  ',
  '\t',
  '&a ',
  '*a',
  '<<: *a',
  '"',
  "'",
  '|',
  '!!int ',
  '---\n',
  '~',
  '0x',
  '1e9',
  '\0',
  'ü',
  '\ufeff',
  '%YAML 1.2\n',
  '...\n',
  ',',
  '#',
  '? ',
];

type Change = { at: number; remove: number; insert: string };

function damaged(seed: string, changes: Change[]): Buffer {
  let text = seed;
  for (const { at, remove, insert } of changes) {
    const start = Math.floor(at * text.length);
    text = text.slice(0, start) + insert + text.slice(start + remove);
  }
  return Buffer.from(text);
}

const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.nat({ max: 12 }),
  insert: fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 8 })),
});

function check(content: Uint8Array): void {
  const { documents, errors, warnings } = loadManifest(content, {
    path: '/m/f.yaml',
    nodeName: 'n',
  });
  assert.ok(errors.length === 0 || documents.length === 0, 'half a file');
  assert.ok(errors.length > 0 || documents.length > 0, 'no verdict');
  for (const { line, message } of [...errors, ...warnings]) {
    assert.ok(line >= 1 && !message.includes('\n'), message);
    assert.doesNotMatch(message, /^cannot be read: /, 'an error nobody thought of');
  }
}

test('damaged manifests', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...SEEDS),
      fc.array(change, { minLength: 1, maxLength: 6 }),
      (seed, changes) => {
        check(damaged(seed, changes));
      },
    ),
    { numRuns: RUNS },
  );
});

test('arbitrary bytes', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), check), { numRuns: RUNS });
});
