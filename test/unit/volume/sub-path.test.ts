import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import type { VolumeManager } from '../../../src/volume/manager.ts';
import type { MountedVolume } from '../../../src/volume/model.ts';
import { Scratch, cannotMount, containerOf, managerOf, podWith, signal } from './support.ts';

const modeOf = (path: string): string => (fs.statSync(path).mode & 0o7777).toString(8);

describe('sub paths', { skip: cannotMount }, () => {
  let scratch: Scratch;
  let manager: VolumeManager;
  let host: string;
  let outside: string;
  let pod: Pod;
  let volume: MountedVolume;
  let count = 0;
  before(() => {
    scratch = new Scratch();
    fs.mkdirSync(scratch.root);
    manager = managerOf(scratch.root);
  });
  after(() => scratch.remove());
  beforeEach(async () => {
    host = join(scratch.dir, `host${count}`);
    outside = join(scratch.dir, `outside${count}`);
    fs.mkdirSync(host);
    fs.mkdirSync(outside);
    fs.writeFileSync(join(outside, 'precious'), 'kept');
    pod = podWith([{ name: 'v', hostPath: { path: host } }], {}, `u${count++}`);
    const found = (await manager.setUp(pod, signal)).get('v');
    assert.ok(found);
    volume = found;
  });

  const container = containerOf([{ name: 'v', mountPath: '/one', subPath: 'x' }]);
  const prepare = (subPath: string, by = manager): Promise<string> =>
    by.prepareSubPath(pod, container, 0, volume, subPath, signal);
  const bindsAt = (target: string): number =>
    scratch.mounts().filter((m) => m.mountPoint === target).length;
  const refuses = (subPath: string, what: 'prepare' | 'create', message: RegExp | string) => {
    const begin =
      what === 'create'
        ? 'failed to create subPath directory for'
        : 'failed to prepare subPath for';
    const text = `${begin} volumeMount "v" of container "c": ${String(message)}`;
    return assert.rejects(prepare(subPath), { code: 'invalid', message: text });
  };

  it('are made with the mode and the group of the volume, whatever the umask', async () => {
    fs.chownSync(host, 0, 3456);
    fs.chmodSync(host, 0o2771);
    const umask = process.umask(0o077);
    const target = await prepare('a/./b//c/');
    process.umask(umask);
    assert.equal(bindsAt(target), 1);
    for (const dir of ['a', 'a/b', 'a/b/c']) {
      assert.equal(modeOf(join(host, dir)), '2771');
      assert.equal(fs.statSync(join(host, dir)).gid, 3456);
    }
    fs.chmodSync(join(host, 'a'), 0o700);
    await prepare('a/other');
    assert.equal(modeOf(join(host, 'a')), '700', 'what was there stays as it was');
  });

  it('may be asked for by two containers at once', async () => {
    const second = containerOf([{ name: 'v', mountPath: '/one' }], { name: 'd' });
    const both = [container, second].map((c) =>
      manager.prepareSubPath(pod, c, 0, volume, 'new/dir', signal),
    );
    const [a = '', b = ''] = await Promise.all(both);
    fs.writeFileSync(join(a, 'f'), 'shared');
    assert.equal(fs.readFileSync(join(b, 'f'), 'utf8'), 'shared');
  });

  it('are found in a volume that is a link itself', async () => {
    const link = join(scratch.dir, `link${count}`);
    fs.symlinkSync(host, link);
    volume = { kind: 'path', hostPath: link, readOnly: false, selinuxRelabel: false };
    fs.writeFileSync(join(await prepare('d'), 'f'), '');
    assert.equal(fs.existsSync(join(host, 'd/f')), true);
  });

  it('follow links inside of the volume, and none that leads out or nowhere', async () => {
    fs.mkdirSync(join(host, 'in'));
    fs.symlinkSync('in', join(host, 'alias'));
    fs.symlinkSync('../in', join(host, 'in/up'));
    fs.symlinkSync(outside, join(host, 'away'));
    fs.symlinkSync('/nowhere', join(host, 'dangling'));
    fs.symlinkSync('loop', join(host, 'loop'));
    fs.writeFileSync(join(await prepare('alias/up/deep'), 'f'), '');
    assert.equal(fs.existsSync(join(host, 'in/deep/f')), true);
    await refuses('away', 'prepare', `${outside} is outside of the volume ${host}`);
    await refuses(
      'away/precious',
      'prepare',
      `${outside}/precious is outside of the volume ${host}`,
    );
    await refuses('away/new', 'create', `${outside} is outside of the volume ${host}`);
    await refuses('dangling', 'create', `unexpected symlink found ${host}/dangling`);
    await refuses('dangling/new', 'create', `unexpected symlink found ${host}/dangling/new`);
    await refuses('in/../../x', 'create', 'sub path "in/../../x" leads out of its volume');
    await refuses('/etc', 'create', 'sub path "/etc" leads out of its volume');
    await assert.rejects(prepare('loop'), { name: 'IsletError' });
    await assert.rejects(prepare('away/precious/x'), { name: 'IsletError' });
    assert.deepEqual(fs.readdirSync(outside), ['precious']);
    assert.equal(bindsAt(join(scratch.root, `pods/${pod.metadata.uid}/volume-subpaths/v/c/0`)), 1);
  });

  it('are bound anew when a file has been replaced, by a file or by a directory', async () => {
    const path = join(host, 'conf');
    fs.writeFileSync(path, 'old');
    const target = await prepare('conf');
    assert.equal(await prepare('conf', managerOf(scratch.root)), target);
    assert.equal(bindsAt(target), 1);
    fs.writeFileSync(`${path}.new`, 'new');
    fs.renameSync(`${path}.new`, path);
    assert.equal(fs.readFileSync(await prepare('conf'), 'utf8'), 'new');
    fs.rmSync(path);
    fs.mkdirSync(path);
    fs.writeFileSync(join(path, 'f'), 'in a directory');
    assert.equal(fs.readFileSync(join(await prepare('conf'), 'f'), 'utf8'), 'in a directory');
    fs.rmSync(path, { recursive: true });
    fs.writeFileSync(path, 'a file again');
    assert.equal(fs.readFileSync(await prepare('conf'), 'utf8'), 'a file again');
    assert.equal(bindsAt(target), 1);
  });

  it('replace whatever else is mounted on their target', async () => {
    fs.mkdirSync(join(host, 'd'));
    const target = await prepare('d');
    execFileSync('mount', ['--bind', outside, target]);
    execFileSync('mount', ['--bind', outside, target]);
    await prepare('d');
    assert.equal(bindsAt(target), 1);
    assert.equal(fs.existsSync(join(target, 'precious')), false);
  });

  it('are gone with their pod, also for an agent that did not make them, and their data is not', async () => {
    fs.mkdirSync(join(host, 'd'));
    fs.writeFileSync(join(host, 'd/f'), 'kept');
    fs.writeFileSync(join(host, 'file'), 'kept');
    await prepare('d');
    const second = containerOf([{ name: 'v', mountPath: '/one' }], { name: 'gone' });
    await manager.prepareSubPath(pod, second, 0, volume, 'file', signal);
    const { uid } = pod.metadata;
    await managerOf(scratch.root).tearDown(uid, signal);
    assert.equal(
      scratch.mounts().some((m) => m.mountPoint.includes(`/${uid}/`)),
      false,
    );
    assert.equal(fs.existsSync(join(scratch.root, 'pods', uid)), false);
    assert.equal(fs.readFileSync(join(host, 'd/f'), 'utf8'), 'kept');
    assert.equal(fs.readFileSync(join(host, 'file'), 'utf8'), 'kept');
  });

  it('stay inside while a container swaps directories for links', async () => {
    // Whoever has made `d` meanwhile, it is replaced.
    const swap = `
      const fs = require('fs');
      const attempt = (action) => { try { action(); } catch {} };
      const replace = (make) => {
        attempt(() => fs.renameSync('d', 'old'));
        attempt(make);
        fs.rmSync('old', { recursive: true, force: true });
        const end = process.hrtime.bigint() + BigInt(Math.floor(Math.random() * 3e6));
        while (process.hrtime.bigint() < end);
      };
      for (;;) {
        replace(() => fs.mkdirSync('d'));
        replace(() => fs.symlinkSync('${outside}', 'd'));
      }`;
    const attacker = spawn(process.execPath, ['-e', swap], { cwd: host, stdio: 'ignore' });
    const exited = once(attacker, 'exit');
    let bound = 0;
    let refused = 0;
    try {
      while (!fs.existsSync(join(host, 'd'))) await new Promise(setImmediate);
      for (let i = 0; i < 2000 && (bound < 8 || refused < 8); i++) {
        try {
          const target = await prepare(i % 2 === 0 ? 'd' : `d/new${i}`);
          bound++;
          assert.notEqual(fs.statSync(target).ino, fs.statSync(outside).ino);
          assert.equal(fs.existsSync(join(target, 'precious')), false);
        } catch (error) {
          if ((error as Error).name !== 'IsletError') throw error;
          refused++;
        }
      }
    } finally {
      attacker.kill('SIGKILL');
      await exited;
    }
    assert.deepEqual(fs.readdirSync(outside), ['precious']);
    assert.ok(bound > 0 && refused > 0, `${bound} bound, ${refused} refused`);
  });
});
