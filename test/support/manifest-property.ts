/**
 * Owns: what holds for every manifest file whatever its bytes, and the manifests of ours that fuzzing starts from.
 */
import assert from 'node:assert/strict';
import type { Pod } from '../../src/api/pod.ts';
import { decode } from '../../src/manifest/decode.ts';
import { setDefaults } from '../../src/manifest/defaults.ts';
import { loadManifest } from '../../src/manifest/load.ts';
import type { LoadedFile, LoadOptions } from '../../src/manifest/model.ts';
import { parseManifest } from '../../src/manifest/parse.ts';
import { podSchema } from '../../src/manifest/schema-pod.ts';

const OPTIONS: LoadOptions = { path: '/m/f.yaml', nodeName: 'n' };

/** Whether the file was accepted. @throws when a rule is broken. */
export function checkManifest(content: Uint8Array): boolean {
  const loaded = loadManifest(content, OPTIONS);
  const { documents, errors, warnings } = loaded;
  assert.ok(errors.length === 0 || documents.length === 0, 'half a file');
  assert.ok(errors.length > 0 || documents.length > 0, 'no verdict');
  assert.ok(errors.length <= 300 && warnings.length <= 30_000, 'findings without bound');
  for (const { line, message } of [...errors, ...warnings]) {
    assert.ok(Number.isInteger(line) && line >= 1, `line ${line}: ${message}`);
    assert.ok(message !== '' && !message.includes('\n'), message);
    assert.doesNotMatch(message, /^cannot be read: /, 'an error nobody thought of');
  }
  if (errors.length === 0) checkWrittenAnew(content, loaded);
  return errors.length === 0;
}

/** Each pod, written out as JSON with its defaults, is the same pod with the same uid. */
function checkWrittenAnew(content: Uint8Array, { documents }: LoadedFile): void {
  const pods = documents.flatMap((document) => (document.kind === 'Pod' ? [document.pod] : []));
  const sources = parseManifest(content).trees.filter(
    (tree) => tree.type === 'object' && kindOf(tree.entries.get('kind')?.value) === 'Pod',
  );
  assert.equal(pods.length, sources.length);
  for (const [index, tree] of sources.entries()) {
    if (tree.type !== 'object') continue;
    const value = decode(podSchema, tree).value as unknown as Pod;
    setDefaults(value);
    if (hasUnsafeNumber(value)) continue;
    const text = JSON.stringify({ ...value, apiVersion: 'v1', kind: 'Pod' });
    const again = loadManifest(Buffer.from(text), OPTIONS);
    assert.deepEqual(again.errors, [], `not accepted again: ${text}`);
    const [document] = again.documents;
    assert.ok(document?.kind === 'Pod');
    assert.equal(document.pod.metadata.uid, pods[index]?.metadata.uid, `another uid: ${text}`);
    assert.deepEqual(plain(document.pod), plain(pods[index]));
  }
}

function kindOf(value: { type: string; text?: string } | undefined): string | undefined {
  return value?.type === 'string' ? value.text : undefined;
}

/** JSON has no integers beyond 2^53, so a file that is written from numbers cannot have them. */
function hasUnsafeNumber(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(hasUnsafeNumber);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Nowhere else in the files, in no message, and neither is a good part of it. */
const MARKS = ['Xq7Zpa55phra5eK', 'zW9hidd3nw0rdP4'];

/** As for any manifest; and as long as the file says that it holds a Secret, no message shows a value. */
export function checkSecret(content: Uint8Array): boolean {
  const accepted = checkManifest(content);
  const text = Buffer.from(content).toString('latin1');
  if (!/kind["']?\s*:\s*["']?Secret\b/.test(text)) return accepted;
  const { errors, warnings } = loadManifest(content, OPTIONS);
  // A path may show it: what a damaged file has in the place of a key is a key.
  const said = JSON.stringify([...errors, ...warnings].map(({ message }) => message));
  for (const part of PARTS)
    assert.ok(!said.includes(part), `a value of a Secret is shown: ${said}`);
  return accepted;
}

const PARTS = MARKS.flatMap((mark) => [mark, Buffer.from(mark).toString('base64')]).flatMap(
  (mark) => Array.from({ length: mark.length - 5 }, (_, i) => mark.slice(i, i + 6)),
);

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const SECRET_SEEDS: readonly Buffer[] = [
  `apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  namespace: ops\ntype: Opaque\nstringData:\n` +
    `  password: ${MARKS[0]}\n  other: "${MARKS[1]}"\ndata:\n  key: ${base64(MARKS[0] ?? '')}\n`,
  `kind: Secret\napiVersion: v1\nmetadata: {name: s}\nstringData:\n  config: |\n    a: ${MARKS[0]}\n` +
    `    b: ${MARKS[1]}\n  folded: >-\n    ${MARKS[1]}\n    ${MARKS[0]}\n`,
  JSON.stringify({
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: { name: 's' },
    data: { key: base64(MARKS[1] ?? '') },
    stringData: { password: MARKS[0] },
  }),
  `{kind: Secret, apiVersion: v1, metadata: {name: s}, stringData: {a: ${MARKS[0]}, b: '${MARKS[1]}'}}\n`,
].map((text) => Buffer.from(text));

const POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n';

export const SEEDS: readonly Buffer[] = [
  `${POD}  - name: c\n    image: x\n    args: &a ["x", z]\n    env: [{name: A, value: "\\x41"}]\n`,
  `${POD}  - &c\n    name: a\n    image: x\n  - <<: *c\n    name: b\n---\nkind: Secret\napiVersion: v1\n` +
    'metadata: {name: s}\ndata: {k: aGk=}\n',
  `${POD}  - name: c\n    image: x\n    command: |\n      - "sh"\n    livenessProbe: {httpGet: {port: 80}}\n` +
    '    securityContext: {privileged: true}\n',
  `${POD}  - name: c\n    image: x\n    resources: {limits: {cpu: 0.5, memory: 1Gi}}\n    volumeMounts:\n` +
    '    - {name: v, mountPath: /v, subPath: a}\n  volumes:\n  - name: v\n    configMap:\n      name: m\n' +
    '      items: [{key: a, path: b/c, mode: 0400}]\n---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: m}\n' +
    'data:\n  a: |\n    text\n',
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'j', labels: { a: 'b' } },
    spec: {
      containers: [{ name: 'c', image: 'x', resources: { limits: { cpu: '1', memory: '1Gi' } } }],
    },
  }),
].map((text) => Buffer.from(text));
