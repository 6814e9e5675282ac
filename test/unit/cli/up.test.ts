import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PodBoard, showUntilReady, type Snapshot } from '../../../src/cli/up.ts';
import { ManualClock } from '../../support/clock.ts';
import { pod, up } from '../server/support.ts';
import { Screen, testIo } from './support.ts';

const READY = [{ type: 'Ready', status: 'True' as const }];
const pending = pod('web');
const running = pod('web', {
  status: { phase: 'Running', conditions: READY, containerStatuses: [up('app')] },
});
const snapshot = (...pods: Snapshot['pods']): Snapshot => ({ pods, files: [] });

describe('what is shown while pods come up', () => {
  it('is one table that is painted over, on a terminal', () => {
    const stdout = new Screen(true);
    const board = new PodBoard(testIo('', { stdout }));
    board.show(snapshot(pending));
    board.show(snapshot(pending, running));
    const [before, after] = stdout.text.split('\x1b[2A\x1b[J');
    assert.match(before ?? '', /^NAME .*\nweb-edge1 .*\n$/);
    assert.match(after ?? '', /^NAME .*\nweb-edge1 .*\nweb-edge1 .*\n$/);
    board.show(snapshot());
    assert.ok(stdout.text.includes('\x1b[3A\x1b[J'));
  });

  it('is never higher than the terminal', () => {
    const stdout = new Screen(true);
    stdout.rows = 10;
    const board = new PodBoard(testIo('', { stdout }));
    board.show(snapshot(...Array.from({ length: 40 }, (_, i) => pod(`p${i}`))));
    assert.equal(stdout.lines.length, 9);
    assert.match(stdout.lines.at(-1) ?? '', /33 more lines/);
  });

  it('is there on a terminal that does not know its size, such as a serial console', () => {
    const stdout = Object.assign(new Screen(true), { columns: 0, rows: 0 });
    const board = new PodBoard(testIo('', { stdout }));
    board.show(snapshot(running));
    assert.match(stdout.text, /^NAME .*\nweb-edge1 .*Running.*\n$/s);
  });

  it('is a line for each change, elsewhere', () => {
    const io = testIo('');
    const board = new PodBoard(io);
    for (const pods of [[pending], [pending], [running]]) board.show(snapshot(...pods));
    assert.deepEqual(io.stdout.lines, [
      'pod default/web-edge1: Pending, ready 0/1',
      'pod default/web-edge1: Running, ready 1/1',
    ]);
  });

  it('ends when all are ready, or with the signal', async () => {
    const clock = new ManualClock();
    let now = snapshot();
    const ready = showUntilReady(() => now, testIo('', { clock }));
    await clock.advance(1000);
    now = snapshot(running, pending);
    await clock.advance(1000);
    assert.equal(clock.sleeping, 1);
    now = snapshot(running, pod('job', { status: { phase: 'Succeeded' } }));
    await clock.advance(1000);
    assert.equal(await ready, true);

    const controller = new AbortController();
    const cut = showUntilReady(
      () => snapshot(pending),
      testIo('', { clock, signal: controller.signal }),
    );
    controller.abort();
    assert.equal(await cut, false);
  });
});
