/**
 * Volumes as containers see them: one pod with every kind of volume that islet fills or maps, on a real
 * runtime, watched through /proc/<pid>/root.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { makeAgent, mountsBelow, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { LOOP, identity, manifest, running, shell, statusOf } from './manifest.ts';
import { Runtime, idOf } from './runtime.ts';

let containerd: TestContainerd;
let runtime: Runtime;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd();
  runtime = new Runtime(containerd);
  agent = await makeAgent({ socket: containerd.socket, islet: { persistentVolumeDir: 'claims' } });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await runtime?.close();
  await containerd?.stop();
});

const GROUP = 2000;

const configMap = (greeting: string): object => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'conf' }, data: { greeting } },
});

const secret = {
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' } },
  stringData: { password: 'hunter2', user: 'u' },
};

const volumes = (hostDir: string): object[] => [
  { name: 'conf', configMap: { name: 'conf', defaultMode: 0o444 } },
  { name: 'key', secret: { secretName: 'key', defaultMode: 0o400 } },
  {
    name: 'all',
    projected: {
      sources: [
        { configMap: { name: 'conf', items: [{ key: 'greeting', path: 'deep/hello' }] } },
        { secret: { name: 'key', items: [{ key: 'user', path: 'user', mode: 0o400 }] } },
        { downwardAPI: { items: [{ path: 'uid', fieldRef: { fieldPath: 'metadata.uid' } }] } },
      ],
    },
  },
  { name: 'claim', persistentVolumeClaim: { claimName: 'data' } },
  { name: 'share', emptyDir: {} },
  { name: 'host', hostPath: { path: hostDir } },
];

const mount = (name: string, more: object = {}): object => ({
  name,
  mountPath: `/${name}`,
  ...more,
});

function everything(hostDir: string): object {
  const files = [mount('conf'), mount('key'), mount('all'), mount('claim')];
  const user = shell(`cat /key/password > /claim/seen && id -g > /claim/group; ${LOOP}`, {
    name: 'user',
    securityContext: { runAsUser: 1000, runAsGroup: 1000 },
    volumeMounts: [
      ...files,
      mount('conf', { mountPath: '/fixed', subPath: 'greeting' }),
      mount('share', { mountPropagation: 'HostToContainer' }),
      mount('host', { mountPropagation: 'HostToContainer' }),
      { name: 'claim', mountPath: '/ro', readOnly: true },
    ],
  });
  const main = shell(
    `mkdir -p /share/inner && mount -t tmpfs tmpfs /share/inner && echo up > /share/inner/f; ${LOOP}`,
    {
      securityContext: { privileged: true },
      volumeMounts: [mount('share', { mountPropagation: 'Bidirectional' })],
    },
  );
  const securityContext = { fsGroup: GROUP };
  return manifest('vols', [main, user], { securityContext, volumes: volumes(hostDir) });
}

test('volumes in containers: content, modes, owners, updates, propagation', async () => {
  const hostDir = path.join(agent.dir, 'host');
  fs.mkdirSync(hostDir);
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', hostDir]);
  execFileSync('mount', ['--make-shared', hostDir]);
  agent.apply('conf.yaml', configMap('morning'));
  agent.apply('key.json', secret);
  fs.chmodSync(path.join(agent.manifests, 'key.json'), 0o600);
  agent.apply('vols.yaml', everything(hostDir));
  const pod = await running(agent, 'vols');
  const { uid } = pod.metadata;
  const pids = runtime.processes();
  const seen = (file: string): string =>
    `/proc/${pids.get(idOf(statusOf(pod, 'user').containerID))}/root${file}`;
  const read = (file: string): string => fs.readFileSync(seen(file), 'utf8');
  const access = (file: string): string => {
    const { mode, gid } = fs.statSync(seen(file));
    return `${(mode & 0o7777).toString(8)} ${gid}`;
  };

  // Content, as the kubelet lays it out.
  assert.equal(read('/conf/greeting'), 'morning');
  assert.match(fs.readlinkSync(seen('/conf/..data')), /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\./);
  assert.equal(fs.readlinkSync(seen('/conf/greeting')), '..data/greeting');
  assert.equal(read('/all/deep/hello'), 'morning');
  assert.equal(read('/all/uid'), uid);
  assert.equal(read('/fixed'), 'morning');
  // The group may read what its mode would keep from it; nobody may write.
  assert.deepEqual(
    ['/conf/greeting', '/key/password', '/all/user', '/all/deep/hello'].map(access),
    [`444 ${GROUP}`, `440 ${GROUP}`, `440 ${GROUP}`, `644 ${GROUP}`],
  );
  const mounts = fs.readFileSync(seen('').replace(/root$/, 'mounts'), 'utf8').split('\n');
  const options = new Map(
    mounts
      .map((line) => line.split(' '))
      .map(([, at = '', type = '', how = '']) => [at, `${type} ${how.split(',')[0]}`]),
  );
  assert.deepEqual(
    ['/key', '/all', '/ro'].map((at) => options.get(at)),
    ['tmpfs ro', 'tmpfs ro', options.get('/claim')?.replace(' rw', ' ro')],
  );
  assert.match(options.get('/conf') ?? '', / ro$/);

  // A claim is a directory of the host that a user of the group writes to.
  const claim = path.join(agent.dir, 'claims/default/data');
  await until('the user has written', () => fs.existsSync(path.join(claim, 'group')));
  assert.equal(fs.readFileSync(path.join(claim, 'seen'), 'utf8'), 'hunter2');
  assert.equal(fs.statSync(path.join(claim, 'seen')).gid, GROUP);

  // Mounts travel from a container to the host and on, and from the host to a container.
  const share = path.join(agent.root, 'pods', uid, 'volumes/kubernetes.io~empty-dir/share');
  await until('the mount has reached the host', () => fs.existsSync(path.join(share, 'inner/f')));
  await until('the mount has reached the other container', () => read('/share/inner/f') === 'up\n');
  fs.mkdirSync(path.join(hostDir, 'late'));
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', path.join(hostDir, 'late')]);
  fs.writeFileSync(path.join(hostDir, 'late/f'), 'late');
  assert.equal(read('/host/late/f'), 'late');

  // A change reaches the files, and no container notices.
  agent.apply('conf.yaml', configMap('evening'));
  await until('the file has changed', () => read('/conf/greeting') === 'evening');
  await until('the projected file too', () => read('/all/deep/hello') === 'evening');
  assert.equal(read('/fixed'), 'morning', 'sub paths stay');
  const later = await running(agent, 'vols');
  for (const name of ['main', 'user']) assert.deepEqual(identity(later, name), identity(pod, name));

  // All is gone with the pod, but for what is meant to stay.
  agent.remove('vols.yaml');
  await until('the pod is gone', async () => (await agent.pod('vols')) === undefined);
  await until('its directory is gone', () => !fs.existsSync(path.join(agent.root, 'pods', uid)));
  assert.deepEqual(mountsBelow(agent.root), []);
  assert.equal(fs.readFileSync(path.join(claim, 'seen'), 'utf8'), 'hunter2');
  assert.equal(fs.readFileSync(path.join(hostDir, 'late/f'), 'utf8'), 'late');
});
