/**
 * Owns: transient slices: with the systemd driver a cgroup is a unit, and only systemd may make it.
 * Talks D-Bus through `busctl`, which comes with systemd; that is rare enough (once a pod) to be worth no
 * library. Runtimes create their scopes below the slice.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { CgroupVersion } from '../runtime/cgroup-version.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import type { CgroupName } from './cgroup-name.ts';
import { sliceName } from './cgroup-name.ts';
import type { UnitProperty } from './cgroup-settings.ts';

/** Runs `busctl` with these arguments; rejects when it fails. */
export type Busctl = (args: readonly string[], signal: AbortSignal) => Promise<void>;

const MANAGER = [
  'call',
  'org.freedesktop.systemd1',
  '/org/freedesktop/systemd1',
  'org.freedesktop.systemd1.Manager',
];

export class SystemdSlices {
  readonly #busctl: Busctl;
  readonly #version: CgroupVersion;

  constructor(deps: { busctl: Busctl; version: CgroupVersion }) {
    this.#busctl = deps.busctl;
    this.#version = deps.version;
  }

  /** Starts the slice of a cgroup that does not exist. @throws IsletError `failed` */
  async start(
    name: CgroupName,
    properties: readonly UnitProperty[],
    signal: AbortSignal,
  ): Promise<void> {
    const args = startArguments(name, properties, this.#version);
    try {
      await this.#busctl(args, signal);
    } catch {
      signal.throwIfAborted();
      // A unit of that name that failed once stays loaded and in the way until it is reset.
      await this.#call('reset', name, resetArguments(name), signal).catch(() => undefined);
      await this.#call('start', name, args, signal);
    }
  }

  /** Changes limits of a slice that runs. @throws IsletError `failed` */
  async update(
    name: CgroupName,
    properties: readonly UnitProperty[],
    signal: AbortSignal,
  ): Promise<void> {
    if (properties.length === 0) return;
    await this.#call('change', name, updateArguments(name, properties), signal);
  }

  /** @throws IsletError `failed` */
  async stop(name: CgroupName, signal: AbortSignal): Promise<void> {
    await this.#call('stop', name, stopArguments(name), signal);
  }

  async #call(
    verb: string,
    name: CgroupName,
    args: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#busctl(args, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const text = `cannot ${verb} ${sliceName(name)}: ${messageOf(cause)}`;
      throw new IsletError('failed', text, { cause });
    }
  }
}

export const systemBusctl: Busctl = async (args, signal) => {
  await promisify(execFile)('busctl', [...args], { signal, timeout: 30_000 });
};

export function startArguments(
  name: CgroupName,
  properties: readonly UnitProperty[],
  version: CgroupVersion,
): string[] {
  const slice = sliceName(name);
  const all: UnitProperty[] = [
    ['Description', 's', `cgroup ${slice} of islet`],
    ['Wants', 'as', '1', sliceName(name.slice(0, -1))],
    ['DefaultDependencies', 'b', 'false'],
    ['MemoryAccounting', 'b', 'true'],
    ['CPUAccounting', 'b', 'true'],
    [version === 1 ? 'BlockIOAccounting' : 'IOAccounting', 'b', 'true'],
    ['TasksAccounting', 'b', 'true'],
    ...properties,
  ];
  const signature = 'ssa(sv)a(sa(sv))';
  return [...MANAGER, 'StartTransientUnit', signature, slice, 'replace', ...counted(all), '0'];
}

export function updateArguments(name: CgroupName, properties: readonly UnitProperty[]): string[] {
  const head = [...MANAGER, 'SetUnitProperties', 'sba(sv)', sliceName(name), 'true'];
  return [...head, ...counted(properties)];
}

export function stopArguments(name: CgroupName): string[] {
  return [...MANAGER, 'StopUnit', 'ss', sliceName(name), 'replace'];
}

export function resetArguments(name: CgroupName): string[] {
  return [...MANAGER, 'ResetFailedUnit', 's', sliceName(name)];
}

function counted(properties: readonly UnitProperty[]): string[] {
  return [String(properties.length), ...properties.flat()];
}
