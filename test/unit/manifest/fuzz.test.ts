/**
 * Damaged manifests, those of the corpus where it is there: whatever the bytes, there is a verdict, soon, within a
 * small heap; see manifest-property.ts for what holds. Each run has a new seed, which a failure names.
 * `FUZZ_RUNS` and `FUZZ_SEED` change the run; `node build/test/support/manifest-fuzz.js` does 100,000.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadManifest } from '../../../src/manifest/load.ts';
import { fuzz } from '../../support/manifest-fuzz.ts';
import { checkManifest } from '../../support/manifest-property.ts';
import { container, load } from './helper.ts';

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 4000);
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
/** Of bytes, as a power of two: so that a slow machine is far from the bound of CPU time. */
const LARGEST = 15;

test('damaged manifests', async (t) => {
  const report = await fuzz({ runs: RUNS, seed: SEED, largest: LARGEST, timeLimitMs: 20_000 });
  t.diagnostic(`seed ${SEED}: ${report.runs} inputs, ${report.accepted} accepted`);
  assert.ok(report.accepted > 0, 'damage that leaves no manifest proves little');
});

test('an input that breaks a bound is named', async () => {
  const run = { runs: 1000, seed: 5, largest: LARGEST };
  await assert.rejects(
    fuzz({ ...run, cpuLimitMs: 0 }),
    /^Error: seed 5: took \d+ ms of CPU time\ninput: "/,
  );
  // A thread takes longer to start.
  await assert.rejects(fuzz({ ...run, stuckMs: 1 }), /^Error: no end after 1 ms: seed 5, input 0$/);
  await assert.rejects(fuzz({ ...run, heapMb: 8 }), /memory limit.*: seed 5, input \d+$/s);
});

test('arbitrary bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void checkManifest(bytes)),
    { numRuns: 400, seed: SEED },
  );
});

test('a file of nothing but errors is given up', () => {
  const errorsOf = (text: string): number => load(text).errors.length;
  const one = [
    container(`args: ["${'\\q'.repeat(20_000)}"]`),
    container(`args: ["x"]\n${'}\n'.repeat(20_000)}`),
    container(`args: [${','.repeat(20_000)}]`),
    '---\n'.repeat(20_000),
  ];
  for (const text of one) assert.equal(errorsOf(text), 1, text.slice(0, 120));
  assert.match(
    load('--- a\n'.repeat(20_000)).errors[0]?.message ?? '',
    /^more than 1000 documents/,
  );
  assert.ok(errorsOf('--- a\n'.repeat(900)) <= 100);
  const maps = (count: number): string =>
    Array.from(
      { length: count },
      (_, n) => `---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m${n}}\n`,
    ).join('');
  assert.equal(load(maps(1000)).documents.length, 1000);
  assert.equal(load(maps(1001)).errors[0]?.message, 'more than 1000 documents');
  assert.ok(errorsOf(container('ports:', ...Array<string>(5000).fill('- {}'))) <= 100);
});

test('what no manifest can hold is refused before it costs anything', () => {
  const level = (n: number): string =>
    `a${n + 1}: &a${n + 1} [${Array<string>(9).fill(`*a${n}`).join()}]\n`;
  const bomb = `a0: &a0 [x]\n${Array.from({ length: 40 }, (_, n) => level(n)).join('')}`;
  for (const [text, message] of [
    [container(`args: ${'['.repeat(100_000)}`), /^nested deeper than 500 levels/],
    [`{"a": ${'['.repeat(100_000)}`, /^nested deeper than 500 levels/],
    [container('args:', ...Array<string>(120_000).fill('- a')), /^more than 100000 values/],
    [bomb + container(), /^document contains excessive aliasing/],
  ] as const) {
    const { errors } = loadManifest(Buffer.from(text), { path: '/m/x.yaml', nodeName: 'n' });
    assert.match(errors[0]?.message ?? '', message);
  }
});
