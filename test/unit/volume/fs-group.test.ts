import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { applyFsGroup } from '../../../src/volume/fs-group.ts';
import { Scratch, signal } from './support.ts';

describe('fsGroup', { skip: process.getuid?.() !== 0 && 'changing owners needs root' }, () => {
  const scratch = new Scratch();
  after(() => scratch.remove());
  const modeOf = (path: string): string => (fs.lstatSync(path).mode & 0o7777).toString(8);

  it('gives everything to the group, and nothing behind a link', async () => {
    const top = join(scratch.dir, 'v');
    const outside = join(scratch.dir, 'outside');
    fs.mkdirSync(join(top, 'd'), { recursive: true });
    fs.chmodSync(join(top, 'd'), 0o700);
    for (const file of [outside, join(top, 'd/f'), join(top, 'd/suid')]) {
      fs.writeFileSync(file, '');
      fs.chmodSync(file, 0o600);
    }
    fs.chmodSync(join(top, 'd/suid'), 0o4755);
    fs.symlinkSync(outside, join(top, 'link'));
    const failed: string[] = [];
    const options = { gid: 3456, readOnly: false, signal, onError: (p: string) => failed.push(p) };
    await applyFsGroup(top, options);
    assert.deepEqual(failed, []);
    for (const path of [top, 'd', 'd/f', 'link'].map((p) => (p === top ? p : join(top, p)))) {
      assert.equal(fs.lstatSync(path).gid, 3456, path);
    }
    assert.deepEqual(
      ['d', 'd/f', 'd/suid'].map((p) => modeOf(join(top, p))),
      ['2770', '660', '4775'],
    );
    assert.deepEqual([fs.statSync(outside).gid, modeOf(outside)], [0, '600']);
  });

  it('lets the group only read what the agent keeps', async () => {
    const file = join(scratch.dir, 'ro');
    fs.writeFileSync(file, '', { mode: 0o400 });
    await applyFsGroup(file, { gid: 1, readOnly: true, signal, onError: () => assert.fail() });
    assert.equal(modeOf(file), '440');
  });
});
