/**
 * Owns: cgroup directories: making, limiting, listing and removing them in every hierarchy, for both
 * versions. On v1 each controller is mounted on its own, so one cgroup is a directory in each; on v2 it
 * is one directory.
 * Invariant: only paths below `root` that were asked for are touched.
 */
import fs from 'node:fs/promises';
import path from 'node:path';
import type { CgroupVersion } from '../runtime/cgroup-version.ts';
import { IsletError } from '../util/errors.ts';
import type { CgroupSetting } from './cgroup-settings.ts';

/** What the agent manages; runtimes make their own directories in the others. */
const MANAGED_V1 = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids', 'hugetlb'];
const MANAGED_V2 = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'];
/** Where runtimes leave directories too, which must go with the pod. */
const OTHERS_V1 = [
  'devices',
  'freezer',
  'blkio',
  'net_cls',
  'net_prio',
  'perf_event',
  'rdma',
  'misc',
  'systemd',
  'unified',
];
const REQUIRED = ['cpu', 'memory'];

export class CgroupTree {
  readonly #root: string;
  readonly #version: CgroupVersion;
  /** Directories of hierarchies, found once: nobody mounts controllers later. */
  #hierarchies: { managed: Map<string, string>; all: string[] } | undefined;

  /** `root` is where cgroups are mounted, e.g. /sys/fs/cgroup. */
  constructor(deps: { root: string; version: CgroupVersion }) {
    this.#root = deps.root;
    this.#version = deps.version;
  }

  /** @throws IsletError `unavailable` when a controller is missing that nothing works without. */
  async check(): Promise<void> {
    const available = await this.#available();
    const missing = REQUIRED.filter((controller) => !available.has(controller));
    if (missing.length === 0) return;
    throw new IsletError(
      'unavailable',
      `cgroup controllers missing below ${this.#root}: ${missing.join(', ')}`,
    );
  }

