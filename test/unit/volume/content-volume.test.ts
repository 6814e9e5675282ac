import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import type { Volume } from '../../../src/api/volume.ts';
import { expectedVolumes } from '../../../src/volume/expected.ts';
import type { VolumeManager } from '../../../src/volume/manager.ts';
import { Objects, Scratch, cannotMount, managerOf, podWith, signal } from './support.ts';

const modeOf = (path: string): string => (fs.statSync(path).mode & 0o7777).toString(8);

describe('volumes with content of the agent', { skip: cannotMount }, () => {
  let scratch: Scratch;
  let objects: Objects;
  let manager: VolumeManager;
  let count = 0;
  before(() => {
    scratch = new Scratch();
    fs.mkdirSync(scratch.root);
  });
  after(() => scratch.remove());
  beforeEach(() => {
    objects = new Objects();
    objects.putConfigMap('conf', { a: '1', b: '2' });
    objects.putSecret('key', { password: 'hunter2' });
    manager = managerOf(scratch.root, { objects });
  });

  const podOf = (volumes: Volume[], fsGroup?: number): Pod =>
    podWith(volumes, { securityContext: fsGroup === undefined ? {} : { fsGroup } }, `u${count++}`);
  const setUp = async (pod: Pod, name = 'v', by = manager): Promise<string> => {
    const found = (await by.setUp(pod, signal)).get(name);
    assert.ok(found?.kind === 'path' && found.readOnly && found.selinuxRelabel);
    return found.hostPath;
  };
  const contentOf = (dir: string): Record<string, string> =>
    Object.fromEntries(
      fs
        .readdirSync(dir)
        .filter((name) => !name.startsWith('..'))
        .map((name) => [name, fs.readFileSync(join(dir, name), 'utf8')]),
    );
  const fsTypeAt = (dir: string): string | undefined =>
    scratch.mounts().find((m) => m.mountPoint === dir)?.fsType;
  const version = (dir: string): string => fs.readlinkSync(join(dir, '..data'));
  const configMap: Volume = { name: 'v', configMap: { name: 'conf' } };
  const secret: Volume = { name: 'v', secret: { secretName: 'key', defaultMode: 0o400 } };

  it('keeps ConfigMaps on the disk, and what may be secret in memory', async () => {
    const projected = { sources: [{ secret: { name: 'key' } }] };
    const pod = podOf([
      { name: 'c', configMap: { name: 'conf' } },
      { name: 's', secret: { secretName: 'key' } },
      { name: 'p', projected },
    ]);
    const dir = (plugin: string, name: string): string =>
      join(scratch.root, `pods/${pod.metadata.uid}/volumes/kubernetes.io~${plugin}/${name}`);
    assert.equal(await setUp(pod, 'c'), dir('configmap', 'c'));
    assert.equal(await setUp(pod, 's'), dir('secret', 's'));
    assert.equal(await setUp(pod, 'p'), dir('projected', 'p'));
    assert.equal(fsTypeAt(dir('configmap', 'c')), undefined);
    assert.equal(modeOf(dir('configmap', 'c')), '777');
    assert.equal(fsTypeAt(dir('secret', 's')), 'tmpfs');
    assert.equal(fsTypeAt(dir('projected', 'p')), 'tmpfs');
    assert.equal(fs.readFileSync(join(dir('projected', 'p'), 'password'), 'utf8'), 'hunter2');
    await manager.tearDown(pod.metadata.uid, signal);
    assert.deepEqual(scratch.mounts(), []);
  });

  it('is where it is expected', async () => {
    const pod = podOf([
      { name: 'c', configMap: { name: 'conf' } },
      { name: 's', secret: { secretName: 'key' } },
      { name: 'p', projected: {} },
      { name: 'd', downwardAPI: { items: [] } },
      { name: 'e', emptyDir: {} },
      { name: 'h', hostPath: { path: '/tmp' } },
      { name: 'i', image: { reference: 'example.test/x' } },
    ]);
    const found = await manager.setUp(pod, signal);
    assert.deepEqual(
      new Map([...found].sort()),
      new Map(
        [...expectedVolumes(pod, { rootDir: scratch.root, persistentVolumeDir: '/claims' })].sort(),
      ),
    );
  });

  it('lets the fsGroup read, and only read', async () => {
    const pod = podOf([secret], 3456);
    const file = join(await setUp(pod), 'password');
    assert.deepEqual([modeOf(file), fs.statSync(file).gid], ['440', 3456]);
    objects.putSecret('key', { password: 'other' });
    await manager.refresh(pod, signal);
    assert.deepEqual([modeOf(file), fs.statSync(file).gid], ['440', 3456]);
    assert.equal(fs.readFileSync(file, 'utf8'), 'other');
  });

  it('leaves nothing of a volume that cannot be set up', async () => {
    const pod = podOf([{ name: 'v', secret: { secretName: 'gone' } }]);
    const message = 'MountVolume.SetUp failed for volume "v" : secret "gone" not found';
    await assert.rejects(manager.setUp(pod, signal), { code: 'not-found', message });
    const volumes = join(scratch.root, `pods/${pod.metadata.uid}/volumes`);
    assert.equal(fs.existsSync(volumes), false);
    const items = [
      { key: 'password', path: 'x' },
      { key: 'password', path: 'x/y' },
    ];
    const bad = podOf([{ name: 'v', secret: { secretName: 'key', items } }]);
    await assert.rejects(manager.setUp(bad, signal), { code: 'invalid' });
    const parts = `pods/${bad.metadata.uid}/volumes/kubernetes.io~secret`;
    assert.deepEqual(fs.readdirSync(join(scratch.root, parts)), []);
    assert.equal(
      scratch.mounts().some((m) => m.mountPoint.includes(parts)),
      false,
    );
    objects.putSecret('gone', { k: 'v' });
    assert.deepEqual(contentOf(await setUp(pod)), { k: 'v' });
  });

  it('makes room for mounts below it', async () => {
    const pod = podOf([configMap]);
    pod.spec.containers[0]?.volumeMounts?.push({ name: 'other', mountPath: '/v/sub/dir/' });
    const dir = await setUp(pod);
    assert.equal(fs.statSync(join(dir, 'sub/dir')).isDirectory(), true);
    assert.equal(fs.readFileSync(join(dir, 'a'), 'utf8'), '1');
  });

  describe('refresh', () => {
    it('changes the files when an object changed, and writes nothing else', async () => {
      const pod = podOf([configMap]);
      const dir = await setUp(pod);
      const first = version(dir);
      await manager.refresh(pod, signal);
      assert.equal(version(dir), first);
      objects.putConfigMap('conf', { a: '1', b: '2' });
      await manager.refresh(pod, signal);
      assert.equal(version(dir), first, 'another object, the same content');
      objects.putConfigMap('conf', { a: 'new', c: '3' });
      await manager.refresh(pod, signal);
      assert.deepEqual(contentOf(dir), { a: 'new', c: '3' });
    });

    it('does not even look at the disk when nothing changed', async () => {
      const pod = podOf([configMap, { name: 'w', emptyDir: {} }]);
      const dir = await setUp(pod);
      fs.rmSync(join(dir, '..data'));
      await manager.refresh(pod, signal);
      assert.equal(fs.existsSync(join(dir, '..data')), false);
    });

    it('works for volumes that an earlier agent has set up', async () => {
      const pod = podOf([secret]);
      const dir = await setUp(pod);
      objects.putSecret('key', { password: 'changed' });
      await managerOf(scratch.root, { objects }).refresh(pod, signal);
      assert.deepEqual(contentOf(dir), { password: 'changed' });
      assert.equal(scratch.mounts().filter((m) => m.mountPoint === dir).length, 1);
    });

    it('keeps the old content of what is gone, and says so', async () => {
      const pod = podOf([
        configMap,
        { name: 's', secret: { secretName: 'key' } },
        { name: 'd', downwardAPI: { items: [] } },
      ]);
      const dir = await setUp(pod);
      objects.remove('conf');
      objects.remove('key');
      const rejection = {
        name: 'IsletError',
        message:
          'MountVolume.SetUp failed for volume "s" : secret "key" not found, ' +
          'MountVolume.SetUp failed for volume "v" : configmap "conf" not found',
      };
      await assert.rejects(manager.refresh(pod, signal), rejection);
      await assert.rejects(manager.refresh(pod, signal), rejection);
      assert.deepEqual(contentOf(dir), { a: '1', b: '2' });
      // A container of it that has to be started again finds what the others have.
      assert.equal(await setUp(pod), dir);
      assert.equal(await setUp(pod, 'v', managerOf(scratch.root, { objects })), dir);
      assert.deepEqual(contentOf(dir), { a: '1', b: '2' });
      objects.putConfigMap('conf', { a: 'back' });
      objects.putSecret('key', {});
      await manager.refresh(pod, signal);
      assert.deepEqual(contentOf(dir), { a: 'back' });
    });

    it('makes nothing of a volume that is not set up', async () => {
      const pod = podOf([configMap, { name: 's', secret: { secretName: 'key' } }]);
      await manager.refresh(pod, signal);
      assert.equal(fs.existsSync(join(scratch.root, `pods/${pod.metadata.uid}`)), false);
    });

    it('never writes a Secret to the disk below a lost mount', async () => {
      const pod = podOf([secret]);
      const dir = await setUp(pod);
      execFileSync('umount', [dir]);
      objects.putSecret('key', { password: 'changed' });
      await manager.refresh(pod, signal);
      assert.deepEqual(fs.readdirSync(dir), []);
      await setUp(pod);
      assert.equal(fsTypeAt(dir), 'tmpfs');
      assert.deepEqual(contentOf(dir), { password: 'changed' });
    });

    it('takes an immutable object that was removed and added again for what it is now', async () => {
      objects.putConfigMap('fixed', { a: '1' }, { immutable: true });
      const pod = podOf([{ name: 'v', configMap: { name: 'fixed' } }]);
      const dir = await setUp(pod);
      objects.remove('fixed');
      await assert.rejects(manager.refresh(pod, signal), /configmap "fixed" not found/);
      assert.deepEqual(contentOf(dir), { a: '1' });
      objects.putConfigMap('fixed', { a: '2' }, { immutable: true });
      await manager.refresh(pod, signal);
      assert.deepEqual(contentOf(dir), { a: '2' });
    });

    it('shows readers the old or the new content, never a mix', async () => {
      const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
      const put = (value: string): void =>
        objects.putConfigMap('conf', Object.fromEntries(keys.map((key) => [key, value])));
      put('0');
      const pod = podOf([configMap]);
      const dir = await setUp(pod);
      let done = false;
      const reader = (async () => {
        let seen = 0;
        while (!done) {
          // One directory is one version: what a reader that holds on to it sees.
          const held = await fs.promises.open(join(dir, '..data'), 'r');
          const values = keys.map((key) => {
            try {
              return fs.readFileSync(`/proc/self/fd/${held.fd}/${key}`, 'utf8');
            } catch {
              return undefined;
            }
          });
          await held.close();
          const there = new Set(values.filter((value) => value !== undefined));
          assert.ok(there.size <= 1, [...there].join(' and '));
          seen++;
        }
        return seen;
      })();
      for (let i = 1; i <= 50; i++) {
        put(String(i));
        await manager.refresh(pod, signal);
        assert.equal(fs.readFileSync(join(dir, 'k7'), 'utf8'), String(i));
      }
      done = true;
      assert.ok((await reader) > 0);
    });
  });
});
