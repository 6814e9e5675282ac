/**
 * Owns: the last status of a pod whose worker has stopped all its containers for good (spec:
 * pod-lifecycle.md §10): a container that was there and does not say how it ended counts as killed.
 */
import type { Pod } from '../api/pod.ts';
import { isStaticPod } from '../api/priority.ts';
import type { ContainerStatus, PodPhase } from '../api/status.ts';
import { LOST_WHEN_TERMINATED, lostState } from './container-state.ts';
import type { ContainerStatuses } from './container-status.ts';

/**
 * Containers that never had their turn, because the pod ended while it was initialized, stay waiting.
 * A pod from an API server that has not ended by itself has failed; a static pod keeps its phase.
 */
export function terminated(
  pod: Pod,
  statuses: ContainerStatuses,
  phase: PodPhase,
): { statuses: ContainerStatuses; phase: PodPhase } {
  const tried = statuses.init.findLastIndex(hasRun) + 1;
  const last = statuses.init.at(-1);
  const initialized =
    last === undefined || last.ready || last.started || statuses.regular.some(hasRun);
  const unfinished = (phase === 'Pending' || phase === 'Running') && !isStaticPod(pod);
  return {
    statuses: {
      regular: initialized ? statuses.regular.map(ended) : statuses.regular,
      init: statuses.init.map((s, index) => (index < tried ? ended(s) : s)),
      ephemeral: statuses.ephemeral.map(ended),
    },
    phase: unfinished ? 'Failed' : phase,
  };
}

function hasRun(status: ContainerStatus): boolean {
  const { state, lastState } = status;
  return (
    state.running !== undefined ||
    state.terminated !== undefined ||
    lastState.terminated !== undefined
  );
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state.terminated !== undefined) return status;
  return {
    ...status,
    state: { terminated: lostState(LOST_WHEN_TERMINATED) },
    ready: false,
    started: false,
  };
}
