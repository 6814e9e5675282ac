import assert from 'node:assert/strict';
import { link, rename, rm, writeFile } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { readLogs } from '../../../src/log/reader.ts';
import { rotatedFiles, successor, type LogFile } from '../../../src/log/rotated.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { Collected, criLine, LogWriter, temporaryDirectory } from './support.ts';

/** A container that runs until the test says otherwise, its log being followed. */
async function following(
  t: TestContext,
  before: string[],
  sink?: (bytes: Buffer) => Promise<void>,
) {
  const log = new LogWriter(await temporaryDirectory(t));
  await log.write(...before);
  const seen = new Collected();
  const state = { running: true };
  const controller = new AbortController();
  t.after(() => controller.abort());
  const follow = { clock: new SystemClock(), isRunning: () => state.running, checkEveryMs: 20 };
  const done = readLogs(
    log.path,
    { follow },
    async (bytes) => {
      seen.sink(bytes);
      await sink?.(bytes);
    },
    controller.signal,
  );
  done.catch(() => undefined);
  return { log, seen, state, controller, done };
}

describe('following a log', () => {
  it('gives what is there, what comes, and ends with the container', async (t) => {
    const { log, seen, state, done } = await following(t, ['one']);
    await seen.has('one\n');
    await log.write('two');
    await seen.has('two\n');
    await log.write('three');
    state.running = false;
    await done;
    assert.equal(seen.text, 'one\ntwo\nthree\n');
  });

  it('goes on over rotations and neither cuts, repeats nor loses lines', async (t) => {
    const { log, seen, state, done } = await following(t, ['start']);
    const lines = Array.from({ length: 60 }, (_, i) => `line ${i}`);
    for (const [i, line] of lines.entries()) {
      if (i % 20 === 19) {
        await seen.has(`line ${i - 1}\n`);
        await log.rotate();
      }
      await log.write(line);
    }
    await seen.has('line 59\n');
    state.running = false;
    await done;
    assert.equal(seen.text, ['start', ...lines].map((line) => `${line}\n`).join(''));
  });

  it('reads what is still written to the renamed file before the runtime reopens', async (t) => {
    const { log, seen, state, done } = await following(t, ['one']);
    await seen.has('one\n');
    const rotated = `${log.path}.20260101-000000`;
    await rename(log.path, rotated);
    await writeFile(rotated, criLine('two'), { flag: 'a' });
    await writeFile(log.path, '');
    await writeFile(rotated, criLine('three'), { flag: 'a' });
    await log.write('four');
    await seen.has('four\n');
    state.running = false;
    await done;
    assert.equal(seen.text, 'one\ntwo\nthree\nfour\n');
  });

  it('reads the rotated file in between when its reader was slow', async (t) => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { log, seen, state, done } = await following(t, ['one'], () => held);
    await seen.has('one\n');
    await log.rotate();
    await log.write('two');
    await log.rotate();
    await log.rotate(); // one that is empty
    await log.write('three');
    release();
    await seen.has('three\n');
    state.running = false;
    await done;
    assert.equal(seen.text, 'one\ntwo\nthree\n');
  });

  it('knows files by their age, not by inodes that are used again', async (t) => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = (bytes: Buffer): Promise<void> =>
      bytes.includes('two') ? held : Promise.resolve();
    const { log, seen, state, done } = await following(t, ['one'], slow);
    await seen.has('one\n');
    const first = await log.rotate();
    await log.write('two');
    await seen.has('two\n');
    await rm(first); // read and gone: the next file may well get its inode
    await log.rotate();
    await log.write('three');
    const third = await log.rotate();
    await log.write('four');
    await writeFile(`${third}.gz`, '');
    release();
    await seen.has('four\n');
    state.running = false;
    await done;
    assert.equal(seen.text, 'one\ntwo\nthree\nfour\n');
  });

  it('does not go back when the file it reads is compressed', async (t) => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = (bytes: Buffer): Promise<void> =>
      bytes.includes('two') ? held : Promise.resolve();
    const { log, seen, state, done } = await following(t, ['one'], slow);
    await seen.has('one\n');
    await log.rotate();
    await log.write('two');
    await seen.has('two\n');
    await rm(await log.rotate());
    await log.write('three');
    release();
    await seen.has('three\n');
    state.running = false;
    await done;
    assert.equal(seen.text, 'one\ntwo\nthree\n');
  });

  it('ends when the log is deleted with its container, reading no older files', async (t) => {
    const { log, seen, state, done } = await following(t, ['one']);
    await seen.has('one\n');
    await rm(log.path);
    state.running = false;
    await done;
    assert.equal(seen.text, 'one\n');
  });

  it('does not wait for a container that has ended before', async (t) => {
    const log = new LogWriter(await temporaryDirectory(t));
    await log.write('one');
    const rotated = await log.rotate();
    await log.write('two');
    assert.deepEqual(
      (await rotatedFiles(log.path)).map((file) => file.path),
      [rotated],
    );
    const seen = new Collected();
    const follow = { clock: new SystemClock(), isRunning: () => false };
    await readLogs(log.path, { follow }, seen.sink, new AbortController().signal);
    assert.equal(seen.text, 'two\n');
  });

  it('reads on where a rotation has just taken the log away', async (t) => {
    const log = new LogWriter(await temporaryDirectory(t));
    await log.write('one');
    await log.rotate();
    await rm(log.path);
    const seen = new Collected();
    await readLogs(log.path, {}, seen.sink, new AbortController().signal);
    assert.equal(seen.text, 'one\n');
  });

  it('stops at once when told to', async (t) => {
    const { seen, controller, done } = await following(t, ['one']);
    await seen.has('one\n');
    const reason = new Error('enough');
    controller.abort(reason);
    await assert.rejects(done, reason);
  });

  it('starts again with a file that was truncated in place', async (t) => {
    const { log, seen, state, done } = await following(t, ['one', 'two']);
    await seen.has('two\n');
    await writeFile(log.path, criLine('x'));
    await seen.has('x\n');
    state.running = false;
    await done;
  });
});

describe('the file that continues another', () => {
  const file = (identity: string): LogFile => ({ path: `/${identity}`, identity, size: 1 });
  const next = (rotated: string[], current?: string): string | undefined =>
    successor('a', rotated.map(file), current === undefined ? undefined : file(current))?.identity;

  it('is the next rotated one, then the current one', () => {
    assert.equal(next([], 'a'), undefined);
    assert.equal(next(['a'], undefined), undefined);
    assert.equal(next(['a'], 'b'), 'b');
    assert.equal(next(['a', 'b'], 'c'), 'b');
    assert.equal(next(['b', 'c'], 'd'), 'b');
    assert.equal(next([], 'd'), 'd');
  });

  it('is found by what the file is, not by its name', async (t) => {
    const log = new LogWriter(await temporaryDirectory(t));
    await log.write('one');
    await link(log.path, `${log.path}.20260101-000000`);
    await writeFile(`${log.path}.20260101-000000.gz`, '');
    await writeFile(`${log.path}.20260101-000001.tmp`, '');
    assert.equal((await rotatedFiles(log.path)).length, 1);
  });
});
