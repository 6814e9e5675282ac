import assert from 'node:assert/strict';
import fs from 'node:fs';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { HostPathType } from '../../../src/api/volume.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { codeOf } from '../../../src/util/errors.ts';
import type { VolumeManager } from '../../../src/volume/manager.ts';
import { mountHolding, parseMountInfo } from '../../../src/volume/mount-table.ts';
import { Scratch, cannotMount, containerOf, managerOf, podWith, signal } from './support.ts';

const modeOf = (path: string): string => (fs.statSync(path).mode & 0o7777).toString(8);

async function pathOf(manager: VolumeManager, pod: Pod, volume: string): Promise<string> {
  const found = (await manager.setUp(pod, signal)).get(volume);
  assert.equal(found?.kind, 'path');
  return found.hostPath;
}

describe('VolumeManager', () => {
  let scratch: Scratch;
  let manager: VolumeManager;
  before(() => {
    scratch = new Scratch();
    fs.mkdirSync(scratch.root);
    manager = managerOf(scratch.root);
  });
  after(() => scratch.remove());

  describe('hostPath', () => {
    const setUp = (path: string, type?: HostPathType): Promise<unknown> => {
      const hostPath = type === undefined ? { path } : { path, type };
      return manager.setUp(podWith([{ name: 'x', hostPath }]), signal);
    };
    const refusal = (path: string, noun: string) => ({
      name: 'IsletError',
      message: `MountVolume.SetUp failed for volume "x" : hostPath type check failed: ${path} is not a ${noun}`,
    });

    it('takes any path as it is when no type is asked for', async () => {
      const found = await setUp('/nowhere/at/all');
      assert.deepEqual(
        found,
        new Map([
          [
            'x',
            { kind: 'path', hostPath: '/nowhere/at/all', readOnly: false, selinuxRelabel: false },
          ],
        ]),
      );
    });

    it('makes directories and files that are to be made', async () => {
      const dir = join(scratch.dir, 'made/deep');
      await setUp(dir, 'DirectoryOrCreate');
      assert.equal(modeOf(dir), '755');
      const file = join(dir, 'file');
      await setUp(file, 'FileOrCreate');
      assert.equal(modeOf(file), '644');
      fs.writeFileSync(file, 'kept');
      await setUp(file, 'FileOrCreate');
      assert.equal(fs.readFileSync(file, 'utf8'), 'kept');
      await assert.rejects(setUp(join(scratch.dir, 'absent/file'), 'FileOrCreate'));
      assert.equal(fs.existsSync(join(scratch.dir, 'absent')), false);
    });

    it('refuses what is something else than its type says', async () => {
      const file = join(scratch.dir, 'plain');
      fs.writeFileSync(file, '');
      const link = join(scratch.dir, 'link');
      fs.symlinkSync(file, link);
      const socket = join(scratch.dir, 'sock');
      const server = net.createServer().listen(socket);
      await once(server, 'listening');
      const cases: [HostPathType, string, string][] = [
        ['Directory', scratch.dir, 'directory'],
        ['DirectoryOrCreate', scratch.dir, 'directory'],
        ['File', link, 'file'],
        ['FileOrCreate', link, 'file'],
        ['Socket', socket, 'socket file'],
        ['CharDevice', '/dev/null', 'character device'],
      ];
      for (const [type, good, noun] of cases) {
        await setUp(good, type);
        const wrong = good === file || noun !== 'directory' ? scratch.dir : file;
        await assert.rejects(setUp(wrong, type), refusal(wrong, noun));
      }
      await assert.rejects(setUp('/dev/null', 'BlockDevice'), refusal('/dev/null', 'block device'));
      const absent = join(scratch.dir, 'absent');
      await assert.rejects(setUp(absent, 'Directory'), refusal(absent, 'directory'));
      server.close();
      await once(server, 'close');
    });

    it('refuses a path with steps back', async () => {
      await assert.rejects(setUp('/var/../etc'), {
        message:
          'MountVolume.SetUp failed for volume "x" : invalid HostPath `/var/../etc`: must not contain \'..\'',
      });
    });
  });

  it('sets up only volumes that a container mounts', async () => {
    const pod = podWith([{ name: 'used', emptyDir: {} }], {}, 'u-used');
    pod.spec.volumes?.push({ name: 'unused', nfs: {} });
    assert.deepEqual([...(await manager.setUp(pod, signal)).keys()], ['used']);
  });

  it('names every volume that it cannot set up', async () => {
    const pod = podWith([
      { name: 'b', nfs: { server: 'x' } },
      { name: 'a', configMap: { name: 'm' } },
      { name: 'c', emptyDir: {} },
    ]);
    await assert.rejects(manager.setUp(pod, signal), {
      name: 'IsletError',
      message:
        'MountVolume.SetUp failed for volume "a" : configmap "m" not found, ' +
        'MountVolume.SetUp failed for volume "b" : volumes of type nfs are not supported by islet',
    });
  });

  it('leaves image volumes to the runtime', async () => {
    const pod = podWith([{ name: 'i', image: { reference: 'example.test/data:1' } }]);
    const found = await manager.setUp(pod, signal);
    assert.deepEqual(found.get('i'), { kind: 'image', reference: 'example.test/data:1' });
  });

  it('makes an emptyDir that everybody may write, once', async () => {
    const pod = podWith([{ name: 'd', emptyDir: {} }], {}, 'u-disk');
    const umask = process.umask(0o077);
    const dir = await pathOf(manager, pod, 'd');
    process.umask(umask);
    assert.equal(dir, join(scratch.root, 'pods/u-disk/volumes/kubernetes.io~empty-dir/d'));
    assert.equal(modeOf(dir), '777');
    fs.writeFileSync(join(dir, 'f'), 'kept');
    fs.chmodSync(dir, 0o700);
    // As after a restart of the agent: another manager, the same disk.
    assert.equal(await pathOf(managerOf(scratch.root), pod, 'd'), dir);
    assert.equal(fs.readFileSync(join(dir, 'f'), 'utf8'), 'kept');
    assert.equal(modeOf(dir), '700');
  });

  it('refuses uids that lead out of the root', async () => {
    for (const uid of ['', '.', '..', '../x', 'a/b', 'a\0b', 'x'.repeat(256)]) {
      const isInvalid = (error: unknown): boolean => codeOf(error) === 'invalid';
      await assert.rejects(manager.setUp(podWith([], {}, uid), signal), isInvalid, uid);
      await assert.rejects(manager.tearDown(uid, signal), isInvalid, uid);
    }
  });

  it('lists the pods on disk', async () => {
    const fresh = managerOf(join(scratch.dir, 'other'));
    assert.deepEqual(await fresh.podsOnDisk(), []);
    fs.mkdirSync(join(scratch.dir, 'other/pods/u9'), { recursive: true });
    fs.writeFileSync(join(scratch.dir, 'other/pods/stray'), '');
    assert.deepEqual(await fresh.podsOnDisk(), ['u9']);
  });

  it(
    'gives an emptyDir to the fsGroup',
    { skip: process.getuid?.() !== 0 && 'needs root' },
    async () => {
      const pod = podWith(
        [{ name: 'd', emptyDir: {} }],
        { securityContext: { fsGroup: 3456 } },
        'u-fsg',
      );
      const dir = await pathOf(manager, pod, 'd');
      assert.equal(fs.statSync(dir).gid, 3456);
      assert.equal(modeOf(dir), '2777');
    },
  );

  describe('with mounts', { skip: cannotMount }, () => {
    it('mounts a tmpfs of the size asked for, and again after a reboot', async () => {
      const pod = podWith(
        [{ name: 'm', emptyDir: { medium: 'Memory', sizeLimit: '4Mi' } }],
        {},
        'u-mem',
      );
      const dir = await pathOf(manager, pod, 'm');
      const at = () => scratch.mounts().filter((m) => m.mountPoint === dir);
      assert.equal(at().length, 1);
      assert.equal(at()[0]?.fsType, 'tmpfs');
      assert.ok(at()[0]?.options.includes('size=4096k'));
      fs.writeFileSync(join(dir, 'f'), 'kept');
      await pathOf(managerOf(scratch.root), pod, 'm');
      assert.equal(at().length, 1);
      assert.equal(fs.readFileSync(join(dir, 'f'), 'utf8'), 'kept');
      execFileSync('umount', [dir]);
      await pathOf(managerOf(scratch.root), pod, 'm');
      assert.equal(at().length, 1);
      await manager.tearDown('u-mem', signal);
      assert.deepEqual(at(), []);
    });

    it('goes on where a crash left a mount without its marker', async () => {
      const pod = podWith([{ name: 'm', emptyDir: { medium: 'Memory' } }], {}, 'u-crash');
      const dir = await pathOf(manager, pod, 'm');
      fs.rmSync(join(scratch.root, 'pods/u-crash/plugins'), { recursive: true });
      await pathOf(manager, pod, 'm');
      assert.equal(scratch.mounts().filter((m) => m.mountPoint === dir).length, 1);
      const entry = scratch.mounts().find((m) => m.mountPoint === dir);
      assert.ok(entry?.options.includes(`size=${64 * 1024}k`), 'capped by what the node has');
    });

    it('takes away mounts, then data, and no data behind a mount', async () => {
      const host = join(scratch.dir, 'precious');
      fs.mkdirSync(host);
      fs.writeFileSync(join(host, 'f'), 'kept');
      const pod = podWith(
        [
          { name: 'm', emptyDir: { medium: 'Memory' } },
          { name: 'd', emptyDir: {} },
        ],
        {},
        'u-gone',
      );
      const mounted = await manager.setUp(pod, signal);
      const disk = mounted.get('d');
      const memory = mounted.get('m');
      assert.ok(disk?.kind === 'path' && memory?.kind === 'path');
      for (const at of [join(disk.hostPath, 'with space'), join(memory.hostPath, 'inner')]) {
        fs.mkdirSync(at);
        execFileSync('mount', ['--bind', host, at]);
      }
      fs.symlinkSync(host, join(disk.hostPath, 'link'));
      await manager.tearDown('u-gone', signal);
      assert.equal(fs.existsSync(join(scratch.root, 'pods/u-gone')), false);
      assert.equal(fs.readFileSync(join(host, 'f'), 'utf8'), 'kept');
      await manager.tearDown('u-gone', signal);
    });

    it('takes away a volume that somebody keeps busy', async () => {
      const pod = podWith([{ name: 'm', emptyDir: { medium: 'Memory' } }], {}, 'u-busy');
      const dir = await pathOf(manager, pod, 'm');
      const child = spawn('sleep', ['60'], { cwd: dir });
      await once(child, 'spawn');
      try {
        await manager.tearDown('u-busy', signal);
        assert.equal(fs.existsSync(join(scratch.root, 'pods/u-busy')), false);
      } finally {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    });

    it('writes downward API files that the volume group may read', async () => {
      const items = [
        { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
        { path: 'deep/name', fieldRef: { fieldPath: 'metadata.name' }, mode: 0o400 },
        { path: 'cpu', resourceFieldRef: { containerName: 'c', resource: 'limits.cpu' } },
      ];
      const pod = podWith([{ name: 'w', downwardAPI: { items } }], {}, 'u-down');
      pod.metadata.labels = { b: '2', a: '1' };
      pod.spec.securityContext = { fsGroup: 3456 };
      pod.spec.containers[0]?.volumeMounts?.push({ name: 'other', mountPath: '/w/sub/dir' });
      const mounted = (await manager.setUp(pod, signal)).get('w');
      assert.ok(mounted?.kind === 'path' && mounted.readOnly);
      const file = (name: string): string => join(mounted.hostPath, name);
      assert.equal(fs.readFileSync(file('labels'), 'utf8'), 'a="1"\nb="2"');
      assert.equal(fs.readFileSync(file('deep/name'), 'utf8'), 'p-node');
      assert.equal(fs.readFileSync(file('cpu'), 'utf8'), '2');
      assert.deepEqual([modeOf(file('labels')), modeOf(file('deep/name'))], ['644', '440']);
      assert.equal(fs.statSync(file('labels')).gid, 3456);
      assert.equal(fs.statSync(file('sub/dir')).isDirectory(), true);
    });

    it('passes on mounts of a volume that is to, and takes all of them away', async () => {
      const pod = podWith(
        [
          { name: 'd', emptyDir: {} },
          { name: 'm', emptyDir: { medium: 'Memory' } },
          { name: 'p', emptyDir: { medium: 'Memory' } },
        ],
        {},
        'u-share',
      );
      const [d, m] = pod.spec.containers[0]?.volumeMounts ?? [];
      Object.assign(d ?? {}, { mountPropagation: 'Bidirectional' });
      Object.assign(m ?? {}, { mountPropagation: 'HostToContainer' });
      const shared = (dir: string): boolean | undefined => {
        const table = parseMountInfo(fs.readFileSync('/proc/self/mountinfo', 'utf8'));
        return mountHolding(table, dir)?.shared;
      };
      for (const name of ['d', 'm']) {
        const dir = await pathOf(manager, pod, name);
        const before = scratch.mounts().length;
        await pathOf(managerOf(scratch.root), pod, name);
        assert.equal(scratch.mounts().length, before);
        assert.equal(shared(dir), true, name);
        fs.mkdirSync(join(dir, 'inner'));
        execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(dir, 'inner')]);
      }
      const own = await pathOf(manager, pod, 'p');
      assert.equal(shared(own), shared(scratch.root), 'as the host has it');
      await manager.tearDown('u-share', signal);
      assert.equal(
        scratch.mounts().some((one) => one.mountPoint.includes('u-share')),
        false,
      );
    });

    it('tears down through a root that is a link', async () => {
      const link = join(scratch.dir, 'root-link');
      fs.symlinkSync(scratch.root, link);
      const linked = managerOf(link);
      const pod = podWith([{ name: 'm', emptyDir: { medium: 'Memory' } }], {}, 'u-link');
      await pathOf(linked, pod, 'm');
      await pathOf(linked, pod, 'm');
      assert.equal(scratch.mounts().filter((m) => m.mountPoint.includes('u-link')).length, 1);
      await linked.tearDown('u-link', signal);
      assert.deepEqual(
        scratch.mounts().filter((m) => m.mountPoint.includes('u-link')),
        [],
      );
    });

    it('binds a sub path, makes what is missing of it, and follows a replaced file', async () => {
      const pod = podWith(
        [{ name: 'd', emptyDir: {} }],
        { securityContext: { fsGroup: 3456 } },
        'u-sub',
      );
      const mounted = await manager.setUp(pod, signal);
      const volume = mounted.get('d');
      assert.ok(volume?.kind === 'path');
      const container = containerOf([{ name: 'd', mountPath: '/one', subPath: 'a/b' }]);
      const prepare = (subPath: string): Promise<string> =>
        manager.prepareSubPath(pod, container, 0, volume, subPath, signal);
      const target = await prepare('a/b');
      assert.equal(target, join(scratch.root, 'pods/u-sub/volume-subpaths/d/c/0'));
      fs.writeFileSync(join(target, 'f'), 'seen');
      assert.equal(fs.readFileSync(join(volume.hostPath, 'a/b/f'), 'utf8'), 'seen');
      assert.equal(modeOf(join(volume.hostPath, 'a')), '2777');
      await prepare('a/b');
      const binds = () => scratch.mounts().filter((m) => m.mountPoint === target);
      assert.equal(binds().length, 1);

      await manager.tearDown('u-sub', signal);
      await manager.setUp(pod, signal);
      fs.writeFileSync(join(volume.hostPath, 'conf'), 'old');
      assert.equal(fs.readFileSync(await prepare('conf'), 'utf8'), 'old');
      fs.writeFileSync(join(volume.hostPath, 'conf.new'), 'new');
      fs.renameSync(join(volume.hostPath, 'conf.new'), join(volume.hostPath, 'conf'));
      assert.equal(fs.readFileSync(await prepare('conf'), 'utf8'), 'new');
      assert.equal(binds().length, 1);
    });
  });

  it('leaves nothing behind when all pods are taken away', { skip: cannotMount }, async () => {
    for (const uid of await manager.podsOnDisk()) await manager.tearDown(uid, signal);
    assert.deepEqual(fs.readdirSync(join(scratch.root, 'pods')), []);
    assert.deepEqual(scratch.mounts(), []);
  });
});
