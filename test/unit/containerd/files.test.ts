import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { afterEach, beforeEach } from 'node:test';
import { findCniBinDir, mayLowerOomScore } from '../../../src/containerd/host.ts';
import { lastComplaints, trimLog } from '../../../src/containerd/logfile.ts';
import { containerdPaths } from '../../../src/containerd/paths.ts';
import { prepare } from '../../../src/containerd/prepare.ts';
import type { PrepareOptions } from '../../../src/containerd/prepare.ts';
import { restartDelayMs } from '../../../src/containerd/supervisor.ts';
import { IsletError } from '../../../src/util/errors.ts';

let root = '';
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-files-'));
});
afterEach(() => fs.rmSync(root, { recursive: true }));

function options(changes: Partial<PrepareOptions> = {}): PrepareOptions {
  return {
    paths: containerdPaths(root),
    cniBinDir: '/usr/lib/cni',
    sandboxImage: 'pause:1',
    cgroupDriver: 'cgroupfs',
    restrictOomScoreAdj: false,
    snapshotter: 'native',
    network: { name: 'n', bridge: 'b', subnet: '10.9.0.0/24' },
    bootId: 'boot-1',
    ...changes,
  };
}

test('a second preparation changes nothing, another setting is noticed', () => {
  assert.equal(prepare(options()).changed, true);
  assert.equal(prepare(options()).changed, false);
  assert.equal(prepare(options({ cgroupDriver: 'systemd' })).changed, true);
  const network = { name: 'n', bridge: 'b', subnet: '10.8.0.0/24' };
  assert.equal(prepare(options({ cgroupDriver: 'systemd', network })).changed, true);
});

test('state of an earlier boot is removed, of this one kept, and never without a record', () => {
  const { state, root: data, bootFile, pidFile } = containerdPaths(root);
  for (const directory of [state, data]) fs.mkdirSync(directory, { recursive: true });
  const file = path.join(state, 'lease');
  fs.writeFileSync(file, '');
  fs.writeFileSync(pidFile, '1');
  prepare(options());
  assert.ok(fs.existsSync(file), 'no record of a boot');
  prepare(options());
  assert.ok(fs.existsSync(file), 'same boot');
  prepare(options({ bootId: 'boot-2' }));
  assert.ok(!fs.existsSync(file), 'next boot');
  assert.ok(!fs.existsSync(pidFile));
  assert.ok(fs.existsSync(data), 'images stay');
  assert.equal(fs.readFileSync(bootFile, 'utf8'), 'boot-2');
});

test('a root directory that is too long for a socket is refused', () => {
  assert.throws(
    () => containerdPaths(`/${'x'.repeat(100)}`),
    (error) => error instanceof IsletError && error.code === 'invalid',
  );
});

test('a log over its limit keeps its last whole lines, an appending writer goes on', () => {
  const file = path.join(root, 'log');
  const writer = fs.openSync(file, 'a');
  for (let line = 0; line < 1000; line++) fs.writeSync(writer, `line ${line}\n`);
  trimLog(file, 100_000);
  assert.equal(fs.statSync(file).size, 8890);
  trimLog(file, 1000);
  fs.writeSync(writer, 'after\n');
  fs.closeSync(writer);
  const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n');
  assert.equal(lines.at(-1), 'after');
  assert.equal(lines.at(-2), 'line 999');
  assert.match(lines[0] ?? '', /^line 9\d\d$/);
  assert.ok(fs.statSync(file).size <= 510);
  trimLog(path.join(root, 'none'));
});

test('only complaints are repeated from the log', () => {
  const file = path.join(root, 'log');
  fs.writeFileSync(
    file,
    'level=info a\nlevel=error b\nlevel=fatal c\ncontainerd: d\nlevel=info e\n',
  );
  assert.deepEqual(lastComplaints(file, 2), ['level=fatal c', 'containerd: d']);
  assert.deepEqual(lastComplaints(path.join(root, 'none')), []);
});

test('CNI plugins are taken from the first directory that has them all', () => {
  const [some, all] = ['some', 'all'].map((name) => path.join(root, name)) as [string, string];
  for (const directory of [some, all]) {
    fs.mkdirSync(directory);
    for (const plugin of ['bridge', 'host-local', 'loopback', 'portmap'])
      fs.writeFileSync(path.join(directory, plugin), '', { mode: 0o755 });
  }
  fs.rmSync(path.join(some, 'portmap'));
  assert.equal(findCniBinDir([path.join(root, 'none'), some, all]), all);
  assert.throws(
    () => findCniBinDir([some]),
    (error) => error instanceof IsletError && error.code === 'not-found',
  );
});

test('asking whether the OOM score may be lowered leaves it as it was', () => {
  const before = fs.readFileSync('/proc/self/oom_score_adj', 'utf8');
  assert.equal(typeof mayLowerOomScore(), 'boolean');
  assert.equal(fs.readFileSync('/proc/self/oom_score_adj', 'utf8'), before);
  const file = path.join(root, 'oom');
  fs.writeFileSync(file, '7\n');
  assert.equal(mayLowerOomScore(file), true);
  assert.equal(fs.readFileSync(file, 'utf8'), '7');
  fs.writeFileSync(file, '-1000');
  assert.equal(mayLowerOomScore(file), true);
});

test('the pause before a restart doubles to half a minute, with a tenth of jitter', () => {
  const delays = [1, 2, 3, 4, 7, 8, 100].map((failures) => restartDelayMs(failures, () => 0));
  assert.deepEqual(delays, [500, 1000, 2000, 4000, 30_000, 30_000, 30_000]);
  assert.equal(
    restartDelayMs(1, () => 0.5),
    525,
  );
});
