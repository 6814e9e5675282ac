/**
 * The manifests of the shared corpus against the upstream's verdict and decoded pod, in this process.
 * The comparison itself is that of the corpus's own compare.mjs.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadManifest } from '../../../src/manifest/load.ts';
import { DEVIATIONS } from '../../support/corpus-deviations.ts';

const CORPUS = join(import.meta.dirname, '../../../../../shared/corpus');

/** Files whose verdict differs on purpose, with the reason. */
const ON_PURPOSE: Record<string, string> = {
  ...DEVIATIONS.decode,
  '512': 'an empty first document is left out',
  '514': 'a null first document is left out',
  '515': 'all documents of a file are read',
  '516': 'all documents of a file are read',
  '517': 'all documents of a file are read',
};
/** Made by the upstream in its own way, or not compared because it is always its own. */
const DROPPED = [
  'kubernetes.io/config.hash',
  'kubernetes.io/config.seen',
  'kubernetes.io/config.source',
  'status',
  'creationTimestamp',
];

interface Truth {
  result: string;
  stage?: string;
  error?: string;
  pod?: unknown;
}

/** Without empty values: JSON of Go and of JavaScript differ there. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(tidy).filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
      .filter(([key]) => !DROPPED.includes(key))
      .map(([key, inner]) => [key, tidy(inner)] as const)
      .filter(([, inner]) => inner !== undefined);
    return entries.length > 0 ? Object.fromEntries(entries) : undefined;
  }
  const empty = value === null || value === '' || value === 0 || value === false || value === '0';
  return empty ? undefined : value;
}

function comparable(pod: unknown): unknown {
  const tidied = tidy(pod) as { metadata?: { uid?: string } } | undefined;
  if (/^[0-9a-f]{32}$/.test(tidied?.metadata?.uid ?? '')) delete tidied?.metadata?.uid;
  return tidied;
}

const missing = existsSync(CORPUS) ? false : 'the shared corpus is not there';

test('the verdict and the pod are those of the upstream kubelet', { skip: missing }, () => {
  const names = readdirSync(join(CORPUS, 'manifests'));
  assert.ok(names.length > 300, 'the corpus is complete');
  for (const name of names) {
    const base = name.replace(/\.(yaml|json)$/, '');
    if (base.slice(0, 3) in ON_PURPOSE) continue;
    const truth = JSON.parse(readFileSync(join(CORPUS, 'decode', `${base}.json`), 'utf8')) as Truth;
    const path = `/etc/kubernetes/manifests/${name}`;
    const content = readFileSync(join(CORPUS, 'manifests', name));
    const { documents, errors } = loadManifest(content, { path, nodeName: 'edge1' });
    const verdict = errors.length > 0 ? 'rejected' : 'accepted';
    if (truth.stage === 'api-reference' && verdict === 'accepted') continue;
    assert.equal(
      verdict,
      truth.result,
      `${name}: ${JSON.stringify(errors)} against ${truth.error}`,
    );
    if (truth.result !== 'accepted') continue;
    const pod = documents.find((document) => document.kind === 'Pod')?.pod;
    const { metadata, spec } = JSON.parse(JSON.stringify(pod)) as Record<string, unknown>;
    assert.deepEqual(comparable({ metadata, spec }), comparable(truth.pod), name);
  }
});

test('every field of a Pod of 1.36 is known', { skip: missing }, () => {
  const content = readFileSync(join(CORPUS, 'manifests/191-k8s-api-roundtrip-all-fields.json'));
  const { warnings } = loadManifest(content, { path: '/m/x.json', nodeName: 'edge1' });
  assert.deepEqual(warnings, []);
});