  async #available(): Promise<Set<string>> {
    if (this.#version === 1) return new Set((await this.#found()).managed.keys());
    return words(path.join(this.#root, 'cgroup.controllers'));
  }

  async #found(): Promise<{ managed: Map<string, string>; all: string[] }> {
    this.#hierarchies ??= await this.#find();
    return this.#hierarchies;
  }

  /** Controllers that are mounted together have one directory under several names. */
  async #find(): Promise<{ managed: Map<string, string>; all: string[] }> {
    const managed = new Map<string, string>();
    const all = new Set<string>();
    for (const controller of [...MANAGED_V1, ...OTHERS_V1]) {
      const dir = await fs.realpath(path.join(this.#root, controller)).catch(() => undefined);
      if (dir === undefined) continue;
      all.add(dir);
      if (MANAGED_V1.includes(controller)) managed.set(controller, dir);
    }
    return { managed, all: [...all] };
  }

  /** Directories of a cgroup that the agent makes, one for each hierarchy. */
  async #managedDirs(cgroup: string): Promise<string[]> {
    if (this.#version === 2) return [path.join(this.#root, cgroup)];
    const { managed } = await this.#found();
    return [...new Set(managed.values())].map((dir) => path.join(dir, cgroup));
  }

  async #allDirs(cgroup: string): Promise<string[]> {
    if (this.#version === 2) return [path.join(this.#root, cgroup)];
    return (await this.#found()).all.map((dir) => path.join(dir, cgroup));
  }

  /** True when the cgroup is there in every hierarchy. */
  async exists(cgroup: string): Promise<boolean> {
    const dirs = await this.#managedDirs(cgroup);
    const found = await Promise.all(dirs.map(isDirectory));
    return found.every(Boolean);
  }

  /** Those of `controllers` that cannot limit this cgroup, because it is not there or does not have them. */
  async missing(cgroup: string, controllers: readonly string[]): Promise<string[]> {
    const missing: string[] = [];
    for (const controller of new Set(controllers)) {
      const dir = await this.#dirOf(cgroup, controller);
      if (dir === undefined || !(await isDirectory(dir))) missing.push(controller);
    }
    return missing;
  }

  /** Makes the cgroup and its ancestors usable, then sets its limits. Safe to repeat. */
  async create(cgroup: string, settings: readonly CgroupSetting[]): Promise<void> {
    if (this.#version === 2) await this.#createV2(cgroup);
    else await this.#createV1(cgroup);
    await this.apply(cgroup, settings);
  }

  async #createV1(cgroup: string): Promise<void> {
    for (const dir of await this.#managedDirs(cgroup)) await fs.mkdir(dir, { recursive: true });
    const cpuset = (await this.#found()).managed.get('cpuset');
    if (cpuset === undefined) return;
    // A new cpuset is empty and takes no process; it must have what its parent has, from the top.
    for (const ancestor of ancestors(cgroup)) {
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        await inherit(path.join(cpuset, ancestor), file);
    }
  }

  /** A controller is there for children only where every ancestor passes it on. */
  async #createV2(cgroup: string): Promise<void> {
    for (const ancestor of ['', ...ancestors(cgroup)]) {
      const dir = path.join(this.#root, ancestor);
      await fs.mkdir(dir, { recursive: true });
      await passOn(dir);
    }
  }

  /** Writes settings whose controller is there; the others cannot be enforced on this node. */
  async apply(cgroup: string, settings: readonly CgroupSetting[]): Promise<void> {
    for (const { controller, file, value } of settings) {
      const dir = await this.#dirOf(cgroup, controller);
      if (dir === undefined) continue;
      await fs.writeFile(path.join(dir, file), value).catch((cause: unknown) => {
        throw new IsletError('failed', `cannot set ${file} of cgroup ${cgroup} to ${value}`, {
          cause,
        });
      });
    }
  }

  async #dirOf(cgroup: string, controller: string): Promise<string | undefined> {
    if (this.#version === 1) {
      const dir = (await this.#found()).managed.get(controller);
      return dir === undefined ? undefined : path.join(dir, cgroup);
    }
    const dir = path.join(this.#root, cgroup);
    return (await words(path.join(dir, 'cgroup.controllers'))).has(controller) ? dir : undefined;
  }

  /** Names of the direct children, in any hierarchy. */
  async children(cgroup: string): Promise<Set<string>> {
    const lists = await Promise.all((await this.#allDirs(cgroup)).map(subdirectories));
    return new Set(lists.flat());
  }

  /** Process ids in the cgroup and all below it. */
  async pids(cgroup: string): Promise<Set<number>> {
    const pids = new Set<number>();
    for (const dir of await this.#allDirs(cgroup)) {
      for (const at of await withDescendants(dir)) {
        for (const pid of await words(path.join(at, 'cgroup.procs'))) pids.add(Number(pid));
      }
    }
    // 0 stands for a process of another pid namespace, which cannot be signalled from here.
    pids.delete(0);
    return pids;
  }

  /** Removes the cgroup and all below it, deepest first. False when something is still busy. */
  async remove(cgroup: string): Promise<boolean> {
    let gone = true;
    for (const dir of await this.#allDirs(cgroup)) {
      for (const at of (await withDescendants(dir)).reverse()) {
        gone = (await removeDirectory(at)) && gone;
      }
    }
    return gone;
  }
}

/** `/a/b` → `/a`, `/a/b`. */
function ancestors(cgroup: string): string[] {
  const parts = cgroup.split('/').filter((part) => part !== '');
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

async function inherit(dir: string, file: string): Promise<void> {
  const own = await fs.readFile(path.join(dir, file), 'utf8');
  if (own.trim() !== '') return;
  const parent = await fs.readFile(path.join(dir, '..', file), 'utf8');
  await fs.writeFile(path.join(dir, file), parent.trim());
}

async function passOn(dir: string): Promise<void> {
  const control = path.join(dir, 'cgroup.subtree_control');
  const [available, passed] = await Promise.all([
    words(path.join(dir, 'cgroup.controllers')),
    words(control),
  ]);
  for (const controller of MANAGED_V2) {
    if (!available.has(controller) || passed.has(controller)) continue;
    // One at a time and best effort: one that is refused must not cost the others.
    await fs.writeFile(control, `+${controller}`).catch(() => undefined);
  }
}

/** The directory, then all below it, parents before children. */
async function withDescendants(dir: string): Promise<string[]> {
  const found = (await isDirectory(dir)) ? [dir] : [];
  for (const at of found) {
    for (const name of await subdirectories(at)) found.push(path.join(at, name));
  }
  return found;
}

async function subdirectories(dir: string): Promise<string[]> {
  const entries = await fs.readdir(dir, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

async function isDirectory(dir: string): Promise<boolean> {
  const stat = await fs.stat(dir).catch(() => undefined);
  return stat?.isDirectory() === true;
}

/** A cgroup without processes and children is removed by rmdir, its files with it. */
async function removeDirectory(dir: string): Promise<boolean> {
  try {
    await fs.rmdir(dir);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

async function words(file: string): Promise<Set<string>> {
  const text = await fs.readFile(file, 'utf8').catch(() => '');
  return new Set(text.split(/\s+/).filter((word) => word !== ''));
}
