import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { createLogger } from '../../../src/util/log.ts';
import { applyFsGroup } from '../../../src/volume/fs-group.ts';
import { giveToGroup } from '../../../src/volume/ownership.ts';
import { ManualClock } from '../../support/clock.ts';
import { Scratch, podWith, signal } from './support.ts';

describe(
  'giving a volume to the fsGroup',
  {
    skip: process.getuid?.() !== 0 && 'changing owners needs root',
  },
  () => {
    const scratch = new Scratch();
    let dir = '';
    let count = 0;
    after(() => scratch.remove());
    beforeEach(() => {
      dir = join(scratch.dir, `u1-${count++}`);
      fs.mkdirSync(dir);
    });

    it('says so when it takes long, and how far it is', async () => {
      for (let i = 0; i < 300; i++) fs.writeFileSync(join(dir, String(i)), '');
      const clock = new ManualClock();
      const said: string[] = [];
      const events = {
        event: (...[{ name }, type, reason, message]: [{ name: string }, string, string, string]) =>
          said.push(`${name} ${type} ${reason} ${message}`),
      };
      const logger = createLogger({ sink: { write: () => true }, level: 'error', wall: () => 0 });
      const pod = podWith([], { securityContext: { fsGroup: 3456 } }, 'u1');
      const work = giveToGroup(pod, { dir, readOnly: false }, { clock, logger, events }, signal);
      await clock.advance(29_999);
      assert.deepEqual(said, []);
      await clock.advance(1);
      await clock.advance(60_000);
      await clock.advance(60_000);
      await work;
      const begin = 'p-node Warning VolumePermissionChangeInProgress Setting volume ownership for';
      const shown = dir.slice(dir.indexOf('u1-'));
      assert.equal(said.length, 3);
      assert.equal(
        said[0],
        `${begin} ${shown} is taking longer than expected, consider using OnRootMismatch - ` +
          'https://kubernetes.io/docs/tasks/configure-pod-container/security-context/' +
          '#configure-volume-permission-and-ownership-change-policy-for-pods',
      );
      for (const line of said.slice(1)) {
        const done = /, processed (\d+) files\.$/.exec(line);
        assert.ok(done && Number(done[1]) < 300, line);
      }
      await clock.advance(600_000);
      assert.equal(said.length, 3);
      assert.equal(clock.sleeping, 0);
    });

    it('gives away nothing outside, whoever swaps entries for links meanwhile', async () => {
      const outside = join(scratch.dir, 'outside');
      fs.mkdirSync(join(outside, 'd'), { recursive: true });
      fs.writeFileSync(join(outside, 'secret'), '', { mode: 0o600 });
      fs.writeFileSync(join(outside, 'd/secret'), '', { mode: 0o600 });
      const swap = `
      const fs = require('fs');
      for (;;) {
        fs.writeFileSync('t', ''); fs.renameSync('t', 'f');
        fs.symlinkSync('${outside}/secret', 't'); fs.renameSync('t', 'f');
        fs.mkdirSync('d'); fs.writeFileSync('d/secret', '');
        fs.rmSync('d', { recursive: true });
        fs.symlinkSync('${outside}/d', 'd'); fs.unlinkSync('d');
      }`;
      const attacker = spawn(process.execPath, ['-e', swap], { cwd: dir, stdio: 'ignore' });
      const exited = once(attacker, 'exit');
      try {
        while (!fs.existsSync(join(dir, 'f'))) await new Promise(setImmediate);
        const options = { gid: 3456, readOnly: false, signal, onError: () => undefined };
        for (let i = 0; i < 800; i++) await applyFsGroup(dir, options);
      } finally {
        attacker.kill('SIGKILL');
        await exited;
      }
      for (const path of ['secret', 'd', 'd/secret'].map((name) => join(outside, name))) {
        assert.equal(fs.statSync(path).gid, 0, path);
      }
      assert.equal(fs.statSync(join(outside, 'secret')).mode & 0o777, 0o600);
    });

    it('leaves alone what belongs to the group', async () => {
      fs.writeFileSync(join(dir, 'f'), '');
      const options = { gid: 3456, readOnly: false, signal, onError: () => assert.fail() };
      await applyFsGroup(dir, options);
      const before = fs.statSync(join(dir, 'f')).ctimeMs;
      await applyFsGroup(dir, options);
      assert.equal(fs.statSync(join(dir, 'f')).ctimeMs, before);
    });

    it('goes as deep as handles allow, and says where it stopped', async () => {
      const deep = join(dir, ...Array.from({ length: 510 }, () => 'd'));
      fs.mkdirSync(deep, { recursive: true });
      const failed: string[] = [];
      const onError = (path: string): number => failed.push(path);
      await applyFsGroup(dir, { gid: 3456, readOnly: false, signal, onError });
      assert.equal(failed.length, 1);
      assert.equal(fs.statSync(dir).gid, 3456);
      assert.equal(fs.statSync(deep).gid, 0);
    });
  },
);
