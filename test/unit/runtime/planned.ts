/**
 * Owns: plans as short lines, for the tests that read them.
 */
import type { Pod } from '../../../src/api/pod.ts';
import type { RuntimePodStatus } from '../../../src/runtime/model.ts';
import type { ProbeVerdicts } from '../../../src/runtime/plan-input.ts';
import { computePodActions } from '../../../src/runtime/plan.ts';
import type { Step } from '../../../src/runtime/step.ts';

export const quiet: ProbeVerdicts = {
  livenessFailed: () => false,
  startupFailed: () => false,
  startupSucceeded: () => undefined,
};

export function plan(
  pod: Pod,
  status: RuntimePodStatus,
  probes: Partial<ProbeVerdicts> = {},
  lastTriedAttempt?: number,
): string[] {
  const all = { ...quiet, ...probes };
  return computePodActions({ pod, status, probes: all, lastTriedAttempt }).map(shown);
}

function shown(step: Step): string {
  switch (step.kind) {
    case 'killPod':
      return 'kill pod';
    case 'killContainer':
      return `kill ${step.id} (${step.reason})`;
    case 'stopContainers':
      return `stop ${step.ids.join(' ')}`;
    case 'resetContainer':
      return `reset ${step.id}${step.ended ? ' (ended)' : ''}`;
    case 'removeContainer':
      return `remove ${step.id}${step.withLogs ? ' with logs' : ''}`;
    case 'removeSandbox':
      return `remove ${step.id}`;
    case 'createSandbox':
      return `create sandbox ${step.attempt}${step.changed ? ' (changed)' : ''}`;
    case 'startContainer':
      return `start ${step.role} ${step.name}`;
  }
}
