import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { readLogs, type ReadLogOptions } from '../../../src/log/reader.ts';
import { tailFile, tailLog } from '../../../src/log/tail.ts';
import { codeOf } from '../../../src/util/errors.ts';
import { Collected, criLine, temporaryDirectory } from './support.ts';

async function logOf(t: TestContext, content: string | Buffer): Promise<string> {
  const path = join(await temporaryDirectory(t), '0.log');
  await writeFile(path, content);
  return path;
}

async function read(path: string, options: ReadLogOptions = {}): Promise<string> {
  const collected = new Collected();
  await readLogs(path, options, collected.sink, new AbortController().signal);
  return collected.text;
}

const three = criLine('one', 1) + criLine('two', 2, 'stderr') + criLine('three', 3);

describe('reading a container log', () => {
  it('gives the messages of both streams or of one', async (t) => {
    const path = await logOf(t, three);
    assert.equal(await read(path), 'one\ntwo\nthree\n');
    assert.equal(await read(path, { stream: 'stderr' }), 'two\n');
  });

  it('joins what the runtime split, with one time for the whole line', async (t) => {
    const path = await logOf(
      t,
      criLine('a', 1, 'stdout', 'P') +
        criLine('b', 2, 'stdout', 'P') +
        criLine('c', 3) +
        criLine('d', 4),
    );
    assert.equal(await read(path), 'abc\nd\n');
    assert.equal(
      await read(path, { timestamps: true }),
      '2026-01-01T00:00:01.000000000Z abc\n2026-01-01T00:00:04.000000000Z d\n',
    );
  });

  it('leaves out lines that are too old, after the tail was taken', async (t) => {
    const path = await logOf(t, three);
    const sinceMs = Date.UTC(2026, 0, 1, 0, 0, 2);
    assert.equal(await read(path, { sinceMs }), 'two\nthree\n');
    assert.equal(await read(path, { sinceMs, tailLines: 1 }), 'three\n');
    assert.equal(await read(path, { sinceMs: sinceMs + 1000, tailLines: 3 }), 'three\n');
  });

  it('ends after limitBytes, times included', async (t) => {
    const path = await logOf(t, three);
    assert.equal(await read(path, { limitBytes: 5 }), 'one\nt');
    assert.equal(await read(path, { limitBytes: 10, timestamps: true }), '2026-01-01');
  });

  it('skips what is no log line, and reads a last line that has no newline', async (t) => {
    const path = await logOf(
      t,
      `garbage\n\n\0\0\n${criLine('good')}2026-01-01T00:00:00Z stdout F end`,
    );
    assert.equal(await read(path), 'good\nend');
  });

  it('reads lines of many megabytes, and skips such lines of garbage', async (t) => {
    const huge = 'x'.repeat(3_000_000);
    const path = await logOf(t, criLine(huge) + `${huge}\n` + criLine('after'));
    assert.equal(await read(path), `${huge}\nafter\n`);
  });

  it('says that a missing file is not found, and never waits on a pipe', async (t) => {
    const directory = await temporaryDirectory(t);
    await assert.rejects(read(join(directory, '0.log')), (error) => codeOf(error) === 'not-found');
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    await assert.rejects(read(join(directory, 'pipe')), (error) => codeOf(error) === 'failed');
  });

  it('waits for a slow sink', async (t) => {
    const path = await logOf(t, criLine('x'.repeat(1000)).repeat(1000));
    let inside = 0;
    let calls = 0;
    const slow = async (): Promise<void> => {
      assert.equal(++inside, 1);
      await new Promise((resolve) => setImmediate(resolve));
      calls++;
      inside--;
    };
    await readLogs(path, {}, slow, new AbortController().signal);
    assert.ok(calls > 10);
  });

  it('stops when told to', async (t) => {
    const path = await logOf(t, criLine('x'.repeat(1000)).repeat(1000));
    const controller = new AbortController();
    const reason = new Error('enough');
    const stopping = readLogs(path, {}, () => controller.abort(reason), controller.signal);
    await assert.rejects(stopping, reason);
  });
});

describe('the tail of a log', () => {
  it('is the last lines, whatever their lengths', async (t) => {
    const path = await logOf(t, '');
    const message = fc.string({ unit: fc.constantFrom('a', 'é', ' '), maxLength: 30_000 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { maxLength: 12 }),
        fc.integer({ min: 0, max: 14 }),
        async (messages, tailLines) => {
          await writeFile(path, messages.map((m) => criLine(m)).join(''));
          const expected = tailLines === 0 ? [] : messages.slice(-tailLines);
          assert.equal(await read(path, { tailLines }), expected.map((m) => `${m}\n`).join(''));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('of a sparse file of 20 GB takes no longer than that of a small one', async (t) => {
    const path = await logOf(t, '');
    const handle = await open(path, 'r+');
    await handle.write(`\n${criLine('a')}${criLine('b')}`, 20_000_000_000);
    await handle.close();
    assert.equal(await read(path, { tailLines: 2 }), 'a\nb\n');
    assert.equal(await tailLog(path, { lines: 80, bytes: 2048 }), 'a\nb\n');
    assert.equal(await tailLog(path, { bytes: 2 }), 'b\n');
  });

  it('as text for messages is bounded in lines and in bytes', async (t) => {
    const path = await logOf(t, 'one\ntwo\nthree\n');
    assert.equal(await tailFile(path, { lines: 2, bytes: 4096 }), 'two\nthree\n');
    assert.equal(await tailFile(path, { bytes: 6 }), 'three\n');
    assert.equal(await tailFile(path, { bytes: 4096 }), 'one\ntwo\nthree\n');
  });
});
