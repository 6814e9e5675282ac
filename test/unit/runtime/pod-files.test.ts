import assert from 'node:assert/strict';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import { PodFiles } from '../../../src/runtime/pod-files.ts';
import { podOf } from '../../support/pods.ts';

function setUp(t: TestContext) {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'islet-files-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const at = (name: string): string => path.join(dir, name);
  const files = new PodFiles({
    rootDir: at('root'),
    podLogsDir: at('logs'),
    containerLogsDir: at('containers'),
    clusterDomain: '',
  });
  return { files, at, pod: podOf() };
}

async function logged(t: TestContext, runs: number[]) {
  const s = setUp(t);
  await s.files.ensurePodDirs(s.pod);
  await s.files.ensureContainerLogDir(s.pod, 'app');
  for (const n of runs) {
    writeFileSync(path.join(s.files.logDir(s.pod.metadata), 'app', `${n}.log`), 'x');
    await s.files.linkLog(s.pod, 'app', `id${n}`, n);
  }
  return s;
}

it('logs have a link where collectors look, one for each run', async (t) => {
  const { at } = await logged(t, [0, 1]);
  const want = ['web-edge1_default_app-id0.log', 'web-edge1_default_app-id1.log'];
  assert.deepEqual(readdirSync(at('containers')).sort(), want);
});

it('a removed pod leaves no log and no link, not even of runs that nobody remembers', async (t) => {
  const { files, at, pod } = await logged(t, [0, 1]);
  const foreign = path.join(at('containers'), 'web-edge1_default_app-other.log');
  symlinkSync('/somewhere/else.log', foreign);
  await files.removePodLogs(pod.metadata);
  assert.deepEqual(readdirSync(at('containers')), ['web-edge1_default_app-other.log']);
  assert.equal(existsSync(files.logDir(pod.metadata)), false);
});

it('the log of one run goes with its rotated parts and nothing else', async (t) => {
  const { files, pod } = await logged(t, [1, 10]);
  const dir = path.join(files.logDir(pod.metadata), 'app');
  writeFileSync(path.join(dir, '1.log.20260101-000000.gz'), 'x');
  await files.removeLog(pod.metadata, 'app', 'id1', 1);
  assert.deepEqual(readdirSync(dir), ['10.log']);
});

it('the number of the last run is read from the logs', async (t) => {
  const { files, pod } = await logged(t, [0, 2, 10]);
  assert.equal(await files.lastLogNumber(pod, 'app'), 10);
  assert.equal(await files.lastLogNumber(pod, 'none'), undefined);
});

it('any user of the container may write its termination message', async (t) => {
  const { files, pod } = setUp(t);
  const file = await files.createTerminationLog(pod, 'app');
  assert.equal(statSync(file).mode & 0o777, 0o666);
  await files.removeTerminationLog(pod.metadata.uid, '/etc/hostname');
  assert.ok(existsSync('/etc/hostname'));
  await files.removeTerminationLog(pod.metadata.uid, file);
  assert.equal(existsSync(file), false);
});
