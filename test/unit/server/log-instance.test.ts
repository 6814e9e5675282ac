import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import type { ContainerStatus } from '../../../src/api/status.ts';
import { logFileOf } from '../../../src/server/log-file.ts';
import { selectLogInstance } from '../../../src/server/log-instance.ts';
import { ended, pod, status, temporaryDirectory, up } from './support.ts';

function select(given: ContainerStatus | undefined, previous = false) {
  const web = pod('web', { status: { containerStatuses: given ? [given] : [] } });
  const result = selectLogInstance(web, 'app', previous);
  if (!result.ok) return result.error;
  const { containerId, attempt, running } = result.instance;
  return [containerId, attempt, running];
}

const waiting = (reason: string) => ({ waiting: { reason } });

describe('the instance whose log is meant', () => {
  const again = up('app', {
    containerID: 'containerd://app-3',
    restartCount: 3,
    lastState: ended('app', 2),
  });
  const backOff = status('app', {
    state: waiting('CrashLoopBackOff'),
    lastState: ended('app', 3),
    containerID: 'containerd://app-3',
    restartCount: 3,
  });
  const done = status('app', {
    state: ended('app', 3, 0),
    containerID: 'containerd://app-3',
    restartCount: 3,
  });

  const withoutId = status('app', { ...backOff });
  delete withoutId.containerID;

  it('is the running one, or the one before it', () => {
    assert.deepEqual(select(again), ['containerd://app-3', 3, true]);
    assert.deepEqual(select(again, true), ['containerd://app-2', 2, false]);
  });

  it('is the last one that ran while the container waits for its next start', () => {
    assert.deepEqual(select(backOff), ['containerd://app-3', 3, false]);
    assert.deepEqual(select(backOff, true), ['containerd://app-3', 3, false]);
    assert.deepEqual(select(withoutId), ['containerd://app-3', 3, false]);
  });

  it('is the one before a new one that was made and not yet started', () => {
    const made = status('app', {
      state: { waiting: {} },
      lastState: ended('app', 2),
      containerID: 'containerd://app-3',
      restartCount: 3,
    });
    assert.deepEqual(select(made), ['containerd://app-2', 2, false]);
  });

  it('is the one that has ended', () => {
    assert.deepEqual(select(done), ['containerd://app-3', 3, false]);
    assert.deepEqual(select({ ...done, lastState: ended('app', 2) }, true), [
      'containerd://app-2',
      2,
      false,
    ]);
  });

  for (const [what, given, previous, message] of [
    ['no status', undefined, false, 'container "app" in pod "web-edge1" is not available'],
    [
      'no previous one',
      up('app'),
      true,
      'previous terminated container "app" in pod "web-edge1" not found',
    ],
    [
      'an image that cannot be pulled',
      status('app', { state: waiting('ErrImagePull') }),
      false,
      'container "app" in pod "web-edge1" is waiting to start: image can\'t be pulled',
    ],
    [
      'an image pull that is put off',
      status('app', { state: waiting('ImagePullBackOff') }),
      false,
      'container "app" in pod "web-edge1" is waiting to start: trying and failing to pull image',
    ],
    [
      'another wait',
      status('app', { state: waiting('ContainerCreating') }),
      false,
      'container "app" in pod "web-edge1" is waiting to start: ContainerCreating',
    ],
    [
      'an end without a container',
      status('app', { state: { terminated: { exitCode: 0 } } }),
      false,
      'container "app" in pod "web-edge1" is not available',
    ],
  ] as const) {
    it(`is none with ${what}`, () => assert.equal(select(given, previous), message));
  }
});

describe('the file of an instance', () => {
  it('is the newest that is not younger when numbers were skipped', async (t) => {
    const root = await temporaryDirectory(t);
    const directory = join(root, 'default_web-edge1_uid-web', 'app');
    await mkdir(directory, { recursive: true });
    for (const name of ['1.log', '7.log', '1.log.20260101-000000', 'x.log']) {
      await writeFile(join(directory, name), '');
    }
    const file = async (attempt: number, attemptIs: 'exact' | 'atMost') => {
      const instance = { containerId: '', running: false, attempt, attemptIs };
      return basename(await logFileOf(root, pod('web'), 'app', instance));
    };
    assert.equal(await file(6, 'atMost'), '1.log');
    assert.equal(await file(7, 'atMost'), '7.log');
    assert.equal(await file(6, 'exact'), '6.log');
  });
});
