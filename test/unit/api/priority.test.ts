import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../../src/api/pod.ts';
import { isCriticalPod, podPriority } from '../../../src/api/priority.ts';
import { Annotation } from '../../../src/api/reasons.ts';
import { podOf } from '../../support/pods.ts';

const ROWS: readonly [Partial<PodSpec>, number, boolean][] = [
  [{}, 0, false],
  [{ priority: -5 }, -5, false],
  [{ priority: 1_999_999_999 }, 1_999_999_999, false],
  [{ priority: 2_000_000_000 }, 2_000_000_000, true],
  [{ priorityClassName: 'system-cluster-critical' }, 2_000_000_000, true],
  [{ priorityClassName: 'system-node-critical' }, 2_000_001_000, true],
  [{ priorityClassName: 'important' }, 0, false],
  [{ priorityClassName: 'important', priority: 7 }, 7, false],
];

test('a pod is critical by a system class or its priority, with the kubelet’s rule because it is static', () => {
  for (const [spec, priority, critical] of ROWS) {
    const pod = podOf(spec);
    pod.metadata.annotations = { [Annotation.configSource]: 'file' };
    const row = JSON.stringify(spec);
    assert.equal(podPriority(pod), priority, row);
    assert.equal(isCriticalPod(pod, true), critical, row);
    assert.equal(isCriticalPod(pod, false), true, row);
  }
});
