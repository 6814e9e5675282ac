import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeObject, readyCondition } from '../../../src/runtime/node-object.ts';
import { factsOf } from '../../support/facts.ts';

test('amounts are written as the API writes them', () => {
  const capacity = {
    ...{ cpuMilli: 2000, memory: 8_041_000 * 1024, ephemeralStorage: 0, pods: 110, pids: 4096 },
    hugepages: new Map([[2 ** 21, 0]]),
  };
  const allocatable = { ...capacity, cpuMilli: 1750, ephemeralStorage: 1001 };
  const facts = factsOf({ nodeName: 'edge1', nodeIps: ['10.0.0.1'], capacity, allocatable });
  const { metadata, status } = nodeObject({ facts, labels: { a: 'b' }, conditions: [] });
  assert.deepEqual(metadata, { name: 'edge1', labels: { a: 'b' } });
  assert.deepEqual(status.capacity, {
    ...{ cpu: '2', memory: '8041000Ki', pods: '110', 'hugepages-2Mi': '0' },
  });
  assert.deepEqual(status.allocatable, {
    ...{ cpu: '1750m', memory: '8041000Ki', 'ephemeral-storage': '1001' },
    ...{ pods: '110', 'hugepages-2Mi': '0' },
  });
  assert.deepEqual(status.addresses, [
    { type: 'InternalIP', address: '10.0.0.1' },
    { type: 'Hostname', address: 'edge1' },
  ]);
});

test('a node is ready unless something keeps it from that', () => {
  assert.deepEqual(readyCondition([]), {
    ...{ type: 'Ready', status: 'True', reason: 'KubeletReady' },
    message: 'kubelet is posting ready status',
  });
  const { status, reason, message } = readyCondition(['node is shutting down']);
  assert.deepEqual(
    [status, reason, message],
    ['False', 'KubeletNotReady', 'node is shutting down'],
  );
  assert.equal(readyCondition(['a', 'b']).message, '[a, b]');
});
