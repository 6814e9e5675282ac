import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { topNode, topPods } from '../../../src/cli/top.ts';
import { startAgent } from './support.ts';

const TIME = '2026-01-01T00:59:50Z';
const MIB = 2 ** 20;

const usage = (nanoCores: number, mib: number) => ({
  cpu: { time: TIME, usageNanoCores: nanoCores },
  memory: { time: TIME, workingSetBytes: mib * MIB },
});

const podOf = (namespace: string, name: string, containers: Record<string, [number, number]>) => ({
  podRef: { name: `${name}-edge1`, namespace, uid: name },
  // The sandbox's own part, which kubectl does not show.
  ...usage(999_000_000, 900),
  containers: Object.entries(containers).map(([name, [cpu, mib]]) => ({
    name,
    ...usage(cpu, mib),
  })),
});

async function start(t: TestContext, namespaces = ['default', 'default']) {
  const agent = await startAgent(t);
  const [first = '', second = ''] = namespaces;
  agent.view.stats.summary = () =>
    Promise.resolve({
      node: { nodeName: 'edge1', ...usage(1_000_000_001, 2048) },
      pods: [
        podOf(second, 'web', { app: [12_000_001, 30.9], log: [1, 5] }),
        podOf(first, 'api', { app: [250_000_000, 10] }),
      ],
    });
  return agent;
}

describe('top', () => {
  it('shows pods as kubectl does: the sum of their containers, ordered by name', async (t) => {
    const { run } = await start(t);
    const { status, out, err } = await run(topPods, { names: [] });
    assert.deepEqual([status, err], [0, '']);
    assert.deepEqual(out.split('\n'), [
      'NAME        CPU(cores)   MEMORY(bytes)',
      'api-edge1   250m         10Mi',
      'web-edge1   13m          35Mi',
      '',
    ]);
  });

  it('shows containers, several namespaces, another order', async (t) => {
    const { run } = await start(t, ['a', 'b']);
    const { out } = await run(topPods, { names: [], containers: true, sortBy: 'memory' });
    assert.deepEqual(out.split('\n'), [
      'NAMESPACE   POD         NAME   CPU(cores)   MEMORY(bytes)',
      'b           web-edge1   app    13m          30Mi',
      'b           web-edge1   log    1m           5Mi',
      'a           api-edge1   app    250m         10Mi',
      '',
    ]);
    const { out: byCpu } = await run(topPods, { names: [], sortBy: 'cpu' });
    assert.match(byCpu, /api[^]*web/);
    const { out: inB } = await run(topPods, { names: [], namespace: 'b' });
    assert.deepEqual(inB.split('\n').slice(1), ['web-edge1   13m          35Mi', '']);
  });

  it('shows the node against what it has for pods', async (t) => {
    const { run, view } = await start(t);
    assert.deepEqual(view.allocatable, { cpuMilli: 4000, memory: 8 * 2 ** 30 });
    const { out } = await run(topNode, {});
    assert.deepEqual(out.split('\n'), [
      'NAME    CPU(cores)   CPU(%)   MEMORY(bytes)   MEMORY(%)',
      'edge1   1001m        25%      2048Mi          25%',
      '',
    ]);
  });

  it('gives the objects of the metrics API', async (t) => {
    const { run } = await start(t);
    const { out } = await run(topPods, { names: ['api'], output: 'json' });
    assert.deepEqual(JSON.parse(out), {
      kind: 'PodMetricsList',
      apiVersion: 'metrics.k8s.io/v1beta1',
      metadata: {},
      items: [
        {
          metadata: { name: 'api-edge1', namespace: 'default' },
          timestamp: TIME,
          window: '10s',
          containers: [{ name: 'app', usage: { cpu: '250000000n', memory: '10240Ki' } }],
        },
      ],
    });
    const node = JSON.parse((await run(topNode, { output: 'json' })).out) as {
      items: { usage: object }[];
    };
    assert.deepEqual(node.items[0]?.usage, { cpu: '1000000001n', memory: '2097152Ki' });
  });

  it('says in one line what is wrong', async (t) => {
    const { run } = await start(t);
    for (const [args, text] of [
      [{ names: ['nope'] }, 'error: nothing is known of the usage of pod "nope"\n'],
      [{ names: [], sortBy: 'age' }, 'error: --sort-by "age": allowed are cpu, memory\n'],
      [{ names: [], output: 'wide' }, 'error: -o "wide": allowed are json, yaml\n'],
    ] as const) {
      const { status, out, err } = await run(topPods, args);
      assert.deepEqual([status, out, err], [1, '', text]);
    }
    const nowhere = await run(topPods, { names: [], namespace: 'z' });
    assert.deepEqual([nowhere.out, nowhere.err], ['', 'No resources found in z namespace.\n']);
  });
});
