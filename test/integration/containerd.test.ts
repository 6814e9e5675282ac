/**
 * A containerd of our own, for real: pods outlive it and its supervisor.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import {
  bootId,
  chooseSnapshotter,
  findContainerd,
  mayLowerOomScore,
} from '../../src/containerd/host.ts';
import { containerdPaths } from '../../src/containerd/paths.ts';
import type { PrepareOptions } from '../../src/containerd/prepare.ts';
import { ContainerdSupervisor } from '../../src/containerd/supervisor.ts';
import { BUSYBOX_IMAGE, ensureLocalImages } from '../../src/image/busybox.ts';
import { SystemClock } from '../../src/util/clock.ts';
import { createLogger } from '../../src/util/log.ts';
import { criAnswers, removeSandboxes, runSandbox } from '../support/cri-raw.ts';
import { shims, sweep } from '../support/sweep.ts';

const clock = new SystemClock();
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-managed-'));
const paths = containerdPaths(root);
const found = findContainerd();
const network = {
  name: `islet-managed-${process.pid}`,
  bridge: `ism${process.pid}`,
  subnet: '10.63.9.0/24',
};
const images = [
  { name: BUSYBOX_IMAGE, kind: 'busybox' },
  { name: 'example.test/pause:1', kind: 'pause' },
] as const;

function supervisor(changes: Partial<PrepareOptions> = {}): ContainerdSupervisor {
  return new ContainerdSupervisor({
    clock,
    random: () => 0,
    log: createLogger({ sink: { write: () => undefined }, level: 'error', wall: () => 0 }),
    binary: found.containerd,
    ready: criAnswers,
    options: {
      paths,
      cniBinDir: found.cniBinDir,
      sandboxImage: 'example.test/pause:1',
      cgroupDriver: 'cgroupfs',
      restrictOomScoreAdj: !mayLowerOomScore(),
      snapshotter: chooseSnapshotter(root),
      network,
      bootId: bootId(),
      ...changes,
    },
  });
}

const soon = (): AbortSignal => AbortSignal.timeout(60_000);

/** Tasks that run, id → pid. */
function tasks(): Map<string, number> {
  const args = ['-a', paths.socket, '-n', 'k8s.io', 'tasks', 'ls'];
  const lines = execFileSync(found.ctr, args, { encoding: 'utf8' }).trim().split('\n').slice(1);
  const rows = lines.map((line) => line.split(/\s+/)).filter((row) => row[2] === 'RUNNING');
  return new Map(rows.map(([id = '', pid = '']) => [id, Number(pid)]));
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const signal = soon();
  while (!(await holds())) {
    assert.ok(!signal.aborted, `not within a minute: ${what}`);
    await clock.sleep(50, signal);
  }
}

function lives(pid: number): boolean {
  try {
    return fs.readFileSync(`/proc/${pid}/status`, 'utf8').includes('State:\tZ') === false;
  } catch {
    return false;
  }
}

let current: ContainerdSupervisor;
let sandbox = '';

before(async () => {
  current = supervisor();
  await current.start(soon());
});

after(async () => {
  await removeSandboxes(found.ctr, paths.socket).catch(() => undefined);
  await current.stop();
  await sweep({ root, socket: paths.socket, network: network.name, bridge: network.bridge });
});

test('missing images are made and known to the runtime, present ones are left alone', async () => {
  const deps = {
    ctr: found.ctr,
    socket: paths.socket,
    snapshotter: chooseSnapshotter(root),
    clock,
  };
  const imported = await ensureLocalImages({ ...deps, images, signal: soon() });
  assert.deepEqual(
    imported,
    images.map((image) => image.name),
  );
  assert.deepEqual(await ensureLocalImages({ ...deps, images, signal: soon() }), []);
});

test('a sandbox runs on the bridge of the generated network', async () => {
  sandbox = await runSandbox(paths.socket, 'one');
  assert.deepEqual([...tasks().keys()], [sandbox]);
  const bridge = execFileSync('ip', ['-br', 'addr', 'show', network.bridge], { encoding: 'utf8' });
  assert.match(bridge, /10\.63\.9\.1\/24/);
});

test('killed, it comes back by itself, and the pod has not noticed', async () => {
  const before = tasks();
  const pid = current.pid;
  assert.ok(pid);
  process.kill(pid, 'SIGKILL');
  await until('containerd runs again', () => current.pid !== undefined && current.pid !== pid);
  await until('CRI answers again', () => criAnswers(paths.socket));
  assert.equal(current.restarts, 1);
  assert.deepEqual(tasks(), before);
});

test('released, it runs on and the next agent adopts it', async () => {
  const pid = current.pid;
  assert.ok(pid);
  await current.release();
  assert.ok(lives(pid));
  current = supervisor();
  await current.start(soon());
  assert.equal(current.pid, pid);
  process.kill(pid, 'SIGKILL');
  await until(
    'the adopted one is replaced',
    () => current.pid !== undefined && current.pid !== pid,
  );
  await until('CRI answers again', () => criAnswers(paths.socket));
  assert.deepEqual([...tasks().keys()], [sandbox]);
});

test('another configuration starts it anew, the pod runs on', async () => {
  const pid = current.pid;
  const before = tasks();
  await current.release();
  current = supervisor({ cgroupDriver: 'systemd' });
  await current.start(soon());
  assert.notEqual(current.pid, pid);
  assert.deepEqual(tasks(), before);
});

test('stopped, nothing but the shims of pods is left, and an exit meanwhile is seen later', async () => {
  const pid = current.pid;
  const [pod] = [...tasks().values()];
  assert.ok(pid && pod);
  await current.stop();
  assert.ok(!lives(pid));
  assert.ok(lives(pod));
  assert.equal(shims(paths.socket).length, 1);
  process.kill(pod, 'SIGTERM');
  await until('the sandbox has ended on SIGTERM', () => !lives(pod));
  current = supervisor();
  await current.start(soon());
  const list = execFileSync(found.ctr, ['-a', paths.socket, '-n', 'k8s.io', 'tasks', 'ls'], {
    encoding: 'utf8',
  });
  assert.equal(tasks().size, 0, list);
});

test('a start that is given up ends its containerd attempts', async () => {
  const elsewhere = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-managed-'));
  const other = containerdPaths(elsewhere);
  const never = new ContainerdSupervisor({
    clock,
    random: () => 0,
    log: createLogger({ sink: { write: () => undefined }, level: 'error', wall: () => 0 }),
    binary: '/bin/false',
    ready: () => Promise.resolve(false),
    options: {
      paths: other,
      cniBinDir: found.cniBinDir,
      sandboxImage: 'x',
      cgroupDriver: 'cgroupfs',
      restrictOomScoreAdj: true,
      snapshotter: 'native',
      network,
      bootId: bootId(),
    },
  });
  const giveUp = new AbortController();
  const started = never.start(giveUp.signal);
  await until('it died and was started again', () => never.restarts > 0);
  giveUp.abort();
  await assert.rejects(started);
  await never.stop();
  assert.equal(never.pid, undefined);
  fs.rmSync(elsewhere, { recursive: true });
});
