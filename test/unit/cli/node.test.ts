import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Node } from '../../../src/api/node.ts';
import { describeNode, getNode } from '../../../src/cli/describe-node.ts';
import { container, NODE, pod } from '../server/support.ts';
import { NOW, startAgent } from './support.ts';

const node = (memoryIsShort: boolean, ready: boolean): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: NODE, labels: { 'kubernetes.io/os': 'linux', zone: 'a' } },
  status: {
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    capacity: { cpu: '4', memory: '8Gi', pods: '110' },
    allocatable: { cpu: '3500m', memory: '4Gi', pods: '110' },
    conditions: [
      {
        type: 'MemoryPressure',
        status: memoryIsShort ? 'True' : 'False',
        lastTransitionTime: '2026-01-01T00:59:00Z',
        reason: 'KubeletHasInsufficientMemory',
        message: 'kubelet has insufficient memory available',
      },
      {
        type: 'Ready',
        status: ready ? 'True' : 'False',
        reason: 'KubeletReady',
        message: 'kubelet is posting ready status',
      },
    ],
  },
});

async function start(t: TestContext) {
  const agent = await startAgent(t);
  agent.view.nodeObject = node(true, true);
  return agent;
}

describe('get node', () => {
  it('says whether the node is ready and what it is short of', async (t) => {
    const { run, view } = await start(t);
    const status = async () => (await run(getNode, {})).out.split('\n')[1]?.split(/ +/)[1];
    const { out } = await run(getNode, {});
    assert.deepEqual(out.split('\n'), [
      'NAME    STATUS                 AGE   VERSION',
      'edge1   Ready,MemoryPressure   5m    1.2.3',
      '',
    ]);
    view.nodeObject = node(false, true);
    assert.equal(await status(), 'Ready');
    view.nodeObject = node(true, false);
    assert.equal(await status(), 'NotReady,MemoryPressure');
  });

  it('gives the object', async (t) => {
    const { run } = await start(t);
    const { out } = await run(getNode, { output: 'json' });
    assert.deepEqual(JSON.parse(out), node(true, true));
    assert.equal((await run(getNode, { output: 'name' })).out, 'node/edge1\n');
    assert.equal((await run(getNode, { output: 'wide' })).status, 1);
  });
});

describe('describe node', () => {
  it('shows conditions, what there is, who has asked for how much of it, and events of the node', async (t) => {
    const { run, view } = await start(t);
    const asking = container('app', {
      resources: { requests: { cpu: '350m', memory: '1Gi' }, limits: { memory: '2Gi' } },
    });
    view.podList = [
      pod('web', { spec: { containers: [asking] } }),
      pod('plain'),
      pod('done', { spec: { containers: [asking] }, status: { phase: 'Succeeded' } }),
    ];
    const event = {
      ...{ type: 'Warning' as const, reason: 'EvictionThresholdMet', count: 1, uid: '' },
      ...{ message: 'Attempting to reclaim memory', firstSeenMs: NOW, lastSeenMs: NOW - 60_000 },
      ...{ namespace: '', name: NODE },
    };
    view.eventList = [
      { ...event, kind: 'Node' },
      { ...event, kind: 'Pod', message: 'of a pod that is called like the node' },
    ];
    const { out, status } = await run((_: object, io) => describeNode(io), {});
    assert.equal(status, 0);
    assert.deepEqual(
      out.split('\n').map((line) => line.replace(/ {2,}/g, '  ').trimEnd()),
      [
        'Name:  edge1',
        'Labels:  kubernetes.io/os=linux',
        '  zone=a',
        'Conditions:',
        '  Type  Status  LastTransitionTime  Reason  Message',
        '  MemoryPressure  True  Thu, 01 Jan 2026 00:59:00 +0000  KubeletHasInsufficientMemory  kubelet has insufficient memory available',
        '  Ready  True  <unknown>  KubeletReady  kubelet is posting ready status',
        'Addresses:',
        '  InternalIP:  10.0.0.1',
        'Capacity:',
        '  cpu:  4',
        '  memory:  8Gi',
        '  pods:  110',
        'Allocatable:',
        '  cpu:  3500m',
        '  memory:  4Gi',
        '  pods:  110',
        'Non-terminated Pods: (2 in total)',
        '  Namespace  Name  CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age',
        '  default  plain-edge1  0 (0%)  0 (0%)  0 (0%)  0 (0%)  <unknown>',
        '  default  web-edge1  350m (10%)  0 (0%)  1Gi (25%)  2Gi (50%)  <unknown>',
        'Allocated resources:',
        '  Resource  Requests  Limits',
        '  cpu  350m (10%)  0 (0%)',
        '  memory  1Gi (25%)  2Gi (50%)',
        'Events:',
        '  Type  Reason  Age  From  Message',
        '  Warning  EvictionThresholdMet  60s  islet  Attempting to reclaim memory',
        '',
      ],
    );
  });
});
