/**
 * Owns: the cgroups of pods and of their QoS classes (spec cri-mapping.md §6): made before a pod's
 * sandbox, removed with all that is left in them after its end.
 *
 *   <cgroupRoot>/kubepods ── pod<uid>                 Guaranteed
 *                        ├── burstable ── pod<uid>
 *                        └── besteffort ── pod<uid>
 *
 * Invariant: every method is safe to repeat and to cut off.
 * Leaves to others: the containers' own cgroups, which the runtime makes below the pod's.
 */
import type { Pod } from '../api/pod.ts';
import { qosClass } from '../api/qos.ts';
import type { QosClass } from '../api/status.ts';
import type { KubeletSettings } from '../config/model.ts';
import type { NodeFacts } from '../runtime/node-facts.ts';
import { MIN_SHARES } from '../runtime/resources.ts';
import type { Clock } from '../util/clock.ts';
import { IsletError } from '../util/errors.ts';
import type { CgroupLimits } from './cgroup-limits.ts';
import { podCgroupLimits, podsLimits, qosLimits } from './cgroup-limits.ts';
import type { CgroupDriver, CgroupName } from './cgroup-name.ts';
import {
  cgroupPath,
  podCgroupParent,
  podName,
  podsName,
  qosName,
  rootName,
  uidOfDirectory,
} from './cgroup-name.ts';
import { cgroupSettings, sliceProperties } from './cgroup-settings.ts';
import { systemBusctl, SystemdSlices } from './cgroup-systemd.ts';
import { CgroupTree } from './cgroup-tree.ts';

export interface PodCgroupsDeps {
  readonly tree: CgroupTree;
  readonly driver: CgroupDriver;
  /** Needed by the systemd driver. */
  readonly slices?: SystemdSlices;
  /** As configured; '' and '/' are the root. */
  readonly cgroupRoot: string;
  /** False: pods get no cgroups of their own and this class does nothing. */
  readonly cgroupsPerQOS: boolean;
  /** Whether `pods` is in enforceNodeAllocatable. */
  readonly enforcePods: boolean;
  readonly facts: NodeFacts;
  readonly clock: Clock;
  /** Sends SIGKILL; never throws. */
  readonly kill: (pid: number) => void;
}

/** A pod's cgroup as found on the node. */
export interface PodCgroup {
  readonly uid: string;
  readonly qos: QosClass;
}

export const CGROUP_ROOT = '/sys/fs/cgroup';

const QOS_CLASSES: readonly QosClass[] = ['Guaranteed', 'Burstable', 'BestEffort'];
const KILL_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 10;

export class PodCgroups {
  readonly #deps: PodCgroupsDeps;
  readonly #root: CgroupName;
  /** Properties that a slice was last given, so that nothing is asked of systemd twice. */
  readonly #given = new Map<string, string>();

  /** Weights that the classes were last given. */
  readonly #weights = new Map<QosClass, number | undefined>();

  constructor(deps: PodCgroupsDeps) {
    this.#deps = deps;
    this.#root = rootName(deps.cgroupRoot);
  }

