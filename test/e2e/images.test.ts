/**
 * Images from a registry, for real: whose credentials pull them, who may use them afterwards, and what
 * happens where the registry cannot be reached or says no.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { stringify } from 'yaml';
import type { Pod } from '../../src/api/pod.ts';
import { localImage } from '../../src/image/busybox.ts';
import type { OciImage } from '../../src/image/oci.ts';
import { makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { startRegistry } from '../support/registry.ts';
import type { TestRegistry } from '../support/registry.ts';
import { LOOP, identity, manifest, podThat, running, shell, statusOf } from './manifest.ts';

const PASSWORD = 'correct-horse-battery';
const WRONG = 'wrong-horse-battery';

let containerd: TestContainerd;
let agent: TestAgent;
/** Wants a user. */
let closed: TestRegistry;
let open: TestRegistry;

before(async () => {
  closed = await startRegistry({ auth: 'token', users: { joe: PASSWORD } });
  open = await startRegistry();
  containerd = await startContainerd();
  agent = await makeAgent({ socket: containerd.socket });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await containerd?.stop();
  await Promise.all([closed?.unplug(), open?.unplug()]);
});

function busybox(): OciImage {
  const binary = fs.readFileSync('/bin/busybox');
  const applets = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
  return localImage({ name: '', kind: 'busybox' }, { binary, applets });
}

/** A pod that runs an image of a registry. */
function podOf(name: string, image: string, more: object = {}, container: object = {}): object {
  return manifest(name, shell(LOOP, { image, ...container }), more);
}

/** A Secret as a document of a manifest file, before the pod that names it. */
function withSecret(pod: object, name: string, password: string): string {
  return `${stringify(secretOf(name, password))}---\n${stringify(pod)}`;
}

function secretOf(name: string, password: string): object {
  const auths = { [closed.host]: { username: 'joe', password } };
  return {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' } },
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': JSON.stringify({ auths }) },
  };
}

function waitingFor(...reasons: string[]): (pod: Pod) => boolean {
  return (pod) => {
    const [container] = pod.status.containerStatuses ?? [];
    return reasons.includes(container?.state.waiting?.reason ?? '');
  };
}

async function failing(name: string): Promise<string> {
  const reasons = ['ErrImagePull', 'ImagePullBackOff'];
  const pod = await podThat(agent, name, 'cannot pull', waitingFor(...reasons));
  assert.equal(statusOf(pod).containerID, undefined);
  return statusOf(pod).state.waiting?.message ?? '';
}

async function messages(pod: string, reason: string): Promise<string[]> {
  const events = await agent.events(pod);
  return events.filter((event) => event.reason === reason).map(({ message }) => message);
}

test('without credentials, with wrong ones, and with those of a pull secret', async () => {
  const { name: image } = closed.add('team/secret', '1', busybox());
  agent.apply('anonymous.yaml', podOf('anonymous', image));
  assert.match(await failing('anonymous'), /401 Unauthorized/);
  const wrong = podOf('wrong', image, { imagePullSecrets: [{ name: 'bad' }] });
  agent.apply('wrong.yaml', withSecret(wrong, 'bad', WRONG));
  assert.match(await failing('wrong'), /401 Unauthorized/);
  assert.ok((await messages('wrong', 'Failed')).includes('Error: ErrImagePull'));
  const right = podOf('right', image, { imagePullSecrets: [{ name: 'good' }] });
  agent.apply('right.yaml', withSecret(right, 'good', PASSWORD));
  await running(agent, 'right');
  assert.deepEqual(closed.served.slice(0, 1), ['joe team/secret:1']);

  // In the store now, but not for those who could not pull it.
  agent.apply('other.yaml', podOf('other', image));
  assert.match(
    await failing('other'),
    /it was pulled with a pull secret that this pod does not name/,
  );
  agent.apply('missing.yaml', podOf('missing', image, { imagePullSecrets: [{ name: 'none' }] }));
  await failing('missing');
  assert.deepEqual(await messages('missing', 'FailedToRetrieveImagePullSecret'), [
    'Unable to retrieve some image pull secrets (none); attempting to pull the image may not succeed.',
  ]);
  // The Secret comes, and the pod starts by itself.
  agent.apply('none.yaml', stringify(secretOf('none', PASSWORD)));
  await running(agent, 'missing');
  for (const file of ['anonymous', 'wrong', 'other', 'missing']) agent.remove(`${file}.yaml`);
});

test("with the node's config.json", async () => {
  const { name: image } = closed.add('team/node', '1', busybox());
  const auth = Buffer.from(`joe:${PASSWORD}`).toString('base64');
  const file = path.join(agent.root, 'config.json');
  fs.writeFileSync(file, JSON.stringify({ auths: { [`http://${closed.host}/v2/`]: { auth } } }));
  agent.apply('by-node.yaml', podOf('by-node', image));
  await running(agent, 'by-node');
  assert.ok(closed.served.includes('joe team/node:1'));
  fs.rmSync(file);
});

