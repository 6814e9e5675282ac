import assert from 'node:assert/strict';
import test from 'node:test';
import { faults, HEAD, load } from './support.ts';

test('what is collected, and when, has the defaults of the kubelet', () => {
  const { kubelet, deadContainers } = load(undefined);
  assert.deepEqual(deadContainers, { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 });
  assert.equal(kubelet.containerLogMaxSize, '10Mi');
  assert.equal(kubelet.containerLogMaxFiles, 5);
  assert.equal(kubelet.containerLogMaxWorkers, 1);
  assert.equal(kubelet.containerLogMonitorIntervalMs, 10_000);
  assert.equal(kubelet.imageGCHighThresholdPercent, 85);
  assert.equal(kubelet.imageGCLowThresholdPercent, 80);
  assert.equal(kubelet.imageMinimumGCAgeMs, 120_000);
  assert.equal(kubelet.imageMaximumGCAgeMs, 0);
});

test('it is what the file and the flags say', () => {
  const text =
    'imageGCHighThresholdPercent: 100\nimageGCLowThresholdPercent: 0\nimageMinimumGCAge: 0s\n' +
    'imageMaximumGCAge: 48h\ncontainerLogMaxSize: "-1"\ncontainerLogMonitorInterval: 3s\ncontainerLogMaxWorkers: 2';
  const { kubelet, deadContainers } = load(HEAD + text, {
    minimumContainerTtlDuration: '1m30s',
    maximumDeadContainersPerContainer: '-1',
    maximumDeadContainers: '240',
  });
  assert.deepEqual(deadContainers, { minAgeMs: 90_000, maxPerContainer: -1, maxTotal: 240 });
  assert.equal(kubelet.imageGCHighThresholdPercent, 100);
  assert.equal(kubelet.imageGCLowThresholdPercent, 0);
  assert.equal(kubelet.imageMinimumGCAgeMs, 120_000, 'Go cannot tell zero from absent');
  assert.equal(kubelet.imageMaximumGCAgeMs, 48 * 3_600_000);
  assert.equal(kubelet.containerLogMaxSize, '-1');
  assert.equal(kubelet.containerLogMonitorIntervalMs, 3000);
  assert.equal(kubelet.containerLogMaxWorkers, 2);
});

test('flags that make no sense are named', () => {
  const wrong = {
    minimumContainerTtlDuration: '-1s',
    maximumDeadContainersPerContainer: 'many',
    maximumDeadContainers: '1.5',
  };
  const lines = faults(undefined, wrong);
  assert.equal(lines.length, 3);
  assert.match(lines.join('\n'), /^--minimum-container-ttl-duration: .*found "-1s"/m);
  assert.match(lines.join('\n'), /^--maximum-dead-containers-per-container: .*found "many"/m);
  assert.match(lines.join('\n'), /^--maximum-dead-containers: .*found "1.5"/m);
});
