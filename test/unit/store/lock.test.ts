import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { lockRootDir } from '../../../src/store/lock.ts';
import { codeOf, messageOf } from '../../../src/util/errors.ts';

it('a root directory has one agent, by whatever name it is called', async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'islet-lock-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const root = path.join(dir, 'root');
  const release = await lockRootDir(root);
  symlinkSync(root, path.join(dir, 'link'));
  for (const name of [root, path.join(dir, 'link')]) {
    await assert.rejects(lockRootDir(name), (error) => {
      assert.match(messageOf(error), /another islet runs with the root directory/);
      return codeOf(error) === 'already-exists';
    });
  }
  const other = await lockRootDir(path.join(dir, 'other'));
  release();
  (await lockRootDir(root))();
  other();
});

it('is free again when its process was killed', async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'islet-lock-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const lock = new URL('../../../src/store/lock.js', import.meta.url).href;
  const script = `const { lockRootDir } = await import(${JSON.stringify(lock)});
    await lockRootDir(${JSON.stringify(dir)}); console.log('locked'); setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script]);
  await once(holder.stdout, 'data');
  await assert.rejects(lockRootDir(dir));
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  (await lockRootDir(dir))();
});