test('with a credential plugin, which a restart of the agent brings in; pods do not notice', async () => {
  const { name: image } = closed.add('team/plugin', '1', busybox());
  const before = identity(await running(agent, 'right'));
  const bin = path.join(agent.dir, 'bin');
  fs.mkdirSync(bin);
  const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
  const answer = {
    ...{ apiVersion, kind: 'CredentialProviderResponse', cacheKeyType: 'Registry' },
    auth: { [closed.host]: { username: 'joe', password: PASSWORD } },
  };
  const script = `#!/bin/sh\ncat > ${bin}/request\necho '${JSON.stringify(answer)}'\n`;
  fs.writeFileSync(path.join(bin, 'teller'), script, { mode: 0o700 });
  const provider = {
    name: 'teller',
    matchImages: [closed.host],
    defaultCacheDuration: '1h',
    apiVersion,
  };
  const config = path.join(agent.dir, 'providers.yaml');
  const kind = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' };
  fs.writeFileSync(config, JSON.stringify({ ...kind, providers: [provider] }));
  await agent.stop();
  await agent.start(
    'run',
    ...['--image-credential-provider-config', config],
    ...['--image-credential-provider-bin-dir', bin],
  );
  agent.apply('by-plugin.yaml', podOf('by-plugin', image));
  await running(agent, 'by-plugin');
  assert.equal(
    fs.readFileSync(path.join(bin, 'request'), 'utf8'),
    JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion, image }),
  );
  assert.deepEqual(identity(await running(agent, 'right')), before);
});

test('no password is in the log, the database, the events or the answers', async () => {
  const { stdout } = await agent.cli('events');
  const described = await agent.cli('describe', 'pod', 'right-e2e1');
  const files = fs.readdirSync(agent.root).filter((name) => name.startsWith('islet.db'));
  const kept = files.map((name) => fs.readFileSync(path.join(agent.root, name), 'latin1'));
  const logs = fs.readdirSync(agent.dir).filter((name) => /^agent-\d+\.log$/.test(name));
  const said = logs.map((name) => fs.readFileSync(path.join(agent.dir, name), 'utf8'));
  const all = [stdout, described.stdout, await agent.get('/pods'), ...kept, ...said].join('\n');
  const basic = (password: string): string => Buffer.from(`joe:${password}`).toString('base64');
  for (const secret of [PASSWORD, WRONG, basic(PASSWORD), basic(WRONG)])
    assert.ok(!all.includes(secret));
});

test('Always without a registry: as a kubelet, until the pod asks for what is in the store', async () => {
  const { name: image, digest } = open.add('team/app', '1', busybox());
  const always = { imagePullPolicy: 'Always' };
  agent.apply('seed.yaml', podOf('seed', image, {}, always));
  const seed = identity(await running(agent, 'seed'));
  await open.unplug();

  const offline = podOf('offline', image, {}, always) as { metadata: object };
  agent.apply('offline.yaml', offline);
  const message = await failing('offline');
  assert.match(message, /connection refused/);
  assert.match(message, new RegExp(`the image is in the store: ${digest}`));
  assert.match(message, /islet\.dev\/image-policy: newest-else-cached/);
  await podThat(agent, 'offline', 'backs off', waitingFor('ImagePullBackOff'));

  const annotations = { 'islet.dev/image-policy': 'newest-else-cached' };
  agent.apply('offline.yaml', { ...offline, metadata: { ...offline.metadata, annotations } });
  const cached = await running(agent, 'offline');
  assert.deepEqual(await messages('offline', 'UsingCachedImage'), [
    `registry unreachable, used cached ${digest}`,
  ]);

  await open.plugIn();
  const served = open.served.length;
  agent.apply('again.yaml', podOf('again', image, {}, always));
  await running(agent, 'again');
  assert.ok(open.served.length > served);
  assert.deepEqual(identity(await running(agent, 'offline')), identity(cached));
  assert.deepEqual(identity(await running(agent, 'seed')), seed);
});

test('a registry that says no is not one that is not there; the setting of the node', async () => {
  const { name: image } = open.add('team/app', '1', busybox());
  const islet = { apiVersion: 'islet.dev/v1alpha1', kind: 'IsletConfiguration' };
  const text = `\n---\n${JSON.stringify({ ...islet, imagePolicy: 'newest-else-cached' })}\n`;
  fs.appendFileSync(agent.configFile, text);
  await agent.restart();
  const always = { imagePullPolicy: 'Always' };
  open.fault = { status: 403, code: 'DENIED', message: 'denied' };
  agent.apply('denied.yaml', podOf('denied', image, {}, always));
  assert.match(await failing('denied'), /403 Forbidden/);
  open.fault = { status: 404, code: 'MANIFEST_UNKNOWN', message: 'manifest unknown' };
  agent.apply('unknown.yaml', podOf('unknown', image, {}, always));
  assert.match(await failing('unknown'), /not found/);
  open.fault = 'hangup';
  agent.apply('hangup.yaml', podOf('hangup', image, {}, always));
  await running(agent, 'hangup');
  for (const name of ['denied', 'unknown']) {
    assert.deepEqual(await messages(name, 'UsingCachedImage'), []);
    assert.match(await failing(name), /403|not found/);
  }
});

test('an image volume is refused by name where containerd has none', async () => {
  const version = execFileSync(containerd.binary, ['--version'], { encoding: 'utf8' });
  const [, number = ''] = / v?(\d+\.\d+)\S* /.exec(version) ?? [];
  const volumes = [{ name: 'data', image: { reference: 'docker.io/library/busybox:latest' } }];
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  const main = shell(LOOP, { volumeMounts });
  agent.apply(
    'volume.yaml',
    manifest('volume', [main, { ...shell(LOOP), name: 'plain' }], { volumes }),
  );
  if (Number(number) >= 2.1) {
    await running(agent, 'volume');
    return;
  }
  const pod = await podThat(
    agent,
    'volume',
    'is refused',
    waitingFor('CreateContainerConfigError'),
  );
  assert.match(
    statusOf(pod).state.waiting?.message ?? '',
    /^spec\.volumes\[0\]\.image: image volumes need containerd 2\.1 or later, this is containerd 1\./,
  );
  await until('the container without it runs', async () => {
    return statusOf(await agent.pod('volume'), 'plain').state.running !== undefined;
  });
});
