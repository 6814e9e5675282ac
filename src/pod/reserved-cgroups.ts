/**
 * Owns: holding the rest of the system to what is reserved for it (`enforceNodeAllocatable` with
 * kube-reserved, system-reserved and their `-compressible` kinds; spec cri-mapping.md §6), on cgroups that are
 * there already.
 * Invariant: such a cgroup is never made, moved or removed here, only limited.
 * With systemd the limits of a unit are undone when systemd reads its units again: the keeper, which comes by
 * each minute, sets them again.
 */
import { quantityMilli, quantityValue } from '../api/quantity.ts';
import type { KubeletSettings } from '../config/model.ts';
import type { CgroupVersion } from '../runtime/cgroup-version.ts';
import { milliToShares } from '../runtime/resources.ts';
import { IsletError } from '../util/errors.ts';
import type { CgroupLimits } from './cgroup-limits.ts';
import { rootName } from './cgroup-name.ts';
import { cgroupSettings } from './cgroup-settings.ts';
import type { CgroupTree } from './cgroup-tree.ts';

export interface Reservation {
  readonly owner: 'kube' | 'system';
  /** Path below the root of the hierarchy. */
  readonly cgroup: string;
  readonly limits: CgroupLimits;
}

type Settings = Pick<
  KubeletSettings,
  | 'enforceNodeAllocatable'
  | 'kubeReserved'
  | 'systemReserved'
  | 'kubeReservedCgroup'
  | 'systemReservedCgroup'
>;

/** What is to be enforced; of a `-compressible` one only the processor time. */
export function enforcedReservations(kubelet: Settings): Reservation[] {
  const { kubeReserved, systemReserved, kubeReservedCgroup, systemReservedCgroup } = kubelet;
  const both = [
    { owner: 'system', amounts: systemReserved, named: systemReservedCgroup },
    { owner: 'kube', amounts: kubeReserved, named: kubeReservedCgroup },
  ] as const;
  return both.flatMap(({ owner, amounts, named }) => {
    const all = kubelet.enforceNodeAllocatable.includes(`${owner}-reserved`);
    if (!all && !kubelet.enforceNodeAllocatable.includes(`${owner}-reserved-compressible`))
      return [];
    const cgroup = `/${rootName(named).join('/')}`;
    return [{ owner, cgroup, limits: limitsOf(amounts, all) }];
  });
}

function limitsOf(amounts: Readonly<Record<string, string>>, all: boolean): CgroupLimits {
  const { cpu, memory, pid } = amounts;
  return {
    ...(cpu !== undefined && { cpuShares: milliToShares(quantityMilli(cpu)) }),
    ...(all && memory !== undefined && { memory: quantityValue(memory) }),
    ...(all && pid !== undefined && { pids: quantityValue(pid) }),
  };
}

export class ReservedCgroups {
  readonly #tree: CgroupTree;
  readonly #version: CgroupVersion;

  constructor(deps: { tree: CgroupTree; version: CgroupVersion }) {
    this.#tree = deps.tree;
    this.#version = deps.version;
  }

  /** @throws IsletError `not-found` for a cgroup that is not there, `failed` when a limit is refused. */
  async enforce({ cgroup, limits }: Reservation): Promise<void> {
    const settings = cgroupSettings(limits, this.#version);
    const controllers = settings.map(({ controller }) => controller);
    const missing = await this.#tree.missing(cgroup, controllers);
    if (missing.length > 0) {
      const where = this.#version === 1 ? 'in the hierarchy of' : 'with the controller';
      throw new IsletError('not-found', `no such cgroup ${where} ${missing.join(', ')}`);
    }
    await this.#tree.apply(cgroup, settings);
  }
}
