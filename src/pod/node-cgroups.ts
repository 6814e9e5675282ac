/**
 * Owns: the cgroups of the running node, as configured, put together: those of pods, those above them, and
 * those that other parts of the system are held to.
 */
import type { EventRecorder } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import type { Config } from '../config/model.ts';
import type { NodeFacts } from '../runtime/node-facts.ts';
import type { Clock } from '../util/clock.ts';
import { CgroupKeeper } from './cgroup-keeper.ts';
import type { CgroupDriver } from './cgroup-name.ts';
import { CgroupTree } from './cgroup-tree.ts';
import { CGROUP_ROOT, systemPodCgroups } from './cgroups.ts';
import type { PodCgroups } from './cgroups.ts';
import { ReservedCgroups, enforcedReservations } from './reserved-cgroups.ts';

export interface NodeCgroupsDeps {
  readonly config: Pick<Config, 'kubelet' | 'nodeName'>;
  readonly driver: CgroupDriver;
  readonly facts: NodeFacts;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** Pods that have not ended. */
  readonly activePods: () => readonly Pod[];
}

export function nodeCgroups(deps: NodeCgroupsDeps): { pods: PodCgroups; keeper: CgroupKeeper } {
  const { config, driver, facts, events, clock, activePods } = deps;
  const { kubelet, nodeName } = config;
  const version = facts.cgroupVersion;
  const pods = systemPodCgroups(kubelet, driver, { facts, clock });
  const tree = new CgroupTree({ root: CGROUP_ROOT, version });
  const keeper = new CgroupKeeper({
    cgroups: pods,
    reserved: new ReservedCgroups({ tree, version }),
    reservations: enforcedReservations(kubelet),
    enforcePods: kubelet.cgroupsPerQOS && kubelet.enforceNodeAllocatable.includes('pods'),
    ...{ activePods, nodeName, events, clock },
  });
  return { pods, keeper };
}
