import assert from 'node:assert/strict';
import fs from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { removeTree } from '../../../src/volume/remove-tree.ts';
import { Scratch, cannotMount, signal } from './support.ts';

describe('removeTree', () => {
  const scratch = new Scratch();
  after(() => scratch.remove());

  it('removes names that are no text, and follows no link', async () => {
    const top = join(scratch.dir, 'bytes');
    const kept = join(scratch.dir, 'kept');
    fs.mkdirSync(top);
    fs.mkdirSync(kept);
    fs.writeFileSync(join(kept, 'f'), '');
    const latin = Buffer.concat([Buffer.from(`${top}/gr`), Buffer.from([0xfc, 0xff, 0x0a])]);
    fs.mkdirSync(latin);
    fs.writeFileSync(Buffer.concat([latin, Buffer.from('/f')]), '');
    fs.symlinkSync(kept, join(top, 'link'));
    execFileSync('mkfifo', [join(top, 'pipe')]);
    await removeTree(top, signal);
    assert.equal(fs.existsSync(top), false);
    assert.equal(fs.existsSync(join(kept, 'f')), true);
    await removeTree(top, signal);
  });

  it('removes a tree deeper than a path can be long', async () => {
    const top = join(scratch.dir, 'deep');
    fs.mkdirSync(top);
    // Only relative steps get so deep.
    const script =
      'd=$(printf %0200d 0); i=0; while [ $i -lt 60 ]; do mkdir $d; touch f; cd -P $d; i=$((i+1)); done';
    execFileSync('sh', ['-c', script], { cwd: top });
    await removeTree(top, signal);
    assert.equal(fs.existsSync(top), false);
  });

  it('stops when told to', async () => {
    const top = join(scratch.dir, 'stop');
    fs.mkdirSync(top);
    fs.writeFileSync(join(top, 'f'), '');
    await assert.rejects(removeTree(top, AbortSignal.abort()));
    assert.equal(fs.existsSync(join(top, 'f')), true);
  });

  it('touches no other file system', { skip: cannotMount }, async () => {
    const top = join(scratch.dir, 'cross');
    fs.mkdirSync(join(top, 'm'), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(top, 'm')]);
    fs.writeFileSync(join(top, 'm/f'), '');
    await assert.rejects(removeTree(top, signal));
    assert.equal(fs.existsSync(join(top, 'm/f')), true);
    execFileSync('umount', [join(top, 'm')]);
  });
});