  /** What the runtime gets as parent of the pod's sandbox. @throws IsletError `invalid` for a bad uid. */
  cgroupParent(pod: Pod): string {
    return podCgroupParent(pod, { ...this.#deps, cgroupDriver: this.#deps.driver });
  }

  #nameOf(pod: Pod): CgroupName {
    return podName(this.#root, qosClass(pod), pod.metadata.uid);
  }

  #path(name: CgroupName): string {
    return cgroupPath(name, this.#deps.driver);
  }

  /**
   * Makes kubepods and its classes; before any pod, and again to enforce limits that were refused.
   * @throws IsletError `unavailable` without the needed controllers, `failed` when a limit is refused.
   */
  async ensureRoot(signal: AbortSignal): Promise<void> {
    const { cgroupsPerQOS, tree, facts, enforcePods } = this.#deps;
    if (!cgroupsPerQOS) return;
    await tree.check();
    await this.#ensure(podsName(this.#root), podsLimits(facts, enforcePods), signal);
    await this.refreshQos([], signal, { onlyMissing: true });
  }

  /** Sets the weights of the classes; `pods` are those that have not ended. */
  async refreshQos(
    pods: readonly Pod[],
    signal: AbortSignal,
    options: { onlyMissing?: boolean; onlyChanged?: boolean } = {},
  ): Promise<void> {
    const { cgroupsPerQOS, tree, facts } = this.#deps;
    if (!cgroupsPerQOS) return;
    for (const qos of ['Burstable', 'BestEffort'] as const) {
      const name = qosName(this.#root, qos);
      if (options.onlyMissing && (await tree.exists(this.#path(name)))) continue;
      const limits = qosLimits(qos, pods, facts);
      if (options.onlyChanged && this.#weights.get(qos) === limits.cpuShares) continue;
      await this.#ensure(name, limits, signal);
      this.#weights.set(qos, limits.cpuShares);
    }
  }

  /** Makes the pod's cgroup and sets its limits. @throws IsletError `failed`, `invalid` */
  async ensure(pod: Pod, signal: AbortSignal): Promise<void> {
    if (!this.#deps.cgroupsPerQOS) return;
    await this.#ensure(this.#nameOf(pod), podCgroupLimits(pod, this.#deps.facts), signal);
  }

  async #ensure(name: CgroupName, limits: CgroupLimits, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { tree, slices, driver, facts } = this.#deps;
    if (driver === 'systemd' && slices) await this.#ensureSlice(slices, name, limits, signal);
    await tree.create(this.#path(name), cgroupSettings(limits, facts.cgroupVersion));
  }

  async #ensureSlice(
    slices: SystemdSlices,
    name: CgroupName,
    limits: CgroupLimits,
    signal: AbortSignal,
  ): Promise<void> {
    const { tree, facts } = this.#deps;
    const cgroup = this.#path(name);
    const properties = sliceProperties(limits, facts.cgroupVersion);
    const text = JSON.stringify(properties);
    const running = await tree.exists(cgroup);
    if (running && this.#given.get(cgroup) === text) return;
    if (running) await slices.update(name, properties, signal);
    else await slices.start(name, properties, signal);
    this.#given.set(cgroup, text);
  }

  /** Whether the pod has its cgroup in every hierarchy; true where pods have none. */
  async exists(pod: Pod): Promise<boolean> {
    const { cgroupsPerQOS, tree } = this.#deps;
    return !cgroupsPerQOS || tree.exists(this.#path(this.#nameOf(pod)));
  }

  /** Every pod that has a cgroup, or a part of one. */
  async list(): Promise<PodCgroup[]> {
    const { cgroupsPerQOS, tree, driver } = this.#deps;
    if (!cgroupsPerQOS) return [];
    const found: PodCgroup[] = [];
    for (const qos of QOS_CLASSES) {
      const level = qosName(this.#root, qos);
      for (const directory of await tree.children(this.#path(level))) {
        const uid = uidOfDirectory(directory, level, driver);
        if (uid !== undefined) found.push({ uid, qos });
      }
    }
    return found;
  }

  /**
   * Kills what is left in the pod's cgroup, then removes it. A missing one is a success.
   * @throws IsletError `failed` when it stays busy.
   */
  async destroy(uid: string, signal: AbortSignal): Promise<void> {
    if (!this.#deps.cgroupsPerQOS) return;
    for (const qos of QOS_CLASSES) await this.#destroy(podName(this.#root, qos, uid), signal);
  }

  async #destroy(name: CgroupName, signal: AbortSignal): Promise<void> {
    const { tree, clock, kill, driver, slices } = this.#deps;
    const cgroup = this.#path(name);
    this.#given.delete(cgroup);
    if (!(await this.#present(name))) return;
    let pause = FIRST_PAUSE_MS;
    for (let attempt = 0; attempt < KILL_ATTEMPTS; attempt += 1) {
      const pids = await tree.pids(cgroup);
      pids.delete(process.pid);
      for (const pid of pids) kill(pid);
      if (driver === 'systemd' && slices) await slices.stop(name, signal).catch(() => undefined);
      if (await tree.remove(cgroup)) return;
      // The killed need a moment to die; a cgroup is busy until then.
      await clock.sleep(pause, signal);
      pause *= 2;
    }
    if (await tree.remove(cgroup)) return;
    throw new IsletError(
      'failed',
      `cgroup ${cgroup} is still busy after ${KILL_ATTEMPTS} attempts`,
    );
  }

  async #present(name: CgroupName): Promise<boolean> {
    const siblings = await this.#deps.tree.children(this.#path(name.slice(0, -1)));
    const own = this.#path(name).split('/').at(-1) ?? '';
    return siblings.has(own);
  }

  /** Leaves a pod that is gone, but whose volumes are not, next to no CPU. */
  async throttle({ uid, qos }: PodCgroup, signal: AbortSignal): Promise<void> {
    if (!this.#deps.cgroupsPerQOS) return;
    signal.throwIfAborted();
    const name = podName(this.#root, qos, uid);
    const settings = cgroupSettings({ cpuShares: MIN_SHARES }, this.#deps.facts.cgroupVersion);
    await this.#deps.tree.apply(this.#path(name), settings);
  }
}

/** Kills a process if it is still there. */
export function sigkill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended on its own, or belongs to someone whom the next attempt will find gone.
  }
}

/** The cgroups of the running node, as configured. */
export function systemPodCgroups(
  kubelet: Pick<KubeletSettings, 'cgroupRoot' | 'cgroupsPerQOS' | 'enforceNodeAllocatable'>,
  driver: CgroupDriver,
  deps: { facts: NodeFacts; clock: Clock; root?: string },
): PodCgroups {
  const { facts, clock, root = CGROUP_ROOT } = deps;
  const version = facts.cgroupVersion;
  return new PodCgroups({
    tree: new CgroupTree({ root, version }),
    driver,
    ...(driver === 'systemd' && { slices: new SystemdSlices({ busctl: systemBusctl, version }) }),
    cgroupRoot: kubelet.cgroupRoot,
    cgroupsPerQOS: kubelet.cgroupsPerQOS,
    enforcePods: kubelet.enforceNodeAllocatable.includes('pods'),
    facts,
    clock,
    kill: sigkill,
  });
}
