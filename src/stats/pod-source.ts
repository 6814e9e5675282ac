/**
 * Owns: what statistics need to know of a pod: where its things are, and which of its containers run.
 */
import { allContainers } from '../api/pod.ts';
import type { Pod } from '../api/pod.ts';

/** A volume that has a size, as volume/measured.ts tells it. */
export interface SizedVolume {
  readonly name: string;
  readonly dir: string;
  readonly how: 'walk' | 'statfs';
  readonly local: boolean;
  readonly claim?: string;
}

export interface PodSource {
  /** Pods as they are wanted or still ending, with their live status. */
  pods(): readonly Pod[];
  /** Path of the pod's cgroup; undefined where pods have none of their own. */
  cgroupOf(pod: Pod): string | undefined;
  /** Holds one directory for each container. */
  logDir(pod: Pod): string;
  hostsFile(pod: Pod): string;
  volumes(pod: Pod): readonly SizedVolume[];
}

export interface RunningContainer {
  readonly name: string;
  readonly id: string;
  readonly image: string;
  readonly startTimeMs: number;
}

/** As the pod's status has them, in the order of the manifest. */
export function runningContainers(pod: Pod): RunningContainer[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status;
  const statuses = new Map(
    [...initContainerStatuses, ...containerStatuses].map((s) => [s.name, s]),
  );
  return allContainers(pod).flatMap(({ name }) => {
    const { state, containerID = '', image = '' } = statuses.get(name) ?? {};
    if (!state?.running || containerID === '') return [];
    const id = containerID.slice(containerID.indexOf('://') + 3);
    return [{ name, id, image, startTimeMs: timeOf(state.running.startedAt) }];
  });
}

/** Wall milliseconds of a time as the API writes it; 0 for none. */
export function timeOf(text: string | undefined): number {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? 0 : time;
}
