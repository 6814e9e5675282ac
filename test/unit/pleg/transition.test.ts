/** The table of spec pleg.md §3.2, every pair of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transitions } from '../../../src/pleg/transition.ts';
import type { ObjectState } from '../../../src/wasm/relister.ts';

const STATES: ObjectState[] = ['non-existent', 'running', 'exited', 'unknown'];
const TABLE: Record<ObjectState, Record<ObjectState, string>> = {
  'non-existent': {
    'non-existent': '',
    running: 'ContainerStarted',
    exited: 'ContainerDied',
    unknown: 'ContainerChanged',
  },
  running: {
    'non-existent': 'ContainerDied ContainerRemoved',
    running: '',
    exited: 'ContainerDied',
    unknown: 'ContainerChanged',
  },
  exited: {
    'non-existent': 'ContainerRemoved',
    running: 'ContainerStarted',
    exited: '',
    unknown: 'ContainerChanged',
  },
  unknown: {
    'non-existent': 'ContainerDied ContainerRemoved',
    running: 'ContainerStarted',
    exited: 'ContainerDied',
    unknown: '',
  },
};

for (const from of STATES) {
  for (const to of STATES) {
    test(`${from} -> ${to}: ${TABLE[from][to] || 'nothing'}`, () => {
      assert.equal(transitions(from, to).join(' '), TABLE[from][to]);
    });
  }
}
