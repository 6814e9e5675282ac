import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Pod, PodSpec } from '../../../src/api/pod.ts';
import { containerDevices } from '../../../src/runtime/devices.ts';
import { expectedVolumes } from '../../../src/volume/expected.ts';
import type { VolumeManager } from '../../../src/volume/manager.ts';
import type { MountedVolume } from '../../../src/volume/model.ts';
import { Scratch, containerOf, managerOf, podWith, signal } from './support.ts';

const modeOf = (path: string): string => (fs.statSync(path).mode & 0o7777).toString(8);

describe('persistentVolumeClaim', () => {
  let scratch: Scratch;
  let claims: string;
  let manager: VolumeManager;
  let count = 0;
  before(() => {
    scratch = new Scratch();
    fs.mkdirSync(scratch.root);
  });
  after(() => scratch.remove());
  beforeEach(() => {
    claims = join(scratch.dir, `claims${count}`);
    manager = managerOf(scratch.root, { persistentVolumeDir: claims });
  });

  const podOf = (more: { readOnly?: boolean } = {}, spec: Partial<PodSpec> = {}): Pod =>
    podWith(
      [{ name: 'v', persistentVolumeClaim: { claimName: 'data', ...more } }],
      spec,
      `u${count++}`,
    );
  const devicePod = (more: { readOnly?: boolean } = {}): Pod => {
    const pod = podOf(more);
    pod.spec.containers = [
      containerOf(undefined, { volumeDevices: [{ name: 'v', devicePath: '/dev/xvda' }] }),
    ];
    return pod;
  };
  const setUp = async (pod: Pod): Promise<MountedVolume> => {
    const found = (await manager.setUp(pod, signal)).get('v');
    assert.ok(found);
    return found;
  };
  const refuses = (pod: Pod, message: string): Promise<void> =>
    assert.rejects(manager.setUp(pod, signal), {
      code: 'invalid',
      message: `MountVolume.SetUp failed for volume "v" : ${message}`,
    });

  it('is a directory that outlives its pods', async () => {
    const umask = process.umask(0o077);
    const pod = podOf();
    const found = await setUp(pod);
    process.umask(umask);
    const dir = join(claims, 'default/data');
    assert.deepEqual(found, { kind: 'path', hostPath: dir, readOnly: false, selinuxRelabel: true });
    assert.deepEqual([modeOf(dir), modeOf(join(dir, '..'))], ['777', '700']);
    const expected = expectedVolumes(pod, { rootDir: scratch.root, persistentVolumeDir: claims });
    assert.deepEqual(expected.get('v'), found);
    fs.writeFileSync(join(dir, 'f'), 'kept');
    fs.chmodSync(dir, 0o750);
    await manager.tearDown(pod.metadata.uid, signal);
    await setUp(podOf());
    assert.equal(fs.readFileSync(join(dir, 'f'), 'utf8'), 'kept');
    assert.equal(modeOf(dir), '750');
  });

  it('is read-only where the pod says so', async () => {
    const found = await setUp(podOf({ readOnly: true }));
    assert.ok(found.kind === 'path' && found.readOnly);
  });

  it('may be a link to another disk, but not one that leads nowhere', async () => {
    const disk = join(scratch.dir, 'disk');
    fs.mkdirSync(join(claims, 'default'), { recursive: true });
    fs.symlinkSync(disk, join(claims, 'default/data'));
    const link = join(claims, 'default/data');
    const text = `persistentvolumeclaim "data": ${link} is a link to ${disk}, where nothing is`;
    await refuses(podOf(), text);
    assert.equal(fs.existsSync(disk), false);
    fs.mkdirSync(disk);
    const found = await setUp(podOf());
    assert.ok(found.kind === 'path');
    assert.equal(found.hostPath, disk);
  });

  it('never leads out of its directory', async () => {
    for (const claimName of ['..', '.', 'a/b', '../x', '']) {
      const pod = podWith([{ name: 'v', persistentVolumeClaim: { claimName } }]);
      const text = `claim name ${JSON.stringify(claimName)} is no name of a directory`;
      await refuses(pod, text);
    }
    assert.equal(fs.existsSync(claims), false);
  });

  describe('as a block device', { skip: process.getuid?.() !== 0 && 'needs root' }, () => {
    const device = (): string => {
      const node = join(scratch.dir, `node${count}`);
      execFileSync('mknod', [node, 'b', '7', '250']);
      fs.mkdirSync(join(claims, 'default'), { recursive: true });
      fs.symlinkSync(node, join(claims, 'default/data'));
      return node;
    };

    it('is passed to the containers that ask for it', async () => {
      const node = device();
      for (const [readOnly, permissions] of [
        [false, 'mrw'],
        [true, 'r'],
      ] as const) {
        const pod = devicePod({ readOnly });
        const volumes = await manager.setUp(pod, signal);
        assert.deepEqual(volumes.get('v'), { kind: 'device', hostPath: node, readOnly });
        const [container] = pod.spec.containers;
        assert.ok(container);
        assert.deepEqual(containerDevices(container, volumes), [
          { containerPath: '/dev/xvda', hostPath: node, permissions },
        ]);
      }
    });

    it('cannot be mounted, nor a directory be passed', async () => {
      const { name } = { name: 'v' };
      await refuses(
        devicePod(),
        `persistentvolumeclaim "data": ${claims}/default/data is not there; it is to be a block device or a link to one`,
      );
      device();
      await refuses(
        podOf(),
        `volume ${name} has volumeMode Block, but is specified in volumeMounts`,
      );
      fs.rmSync(join(claims, 'default/data'));
      fs.mkdirSync(join(claims, 'default/data'));
      await refuses(
        devicePod(),
        `volume ${name} has volumeMode Filesystem, but is specified in volumeDevices`,
      );
      fs.rmdirSync(join(claims, 'default/data'));
      fs.writeFileSync(join(claims, 'default/data'), '');
      await refuses(
        podOf(),
        `persistentvolumeclaim "data": ${claims}/default/data is neither a directory nor a block device`,
      );
    });

    it('is missed by name', () => {
      const container = containerOf(undefined, {
        volumeDevices: [{ name: 'v', devicePath: '/dev/xvda' }],
      });
      assert.throws(() => containerDevices(container, new Map()), {
        reason: 'CreateContainerConfigError',
        message: 'cannot find volume "v" to pass into container "c"',
      });
    });
  });

  describe('with an fsGroup', { skip: process.getuid?.() !== 0 && 'needs root' }, () => {
    const securityContext = { fsGroup: 3456 };
    const gidOf = (path: string): number => fs.statSync(path).gid;

    it('belongs to the group before the pod starts, and is then left alone', async () => {
      const dir = join(claims, 'default/data');
      fs.mkdirSync(dir, { recursive: true });
      fs.writeFileSync(join(dir, 'f'), '', { mode: 0o600 });
      const pod = podOf({}, { securityContext });
      await setUp(pod);
      assert.deepEqual([gidOf(dir), modeOf(dir)], [3456, '2775']);
      assert.deepEqual([gidOf(join(dir, 'f')), modeOf(join(dir, 'f'))], [3456, '660']);
      fs.chownSync(join(dir, 'f'), 0, 0);
      manager = managerOf(scratch.root, { persistentVolumeDir: claims });
      await setUp(pod);
      assert.equal(gidOf(join(dir, 'f')), 0);
      await setUp(podOf({ readOnly: true }, { securityContext }));
      assert.equal(gidOf(join(dir, 'f')), 0);
      await setUp(podOf({}, { securityContext }));
      assert.equal(gidOf(join(dir, 'f')), 3456);
    });

    it('is looked through only if its root does not belong to the group, when told so', async () => {
      const lazily = { ...securityContext, fsGroupChangePolicy: 'OnRootMismatch' };
      const dir = join(claims, 'default/data');
      fs.mkdirSync(dir, { recursive: true });
      const file = join(dir, 'f');
      fs.writeFileSync(file, '');
      await setUp(podOf({}, { securityContext: lazily }));
      assert.equal(gidOf(file), 3456);
      fs.chownSync(file, 0, 0);
      await setUp(podOf({}, { securityContext: lazily }));
      assert.equal(gidOf(file), 0);
      // Group, setgid and every bit of the mode count.
      for (const spoil of [
        () => fs.chmodSync(dir, 0o775),
        () => fs.chmodSync(dir, 0o2750),
        () => fs.chownSync(dir, 0, 7),
      ]) {
        spoil();
        fs.chownSync(file, 0, 0);
        await setUp(podOf({}, { securityContext: lazily }));
        assert.equal(gidOf(file), 3456);
      }
    });
  });
});
