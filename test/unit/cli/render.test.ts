import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { renderCommand } from '../../../src/cli/render.ts';
import type { RenderOptions } from '../../../src/cli/render.ts';
import { DEVIATIONS } from '../../support/corpus-deviations.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-render-'));
after(() => fs.rmSync(dir, { recursive: true }));

async function render(
  files: string | string[],
  output: RenderOptions['output'] = 'json',
  options: Record<string, string> = {},
) {
  const out: string[] = [];
  const err: string[] = [];
  const status = await renderCommand(
    [files].flat(),
    { output, ...options },
    {
      stdout: { write: (text) => out.push(text) },
      stderr: { write: (text) => err.push(text) },
    },
  );
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

interface OneContainer {
  runtime_handler?: string;
  sandbox: {
    log_directory: string;
    dns_config: object;
    linux: { security_context: { namespace_options: { userns_options: object } } };
  };
  containers: {
    c: {
      command: string[];
      envs: { key: string; value: string }[];
      mounts: { container_path: string; host_path: string; readonly?: boolean }[];
      linux: { resources: Record<string, unknown> };
    };
  };
}

async function renderOne(
  files: string | string[],
  options: Record<string, string> = {},
): Promise<OneContainer> {
  const { status, out, err } = await render(files, 'json', options);
  assert.deepEqual([status, err], [0, '']);
  return JSON.parse(out) as OneContainer;
}

const MEASURED = manifest(
  'measured.yaml',
  POD(
    'measured',
    '{containers: [{name: c, image: busybox, resources: {requests: {memory: 1Gi}}, env: [' +
      '{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, ' +
      '{name: HOST, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}, ' +
      '{name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}]}',
  ),
);

test('without options the node is the same on every machine', async () => {
  const { sandbox, containers } = await renderOne(MEASURED);
  assert.deepEqual(sandbox.dns_config, {
    servers: ['192.0.2.53'],
    searches: ['example.internal'],
    options: ['ndots:1'],
  });
  assert.deepEqual(
    containers.c.envs.map(({ value }) => value),
    ['edge1', '10.0.0.2', '2'],
  );
  assert.match(
    containers.c.mounts[0]?.host_path ?? '',
    /^\/var\/lib\/kubelet\/pods\/[^/]+\/etc-hosts$/,
  );
  // 1000 - 1000 * 1 GiB / 24683620 KiB
  assert.equal(containers.c.linux.resources['oom_score_adj'], '958');
  assert.equal(containers.c.linux.resources['unified'], undefined);
});

test('options describe another node', async () => {
  const resolver = path.join(dir, 'resolv.conf');
  fs.writeFileSync(resolver, 'nameserver 198.51.100.1\n');
  const { sandbox, containers } = await renderOne(MEASURED, {
    hostnameOverride: 'Box',
    rootDir: '/data/islet',
    nodeIp: '192.0.2.7',
    nodeCpus: '8',
    nodeMemory: '4Gi',
    cgroupVersion: '2',
    resolvConf: resolver,
  });
  assert.deepEqual(sandbox.dns_config, { servers: ['198.51.100.1'] });
  assert.deepEqual(
    containers.c.envs.map(({ value }) => value),
    ['box', '192.0.2.7', '8'],
  );
  assert.match(containers.c.mounts[0]?.host_path ?? '', /^\/data\/islet\/pods\//);
  assert.equal(containers.c.linux.resources['oom_score_adj'], '750');
  assert.deepEqual(containers.c.linux.resources['unified'], {
    'memory.oom.group': '1',
    'memory.swap.max': '0',
  });
});

test('a configuration file describes the node too', async () => {
  const file = path.join(dir, 'config.yaml');
  fs.writeFileSync(
    file,
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n' +
      `staticPodPath: ${dir}\nclusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\npodLogsDir: /logs\n`,
  );
  const { sandbox } = await renderOne(MEASURED, { config: file });
  assert.match(sandbox.log_directory, /^\/logs\/default_measured-edge1_/);
  assert.deepEqual(sandbox.dns_config, {
    servers: ['10.96.0.10'],
    searches: [
      'default.svc.cluster.local',
      'svc.cluster.local',
      'cluster.local',
      'example.internal',
    ],
    options: ['ndots:5'],
  });
});

test('runtime classes and claims are those of the configuration', async () => {
  const file = path.join(dir, 'islet.yaml');
  fs.writeFileSync(
    file,
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n' +
      `staticPodPath: ${dir}\n---\napiVersion: islet.dev/v1alpha1\nkind: IsletConfiguration\n` +
      'persistentVolumeDir: /data\nruntimeClasses: [{name: kata, handler: kata-qemu}]\n',
  );
  const kata = manifest(
    'kata.yaml',
    POD(
      'kata',
      '{runtimeClassName: kata, containers: [{name: c, image: x, volumeMounts: [{name: v, mountPath: /v}]}], ' +
        'volumes: [{name: v, persistentVolumeClaim: {claimName: db}}]}',
    ),
  );
  const rendered = await renderOne(kata, { config: file });
  assert.equal(rendered.runtime_handler, 'kata-qemu');
  assert.equal(rendered.containers.c.mounts[0]?.host_path, '/data/default/db');
  const without = await render(kata);
  assert.deepEqual([without.status, without.out], [1, '']);
  assert.match(without.err, /kata/);
});

test('this machine on request', async () => {
  const { containers } = await renderOne(MEASURED, { node: 'this', nodeIp: '192.0.2.7' });
  const values = containers.c.envs.map(({ value }) => value);
  assert.equal(values[0], os.hostname().toLowerCase());
  assert.match(containers.c.mounts[0]?.host_path ?? '', /^\/var\/lib\/islet\/pods\//);
});

test('a node that cannot be is one line a fault', async () => {
  const { status, out, err } = await render(MEASURED, 'json', {
    nodeCpus: 'many',
    nodeMemory: '-1Gi',
    cgroupVersion: '3',
  });
  assert.deepEqual([status, out], [1, '']);
  assert.deepEqual(err.split('\n'), [
    '--node-cpus: found "many", expected a whole number from 1',
    '--node-memory: found "-1Gi", expected a quantity such as 512Mi',
    '--cgroup-version: found "3", expected 1 or 2',
    '',
  ]);
});

test('ConfigMaps of the files are shown, of Secrets only the names', async () => {
  const objects = manifest(
    'objects.yaml',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}\n---\n' +
      'apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: hunter2}\n' +
      `data: {user: ${Buffer.from('s3cr3t-user').toString('base64')}}\n`,
  );
  const user = manifest(
    'user.yaml',
    POD(
      'user',
      '{containers: [{name: c, image: busybox, command: [login, $(PASSWORD)], envFrom: [' +
        '{configMapRef: {name: settings}}, {prefix: DB_, secretRef: {name: db}}], env: [' +
        '{name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}], volumeMounts: [' +
        '{name: s, mountPath: /s}, {name: m, mountPath: /m}]}], volumes: [' +
        '{name: s, secret: {secretName: db}}, {name: m, configMap: {name: settings}}]}',
    ),
  );
  const { status, out, err } = await render([user, objects]);
  assert.deepEqual([status, err], [0, '']);
  assert.ok(!/hunter2|s3cr3t/.test(out), out);
  const { containers } = JSON.parse(out) as OneContainer;
  assert.deepEqual(containers.c.command, ['login', '<secret default/db password>']);
  const values = Object.fromEntries(containers.c.envs.map(({ key, value }) => [key, value]));
  assert.equal(values['mode'], 'fast');
  assert.equal(values['DB_user'], '<secret default/db user>');
  assert.equal(values['PASSWORD'], '<secret default/db password>');
  const places = containers.c.mounts.map((m) => m.host_path.replace(/^.*\/volumes\//, ''));
  assert.deepEqual(places.slice(0, 2), ['kubernetes.io~secret/s', 'kubernetes.io~configmap/m']);

  const alone = await render(user);
  assert.equal(alone.status, 1);
  assert.match(alone.err, /container c: configmap "settings" not found/);
});

test('a pod with a user namespace is shown with the first range of ids', async () => {
  const file = manifest(
    'ids.yaml',
    POD('i', '{hostUsers: false, containers: [{name: c, image: x}]}'),
  );
  const { sandbox } = await renderOne(file);
  const range = [{ host_id: 65_536, length: 65_536 }];
  assert.deepEqual(sandbox.linux.security_context.namespace_options.userns_options, {
    uids: range,
    gids: range,
  });
});

const corpus = path.resolve(import.meta.dirname, '../../../../../shared/corpus');

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
  // The ids of user namespaces are left out of this comparison.
  const expected = Object.keys(DEVIATIONS.cri).filter((number) => !['135', '222'].includes(number));
  assert.deepEqual([...different].sort(), expected.sort());
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

/** Canonical text without what no two runs share: uid, time, image id, name of the log file,
 * range of user ids. */
function text(value: unknown, uid: string): string {
  const raw = JSON.stringify(value ?? null)
    .replaceAll(uid, 'UID')
    .replace(/containers\/([^/"]+)\/[0-9a-f]{8}"/g, 'containers/$1/ID"');
  return JSON.stringify(canonical(JSON.parse(raw)) ?? null);
}

const UNSHARED = ['host_id', 'image', 'kubernetes.io/config.hash', 'kubernetes.io/config.seen'];

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
