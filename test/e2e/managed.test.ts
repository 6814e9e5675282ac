/**
 * A machine without a containerd: islet runs one of its own. Pods outlive the agent and containerd,
 * and `down` ends all of it. The tests follow one root directory from its first start to its end.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { findContainerd } from '../../src/containerd/host.ts';
import { networkOf } from '../../src/containerd/managed.ts';
import { containerdPaths } from '../../src/containerd/paths.ts';
import type { ContainerdPaths } from '../../src/containerd/paths.ts';
import {
  NODE_NAME,
  cgroupsOf,
  islet,
  logLinks,
  makeAgent,
  mountsBelow,
  until,
} from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { shims, sweep } from '../support/sweep.ts';
import { LOOP, identity, manifest, running, shell, statusOf } from './manifest.ts';
import { Runtime, idOf, lives } from './runtime.ts';

const NAMES = ['first', 'second'];

let agent: TestAgent;
let paths: ContainerdPaths;
let runtime: Runtime;
const podSubnet = privateSubnet();
const identities = new Map<string, object>();
const uids: string[] = [];
/** Processes of containers and sandboxes: container id → pid. */
let processes: Map<string, number>;

before(async () => {
  agent = await makeAgent({ islet: { containerd: 'managed', podSubnet } });
  paths = containerdPaths(agent.root);
  runtime = new Runtime({ socket: paths.socket, ctr: findContainerd().ctr });
  const volumeMounts = [{ name: 'fast', mountPath: '/fast' }];
  const volumes = [{ name: 'fast', emptyDir: { medium: 'Memory' } }];
  for (const name of NAMES)
    agent.apply(`${name}.yaml`, manifest(name, shell(LOOP, { volumeMounts }), { volumes }));
});

after(async () => {
  await agent?.stop('SIGKILL');
  await runtime?.close();
  // Nothing but the bridge is left when `down` did its work.
  if (containerdPid() !== undefined) await islet('down', ...agent.flags);
  const { name, bridge } = networkOf(agent.root);
  await sweep({ root: agent.root, socket: paths.socket, network: name, bridge });
  await agent.dispose();
});

function privateSubnet(): string {
  return `10.${randomInt(128, 192)}.${randomInt(0, 256)}.0/24`;
}

/** Pid of the containerd of this root directory, when it runs. */
function containerdPid(): number | undefined {
  if (!fs.existsSync(paths.pidFile)) return undefined;
  const pid = Number(fs.readFileSync(paths.pidFile, 'utf8'));
  return lives(pid) ? pid : undefined;
}

async function samePods(): Promise<void> {
  for (const name of NAMES)
    assert.deepEqual(identity(await running(agent, name)), identities.get(name), name);
  const now = runtime.processes();
  for (const [id, pid] of processes) assert.equal(now.get(id), pid);
}

test('up makes containerd and images, shows the pods come up, and leaves them on Ctrl-C', async () => {
  await agent.start('up');
  await until('all pods are ready', () => agent.log().includes('are ready.'), 90);
  const said = agent.log();
  for (const name of NAMES)
    assert.match(said, new RegExp(`^pod default/${name}-${NODE_NAME}: Running, ready 1/1$`, 'm'));
  assert.ok(!said.includes('\u001b'), 'no colours and cursor movements outside of a terminal');
  for (const name of NAMES) {
    const pod = await running(agent, name);
    identities.set(name, identity(pod));
    uids.push(pod.metadata.uid);
    assert.ok(runtime.processes().has(idOf(statusOf(pod).containerID)));
  }
  processes = runtime.processes();
  assert.equal(processes.size, 2 * NAMES.length);
  assert.equal(mountsBelow(path.join(agent.root, 'pods')).length, NAMES.length);

  assert.deepEqual(await agent.stop('SIGINT'), { code: 0, signal: null });
  assert.match(agent.log(), /The agent has ended, its pods go on\. .* down/);
  for (const pid of processes.values()) assert.ok(lives(pid));
});

test('the next agent adopts containerd and the pods', async () => {
  const pid = containerdPid();
  assert.ok(pid !== undefined);
  await agent.start();
  await samePods();
  assert.equal(containerdPid(), pid);
});

test('containerd killed: it is started again, the pods have not noticed, new ones run', async () => {
  const old = containerdPid();
  assert.ok(old !== undefined);
  process.kill(old, 'SIGKILL');
  await until('containerd runs again', () => {
    const pid = containerdPid();
    return pid !== undefined && pid !== old;
  });
  agent.apply('third.yaml', manifest('third', shell(LOOP)));
  uids.push((await running(agent, 'third')).metadata.uid);
  await samePods();
  assert.match(agent.log(), /containerd ended, pods run on; it is started again/);
});

test('the agent ends on SIGINT with status 0 and the pods go on', async () => {
  assert.deepEqual(await agent.stop('SIGINT'), { code: 0, signal: null });
  for (const pid of processes.values()) assert.ok(lives(pid));
});

test('another pod subnet in the configuration: new pods are in it, the others run on', async () => {
  const text = fs.readFileSync(agent.configFile, 'utf8');
  let other = privateSubnet();
  while (other === podSubnet) other = privateSubnet();
  fs.writeFileSync(agent.configFile, text.replace(podSubnet, other));
  await agent.start();
  agent.apply('fourth.yaml', manifest('fourth', shell(LOOP)));
  const fourth = await running(agent, 'fourth');
  uids.push(fourth.metadata.uid);
  const prefix = other.replace(/0\/24$/, '');
  assert.ok(fourth.status.podIP?.startsWith(prefix), `${fourth.status.podIP} not in ${other}`);
  await samePods();
  await agent.stop('SIGINT');
});

test('down ends every pod and containerd and leaves nothing of them', async () => {
  for (const uid of uids) assert.notDeepEqual(cgroupsOf(uid), []);
  const pid = containerdPid();
  const { code, stderr } = await islet('down', ...agent.flags);
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /"level":"(warn|error)"/);
  for (const process of processes.values()) assert.ok(!lives(process));
  assert.ok(pid !== undefined && !lives(pid));
  assert.deepEqual(shims(paths.socket), []);
  assert.deepEqual(mountsBelow(agent.root), []);
  for (const uid of uids) assert.deepEqual(cgroupsOf(uid), []);
  assert.deepEqual(fs.readdirSync(path.join(agent.root, 'pods')), []);
  assert.deepEqual(fs.readdirSync(agent.podLogs), []);
  assert.deepEqual(logLinks(agent.podLogs), []);
  // The manifests are the user's.
  const files = ['first', 'second', 'third', 'fourth'].map((name) => `${name}.yaml`);
  assert.deepEqual(fs.readdirSync(agent.manifests).toSorted(), files.toSorted());
});
