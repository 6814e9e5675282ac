import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodStatus } from '../../../src/api/status.ts';
import { StatusManager } from '../../../src/status/manager.ts';
import type { StatusChange } from '../../../src/status/manager.ts';
import { createLogger } from '../../../src/util/log.ts';
import { pod } from './make.ts';

interface Stored {
  readonly status: PodStatus;
  readonly finished?: string | undefined;
}

function make(stored = new Map<string, Stored>()) {
  const lines: string[] = [];
  let writes = 0;
  let broken = false;
  const logger = createLogger({
    sink: { write: (line) => lines.push(line) },
    level: 'info',
    wall: () => 0,
  });
  const store = {
    put: (record: Stored & { readonly uid: string }) => {
      if (broken) throw new Error('disk full');
      writes++;
      stored.set(record.uid, record);
    },
    get: (uid: string) => stored.get(uid),
    delete: (uid: string) => void stored.delete(uid),
  };
  return {
    manager: new StatusManager({ store, logger }),
    lines,
    stored,
    writes: () => writes,
    breakStore: () => (broken = true),
  };
}

describe('StatusManager', () => {
  it('writes and announces a status only when it changed', () => {
    const { manager, writes } = make();
    const seen: StatusChange[] = [];
    const stop = manager.subscribe((change) => seen.push(change));
    assert.equal(manager.set(pod(), { phase: 'Pending', reason: 'x' }), true);
    assert.equal(manager.set(pod(), { reason: 'x', phase: 'Pending' }), false);
    assert.equal(manager.set(pod(), { phase: 'Running' }), true);
    stop();
    manager.set(pod(), { phase: 'Failed' });
    assert.equal(writes(), 3);
    assert.deepEqual(
      seen.map((c) => [c.before?.phase, c.status?.phase]),
      [
        [undefined, 'Pending'],
        ['Pending', 'Running'],
      ],
    );
  });

  it('knows after a restart what was set before it', () => {
    const first = make();
    const status: PodStatus = { phase: 'Succeeded', startTime: '2025-03-01T12:00:00Z' };
    first.manager.set(pod(), status);
    const second = make(first.stored);
    assert.equal(second.manager.get('u1'), undefined);
    assert.deepEqual(second.manager.restore('u1'), status);
    assert.deepEqual(second.manager.get('u1'), status);
    second.manager.set(pod(), status);
    assert.equal(second.writes(), 0);
  });

  it('marks what has ended for good', () => {
    const { manager, stored } = make();
    manager.set(pod(), { phase: 'Running' });
    assert.equal(stored.get('u1')?.finished, undefined);
    manager.set(pod(), { phase: 'Failed' });
    assert.equal(stored.get('u1')?.finished, 'Failed');
  });

  it('goes on when the store or a listener fails', () => {
    const { manager, lines, breakStore } = make();
    breakStore();
    const seen: (string | undefined)[] = [];
    manager.subscribe(() => {
      throw new Error('bad listener');
    });
    manager.subscribe((change) => seen.push(change.status?.phase));
    manager.set(pod(), { phase: 'Running' });
    assert.equal(manager.get('u1')?.phase, 'Running');
    assert.deepEqual(seen, ['Running']);
    assert.equal(lines.length, 2);
  });

  it('forgets a pod everywhere', () => {
    const { manager, stored } = make();
    const seen: StatusChange[] = [];
    manager.set(pod(), { phase: 'Running' });
    manager.subscribe((change) => seen.push(change));
    manager.remove('u1');
    manager.remove('u1');
    assert.equal(manager.get('u1'), undefined);
    assert.equal(stored.size, 0);
    assert.deepEqual(
      seen.map((c) => c.status),
      [undefined],
    );
  });
});
