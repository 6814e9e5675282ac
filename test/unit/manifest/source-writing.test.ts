/** Files in the course of being written: a valid beginning of a manifest must never become a pod. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Writer } from '../../../src/manifest/writer.ts';
import { ManualClock } from '../../support/clock.ts';
import { Fixture, documents, manifest } from './source-fixture.ts';

describe('a manifest that is still open for writing', () => {
  let f: Fixture;
  beforeEach(() => {
    f = new Fixture();
  });
  afterEach(() => f.end());

  it('is not acted on until it is closed', async () => {
    await f.start();
    const fd = openSync(f.file('a.yaml'), 'w');
    writeSync(fd, manifest('first')); // a valid file by itself
    await f.untilState('a.yaml', 'waiting');
    assert.deepEqual(f.names(), []);
    assert.match(f.verdict('a.yaml')?.messages.join() ?? '', new RegExp(`process ${process.pid}`));
    writeSync(fd, `---\n${manifest('second')}`);
    closeSync(fd);
    await f.untilNames('first', 'second');
    assert.deepEqual(
      f.sets.map((pods) => pods.length),
      [2],
    );
    assert.equal(f.verdict('a.yaml')?.state, 'accepted');
  });

  it('keeps the pods of the content before, though it was truncated first', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    const pod = f.pod('a');
    const fd = openSync(f.file('a.yaml'), 'r+');
    ftruncateSync(fd);
    writeSync(fd, 'name: a');
    await f.untilState('a.yaml', 'waiting');
    assert.equal(f.pod('a'), pod);
    assert.equal(f.verdict('a.yaml')?.usingLastGood, true);
    writeSync(fd, '\nextra: two\n');
    closeSync(fd);
    await f.until('the whole file', () => f.pod('a')?.metadata.annotations?.extra === 'two');
    assert.equal(f.verdict('a.yaml')?.state, 'accepted');
  });

  it('is waited for when the agent starts, and given up with its deletion', async () => {
    const fd = openSync(f.file('a.yaml'), 'w');
    writeSync(fd, manifest('first'));
    await f.start();
    assert.deepEqual(f.names(), []);
    assert.equal(f.verdict('a.yaml')?.state, 'waiting');
    rmSync(f.file('a.yaml'));
    await f.until('it is gone', () => f.verdict('a.yaml') === undefined);
    closeSync(fd);
  });

  it('is seen whoever writes it, and does not hold up other files', async () => {
    await f.start();
    const child = spawn('sh', ['-c', `cat > '${f.file('a.yaml')}'`], { stdio: 'pipe' });
    child.stdin.write(manifest('first'));
    await f.untilState('a.yaml', 'waiting');
    f.publish('b.yaml', manifest('other'));
    await f.untilNames('other');
    child.stdin.end(`---\n${manifest('second')}`);
    await f.untilNames('first', 'second', 'other');
    assert.ok(f.sets.every((pods) => pods.length !== 2));
  });

  it('does not wait for readers, nor for a file written and closed before it is renamed', async () => {
    await f.start();
    f.publish('a.yaml', documents(manifest('a')));
    const fd = openSync(f.file('a.yaml'), 'r');
    await f.untilNames('a');
    f.publish('b.yaml', manifest('b'));
    await f.untilNames('a', 'b');
    closeSync(fd);
    assert.ok(!f.logs.some(({ msg }) => msg === 'manifest waiting'));
  });
});

describe('a writer that never closes', () => {
  it('is given up 30 s after its last byte', async () => {
    const f = new Fixture();
    const clock = new ManualClock({ wall: Date.now() });
    const writer: Writer = { pid: 7, link: '/proc/7/fd/3', dev: 0n, ino: 0n };
    let asked = 0;
    const writers = {
      find: (files: readonly { realPath: string }[]) =>
        Promise.resolve(new Map(files.map((file) => [file.realPath, writer]))),
      stillWriting: () => asked++ >= 0,
    };
    f.write('a.yaml', manifest('a'));
    await f.start({ clock, writers });
    /** One look after the other, each when the source asks for it, until `ms` have gone by. */
    const pass = async (ms: number): Promise<void> => {
      const end = clock.monotonic() + ms;
      while (clock.monotonic() < end) {
        const before = asked;
        await f.until('it sleeps', () => clock.sleeping > 0);
        await clock.advance(Math.min(clock.untilNext ?? 0, end - clock.monotonic()) || 1);
        await f.until('it looked', () => clock.sleeping > 0 || asked > before);
      }
    };
    await pass(20_000);
    f.write('a.yaml', manifest('a', 'two')); // it grew: the patience starts again
    await pass(20_000);
    assert.equal(f.verdict('a.yaml')?.state, 'waiting');
    assert.deepEqual(f.names(), []);
    await pass(15_000);
    await f.untilNames('a');
    assert.equal(f.pod('a')?.metadata.annotations?.extra, 'two');
    await f.end();
  });
});
