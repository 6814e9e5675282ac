import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Annotation } from '../../../src/api/reasons.ts';
import {
  TerminationMessages,
  readTerminationMessage,
} from '../../../src/status/termination-message.ts';
import { exited, record, runtime } from './make.ts';

const PATH = '/dev/termination-log';

describe('termination messages', () => {
  let dir = '';
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'islet-tmsg-'));
  });
  after(() => rm(dir, { recursive: true }));

  const ended = (
    exitCode: number,
    file: string | undefined,
    more: { policy?: string; log?: string; id?: string },
  ) =>
    exited('app', exitCode, 0, {
      id: more.id ?? 'app-0',
      annotations: {
        [Annotation.terminationMessagePath]: PATH,
        [Annotation.terminationMessagePolicy]: more.policy ?? 'File',
      },
      mounts:
        file === undefined
          ? []
          : [{ containerPath: PATH, hostPath: file, readonly: false, recursiveReadOnly: false }],
      logPath: more.log ?? '',
    });
  const fileOf = async (name: string, content: string): Promise<string> => {
    const path = join(dir, name);
    await writeFile(path, content);
    return path;
  };
  const logOf = (name: string, count: number): Promise<string> =>
    fileOf(
      name,
      Array.from(
        { length: count },
        (_, i) => `2025-03-01T12:00:00.000000000Z ${i % 2 ? 'stderr' : 'stdout'} F line ${i}\n`,
      ).join(''),
    );

  it('are the last 4096 bytes of the file', async () => {
    const file = await fileOf('long', `${'a'.repeat(5000)}END\n`);
    assert.equal(await readTerminationMessage(ended(0, file, {})), `${'a'.repeat(4092)}END\n`);
  });

  it('fall back to the last 80 lines of the log, of a container that failed without words', async () => {
    const policy = 'FallbackToLogsOnError';
    const empty = await fileOf('empty', '');
    const log = await logOf('log', 200);
    const message = await readTerminationMessage(ended(1, empty, { policy, log }));
    assert.equal(message.split('\n')[0], 'line 120');
    assert.ok(message.endsWith('line 199\n'));
    const words = await fileOf('words', 'why\n');
    assert.equal(await readTerminationMessage(ended(1, words, { policy, log })), 'why\n');
    assert.equal(await readTerminationMessage(ended(0, empty, { policy, log })), '');
    assert.equal(await readTerminationMessage(ended(1, empty, { log })), '');
    const absent = join(dir, 'absent');
    assert.equal(await readTerminationMessage(ended(1, absent, { policy, log: absent })), '');
  });

  it('of a log are at most 2048 bytes', async () => {
    const line = `2025-03-01T12:00:00Z stdout F ${'x'.repeat(3000)}\n`;
    const log = await fileOf('wide', line + line);
    const message = await readTerminationMessage(
      ended(1, undefined, { policy: 'FallbackToLogsOnError', log }),
    );
    assert.equal(message, `${'x'.repeat(2047)}\n`);
  });

  it('say what is wrong with a file that is none', async () => {
    assert.match(
      await readTerminationMessage(ended(1, dir, {})),
      /^Error on reading termination log /,
    );
  });

  it('are read once, and only of the two newest ended runs of a name', async () => {
    const messages = new TerminationMessages();
    const file = await fileOf('once', 'first');
    const runs = [
      record('app', 'running', { id: 'app-3' }),
      ended(1, file, { id: 'app-2' }),
      ended(1, file, { id: 'app-1' }),
    ];
    const of = await messages.load(runtime(runs));
    assert.deepEqual(runs.map(of), [undefined, 'first', undefined]);
    await writeFile(file, 'second');
    assert.equal((await messages.load(runtime(runs)))(runs[1]!), 'first');
    await messages.load(runtime([]));
    assert.equal((await messages.load(runtime(runs)))(runs[1]!), 'second');
  });
});
