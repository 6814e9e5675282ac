import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { StatsAnswers } from '../../../src/stats/answers.ts';
import { pod } from '../server/support.ts';
import { put } from './support.ts';
import { World } from './world.ts';

const claim = (name: string, claimName: string) => ({ name, persistentVolumeClaim: { claimName } });

/** Samples by name and labels. */
function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

test('claims are told once each with how full they are, logs with what they take', async (t) => {
  const w = await World.make(t, 2);
  w.pods = [
    pod('a', {
      spec: { volumes: [claim('v', 'data'), claim('w', 'none'), { name: 'x', emptyDir: {} }] },
    }),
    pod('b', { spec: { volumes: [claim('v', 'data')] } }),
  ];
  put(w.root, 'node/uid-a/v/file', 'x');
  put(w.root, 'node/uid-a/x/file', 'x');
  put(w.root, 'node/logs/uid-b/app/0.log', 'y'.repeat(10_000));
  const answers = new StatsAnswers({ nodeName: 'edge1', cpus: 1, reader: () => w.stats });
  const samples = samplesOf(await answers.diskMetrics(w.signal));
  const labels = '{namespace="default",persistentvolumeclaim="data"}';
  const { bsize, blocks, files } = fs.statfsSync(w.root);
  const of = (what: string): number | undefined =>
    samples.get(`kubelet_volume_stats_${what}${labels}`);
  assert.equal(of('capacity_bytes'), bsize * blocks);
  assert.equal(of('inodes'), files);
  assert.equal((of('inodes_free') ?? 0) + (of('inodes_used') ?? 0), files);
  assert.ok((of('used_bytes') ?? 0) > 0 && (of('available_bytes') ?? 0) > 0);
  const logs =
    'kubelet_container_log_filesystem_used_bytes{uid="uid-b",namespace="default",pod="b-edge1",container="app"}';
  assert.ok((samples.get(logs) ?? 0) >= 10_000);
  assert.equal(samples.size, 7);
});

test('a disk that does not answer leaves the other metrics alone', async (t) => {
  const w = await World.make(t, 2);
  w.stats.kept = () => Promise.reject(new Error('no'));
  const answers = (reader: () => typeof w.stats | undefined) =>
    new StatsAnswers({ nodeName: 'edge1', cpus: 1, reader }).diskMetrics(w.signal);
  assert.equal(await answers(() => w.stats), '');
  assert.equal(await answers(() => undefined), '');
});
