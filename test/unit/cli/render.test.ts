import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { runRender } from '../../../src/cli/render.ts';
import type { RenderOptions } from '../../../src/cli/render.ts';
import { loadConfig } from '../../../src/config/load.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-render-'));
after(() => fs.rmSync(dir, { recursive: true }));
const resolver = path.join(dir, 'resolv.conf');
fs.writeFileSync(resolver, 'nameserver 192.0.2.53\nsearch example.internal\noptions ndots:1\n');
const configFile = path.join(dir, 'config.yaml');
fs.writeFileSync(
  configFile,
  'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n' +
    `staticPodPath: ${dir}\nresolvConf: ${resolver}\nlocalStorageCapacityIsolation: false\n`,
);
const config = loadConfig({
  config: configFile,
  rootDir: '/var/lib/kubelet',
  nodeIp: '10.0.0.2',
  hostnameOverride: 'edge1',
});
/** The node on which the corpus was recorded. */
const facts = {
  memoryCapacity: 24_683_620 * 1024,
  cgroupVersion: 1,
  swapController: true,
  singleProcessOOMKill: true,
  hugepageSizes: [2 ** 21],
  thermalThrottlePaths: [],
  selinuxEnabled: false,
} as const;

async function render(file: string, output: RenderOptions['output'] = 'json') {
  const out: string[] = [];
  const err: string[] = [];
  const status = await runRender(file, {
    output,
    config,
    facts,
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
  });
  return { status, out: out.join(''), err: err.join('') };
}

function manifest(name: string, text: string): string {
  const file = path.join(dir, name);
  fs.writeFileSync(file, text);
  return file;
}

const POD = (name: string, spec: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: ${spec}\n`;

test('YAML for people, one document a pod', async () => {
  const spec = '{containers: [{name: c, image: busybox, command: [sh, "yes"]}]}';
  const file = manifest('two.yaml', `${POD('a', spec)}---\n${POD('b', spec)}`);
  const { status, out, err } = await render(file, 'yaml');
  assert.deepEqual([status, err], [0, '']);
  const shown = out.split('---\n').map((text) => {
    const { sandbox, containers } = parse(text) as {
      sandbox: { hostname: string };
      containers: { c: { command: string[]; image: { image: string } } };
    };
    return [sandbox.hostname, containers.c.command, containers.c.image.image];
  });
  assert.deepEqual(shown, [
    ['a-edge1', ['sh', 'yes'], 'busybox:latest'],
    ['b-edge1', ['sh', 'yes'], 'busybox:latest'],
  ]);
});

test('a rejected or missing file says why and prints nothing', async () => {
  const bad = manifest('bad.yaml', POD('a', '{containers: []}'));
  for (const file of [bad, path.join(dir, 'none.yaml')]) {
    const { status, out, err } = await render(file);
    assert.deepEqual([status, out], [1, '']);
    assert.ok(err.startsWith(file), err);
  }
});

test('a container that cannot be asked for is named; the others are shown', async () => {
  const file = manifest(
    'some.yaml',
    POD(
      'a',
      '{containers: [{name: ok, image: busybox}, {name: root, image: busybox, ' +
        'securityContext: {runAsNonRoot: true}}]}',
    ),
  );
  const { status, out, err } = await render(file);
  assert.equal(status, 1);
  assert.match(err, /container root: container has runAsNonRoot and image will run as root/);
  const { containers } = JSON.parse(out) as { containers: object };
  assert.deepEqual(Object.keys(containers), ['ok']);
});

const corpus = path.resolve(import.meta.dirname, '../../../../../shared/corpus');
/** Where islet answers differently, on purpose. */
const DELIBERATE = new Map([
  ['024', 'a hostNetwork pod has the node’s address without an API server too'],
  ['025', 'a hostNetwork pod has the node’s address without an API server too'],
  ['135', 'user namespaces need a runtime that has them'],
  ['222', 'user namespaces need a runtime that has them'],
  ['516', 'all documents of a file count'],
  ['686', 'a memory limit beyond 2^63 is cut, not negative'],
]);

interface Truth {
  sandbox?: { config: { metadata: { uid: string } } };
  containerConfigs?: Record<string, object>;
}

const skip = fs.existsSync(corpus) ? false : '../shared/corpus is not there';

test('the requests are those of the upstream kubelet', { skip }, async (t) => {
  const different = new Set<string>();
  let compared = 0;
  for (const name of fs.readdirSync(path.join(corpus, 'cri'))) {
    const truth = JSON.parse(fs.readFileSync(path.join(corpus, 'cri', name), 'utf8')) as Truth;
    if (!truth.sandbox) continue;
    compared += 1;
    const stem = name.slice(0, -'.json'.length);
    const file = ['yaml', 'json'].map((ext) => path.join(corpus, 'manifests', `${stem}.${ext}`));
    const { out } = await render(file.find((f) => fs.existsSync(f)) ?? '');
    const same = out !== '' && agrees(JSON.parse(out) as Rendered, truth);
    if (!same) different.add(stem.slice(0, 3));
  }
  t.diagnostic(`${compared} manifests compared`);
  assert.ok(compared > 100);
  assert.deepEqual([...different].sort(), [...DELIBERATE.keys()]);
});

interface Rendered {
  sandbox: { metadata: { uid: string } };
  containers: Record<string, object>;
}

function agrees(got: Rendered, truth: Truth): boolean {
  const want = truth.sandbox?.config;
  const uids = [got.sandbox.metadata.uid, want?.metadata.uid ?? ''] as const;
  const same = (a: unknown, b: unknown): boolean => text(a, uids[0]) === text(b, uids[1]);
  return (
    same(got.sandbox, want) &&
    Object.entries(truth.containerConfigs ?? {}).every(([name, container]) =>
      same(got.containers[name], container),
    )
  );
}

/** Canonical text without what no two runs share: uid, time, image id, name of the log file. */
function text(value: unknown, uid: string): string {
  const raw = JSON.stringify(value ?? null)
    .replaceAll(uid, 'UID')
    .replace(/containers\/([^/"]+)\/[0-9a-f]{8}"/g, 'containers/$1/ID"');
  return JSON.stringify(canonical(JSON.parse(raw)) ?? null);
}

const UNSHARED = ['image', 'kubernetes.io/config.hash', 'kubernetes.io/config.seen'];

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) {
    const list = value.map(canonical).filter((item) => item !== undefined);
    const byText = (a: unknown, b: unknown): number =>
      JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
    const named = list.every((item) => typeof item === 'object');
    return list.length === 0 ? undefined : named ? list.sort(byText) : list;
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
      .filter(([key]) => !UNSHARED.includes(key))
      .map(([key, item]): [string, unknown] => [key, canonical(item)])
      .filter(([, item]) => item !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  }
  return [null, '', 0, false, '0'].includes(value as null) ? undefined : value;
}
