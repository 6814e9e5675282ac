import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { codeOf } from '../../../src/util/errors.ts';
import { writeAtomically } from '../../../src/volume/atomic-writer.ts';
import { Scratch } from './support.ts';

const NOW = Date.parse('2025-03-01T12:00:00Z');

describe('writeAtomically', () => {
  const scratch = new Scratch();
  let dir = '';
  let count = 0;
  after(() => scratch.remove());
  beforeEach(() => {
    dir = join(scratch.dir, String(count++));
    fs.mkdirSync(dir);
  });

  const write = (files: Record<string, string>, own = async () => {}): Promise<boolean> =>
    writeAtomically({
      dir,
      files: new Map(Object.entries(files).map(([k, content]) => [k, { content, mode: 0o640 }])),
      nowMs: NOW,
      own,
    });
  const read = (name: string): string => fs.readFileSync(join(dir, name), 'utf8');
  const versions = (): string[] => fs.readdirSync(dir).filter((n) => /^\.\.\d/.test(n));

  it('lays out the files as the kubelet does', async () => {
    assert.equal(await write({ a: '1', 'd/e/f': '2' }), true);
    assert.deepEqual([read('a'), read('d/e/f')], ['1', '2']);
    assert.equal(fs.readlinkSync(join(dir, 'a')), '..data/a');
    assert.match(fs.readlinkSync(join(dir, '..data')), /^\.\.2025_03_01_12_00_00\.\w+$/);
    assert.equal(fs.statSync(join(dir, 'a')).mode & 0o777, 0o640);
    assert.equal(fs.statSync(join(dir, '..data')).mode & 0o777, 0o755);
  });

  it('writes nothing when nothing changed', async () => {
    await write({ a: '1', 'd/e': '2' });
    const before = fs.readlinkSync(join(dir, '..data'));
    assert.equal(await write({ a: '1', 'd/e': '2' }), false);
    assert.equal(fs.readlinkSync(join(dir, '..data')), before);
  });

  it('adds, changes and removes at once, and keeps one version', async () => {
    await write({ a: '1', b: '1', 'd/e': '1' });
    assert.equal(await write({ a: '2', c: '1' }), true);
    assert.deepEqual(
      fs.readdirSync(dir).filter((n) => !n.startsWith('..')),
      ['a', 'c'],
    );
    assert.deepEqual([read('a'), read('c')], ['2', '1']);
    assert.equal(versions().length, 1);
    assert.equal(await write({}), true);
    assert.deepEqual(
      fs.readdirSync(dir).filter((n) => !n.startsWith('..')),
      [],
    );
  });

  it('shows the old version until the new one is whole', async () => {
    await write({ a: '1' });
    await assert.rejects(
      write({ a: '2' }, () => {
        assert.equal(read('a'), '1');
        return Promise.reject(new Error('crash'));
      }),
    );
    assert.equal(read('a'), '1');
    assert.equal(versions().length, 1);
  });

  it('goes on after a crash between the swap and the links', async () => {
    await write({ a: '1' });
    fs.rmSync(join(dir, 'a'));
    fs.symlinkSync('nowhere', join(dir, '..data_tmp'));
    assert.equal(await write({ a: '1' }), false);
    assert.equal(read('a'), '1');
    assert.equal(await write({ a: '2' }), true);
    assert.equal(read('a'), '2');
  });

  it('has all its links as soon as it has a version', async () => {
    await write({ a: '1', 'd/e': '2' }, () => {
      assert.equal(fs.existsSync(join(dir, '..data')), false);
      assert.equal(fs.readlinkSync(join(dir, 'a')), '..data/a');
      assert.equal(fs.readlinkSync(join(dir, 'd')), '..data/d');
      return Promise.resolve();
    });
  });

  it('removes versions that crashes have left', async () => {
    await write({ a: '1' });
    fs.mkdirSync(join(dir, '..2024_01_01_00_00_00.crash'));
    fs.mkdirSync(join(dir, 'kept'));
    await write({ a: '2' });
    assert.equal(versions().length, 1);
    assert.equal(read('a'), '2');
    assert.equal(fs.existsSync(join(dir, 'kept')), true);
  });

  it('takes a path for what it comes down to', async () => {
    await write({ './a//b/': '1', 'c/./d': '2' });
    assert.deepEqual([read('a/b'), read('c/d')], ['1', '2']);
    assert.deepEqual(fs.readdirSync(join(dir, '..data')).sort(), ['a', 'c']);
  });

  it('writes nothing when a name is both a file and a directory', async () => {
    await write({ a: 'old' });
    await assert.rejects(write({ a: '1', 'a/b': '2' }), {
      code: 'invalid',
      message: '"a" cannot be both a file and the directory of "a/b"',
    });
    fs.mkdirSync(join(dir, 'mount'));
    await assert.rejects(write({ a: '1', 'mount/b': '2' }), {
      code: 'invalid',
      message:
        'the file "mount" cannot be written: a directory of this name is there for another mount',
    });
    assert.equal(read('a'), 'old');
  });

  it('refuses paths that lead out or stand in the way', async () => {
    for (const path of [
      '',
      '.',
      './',
      'a\0b',
      './..x',
      '/a',
      '../a',
      'a/../../b',
      '..data',
      '..x/y',
      'x'.repeat(256),
    ]) {
      await assert.rejects(write({ [path]: '' }), (e) => codeOf(e) === 'invalid', path);
    }
    await write({ 'a/..b': '' });
    assert.equal(read('a/..b'), '');
  });
});
