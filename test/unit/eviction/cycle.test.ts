import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CycleState } from '../../../src/eviction/cycle.ts';
import { NO_CYCLE_YET, evaluate, isNewMemoryPressure } from '../../../src/eviction/cycle.ts';
import { observationsOf } from '../../../src/eviction/signal.ts';
import type { Threshold } from '../../../src/eviction/threshold.ts';
import type { NodeAmounts } from '../../support/stats.ts';
import { GIB, MIB, nodeOf } from '../../support/stats.ts';

const HARD: Threshold = { signal: 'memory.available', value: '100Mi', minReclaim: '100Mi' };
const SOFT: Threshold = { signal: 'memory.available', value: '1Gi', graceMs: 30_000 };
const DISK: Threshold = { signal: 'nodefs.available', value: '10%' };
const TRANSITION_MS = 300_000;

/** Looks at the node again and again; statistics are new at each look. */
class Node {
  state: CycleState = NO_CYCLE_YET;
  readonly #thresholds: readonly Threshold[];

  constructor(...thresholds: Threshold[]) {
    this.#thresholds = thresholds;
  }

  look(nowMs: number, amounts: NodeAmounts = {}) {
    const observations = observationsOf(nodeOf({ timeMs: nowMs, ...amounts }));
    const { state, conditions, due } = evaluate({
      ...{ thresholds: this.#thresholds, observations, state: this.state, nowMs },
      transitionMs: TRANSITION_MS,
    });
    this.state = state;
    return { conditions, due };
  }
}

test('a hard threshold is acted on at once, until its minimum reclaim is there', () => {
  const node = new Node(HARD);
  assert.deepEqual(node.look(0), { conditions: [], due: [] });
  const short = { conditions: ['MemoryPressure'], due: [HARD] };
  assert.deepEqual(node.look(10, { memory: 100 * MIB - 1 }), short);
  assert.deepEqual(node.look(20, { memory: 200 * MIB - 1 }), short);
  assert.deepEqual(node.look(30, { memory: 200 * MIB }).due, []);
  assert.deepEqual(node.look(40, { memory: 150 * MIB }).due, [], 'it was resolved meanwhile');
});

test('a soft threshold must be met for its grace period without a break', () => {
  const node = new Node(SOFT);
  const short = { memory: GIB - 1 };
  assert.deepEqual(node.look(0, short).due, []);
  assert.deepEqual(node.look(29_999, short).due, []);
  assert.deepEqual(node.look(30_000, short).due, [SOFT]);
  node.look(30_001);
  assert.deepEqual(node.look(40_000, short).due, []);
  assert.deepEqual(node.look(69_999, short).due, []);
  assert.deepEqual(node.look(70_000, short).due, [SOFT]);
});

test('a condition is reported from the first sight, and for the transition period after the last', () => {
  const node = new Node(SOFT);
  assert.deepEqual(node.look(0, { memory: 0 }).conditions, ['MemoryPressure']);
  assert.deepEqual(node.look(10_000, { memory: 0 }).conditions, ['MemoryPressure']);
  assert.deepEqual(node.look(309_999).conditions, ['MemoryPressure']);
  assert.deepEqual(node.look(310_000).conditions, []);
});

test('memory comes before disk, whatever the order of the configuration', () => {
  const node = new Node(DISK, HARD);
  assert.deepEqual(node.look(0, { memory: 0, disk: 0 }), {
    conditions: ['MemoryPressure', 'DiskPressure'],
    due: [HARD, DISK],
  });
});

test('statistics that are as old as in the last cycle are not acted on twice', () => {
  const node = new Node(HARD);
  assert.deepEqual(node.look(0, { memory: 0 }).due, [HARD]);
  assert.deepEqual(node.look(10, { memory: 0, timeMs: 0 }).due, []);
  assert.deepEqual(node.look(20, { memory: 0 }).due, [HARD]);
});

test('memory that is short is news once, disks never are', () => {
  const node = new Node(HARD, DISK);
  const low = observationsOf(nodeOf({ memory: 0, disk: 0 }));
  const full = observationsOf(nodeOf({ disk: 0 }));
  assert.equal(isNewMemoryPressure([HARD, DISK], full, node.state), false);
  assert.equal(isNewMemoryPressure([HARD, DISK], low, node.state), true);
  node.look(0, { memory: 0 });
  assert.equal(isNewMemoryPressure([HARD, DISK], low, node.state), false);
});
