/**
 * Owns: the files on the host that a container needs beside its volumes: log directories, the
 * termination log, /etc/hosts and the log symlink (spec/cri-mapping.md §3.3, volumes.md §1).
 */
import { randomBytes } from 'node:crypto';
import {
  chmod,
  mkdir,
  readFile,
  readdir,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import type { Pod } from '../api/pod.ts';
import { podDir } from '../volume/paths.ts';
import { hostsText } from './hosts.ts';

export interface PodFilesDeps {
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** `/var/log/containers`. */
  readonly containerLogsDir: string;
  readonly clusterDomain: string;
}

/** Longest file name that the symlink may have, `.log` included. */
const LONGEST_NAME = 255;

export class PodFiles {
  readonly #deps: PodFilesDeps;

  constructor(deps: PodFilesDeps) {
    this.#deps = deps;
  }

  podDir(uid: string): string {
    return podDir(this.#deps.rootDir, uid);
  }

  logDir(pod: { namespace: string; name: string; uid: string }): string {
    return path.join(this.#deps.podLogsDir, `${pod.namespace}_${pod.name}_${pod.uid}`);
  }

  logFile(
    pod: { namespace: string; name: string; uid: string },
    container: string,
    restartCount: number,
  ): string {
    return path.join(this.logDir(pod), container, `${restartCount}.log`);
  }

  /** The pod's directories; safe to repeat. */
  async ensurePodDirs(pod: Pod): Promise<void> {
    const dir = this.podDir(pod.metadata.uid);
    await mkdir(path.join(dir, 'volumes'), { recursive: true, mode: 0o750 });
    await mkdir(path.join(dir, 'plugins'), { recursive: true, mode: 0o750 });
    await mkdir(this.logDir(pod.metadata), { recursive: true, mode: 0o755 });
  }

  async ensureContainerLogDir(pod: Pod, container: string): Promise<void> {
    await mkdir(path.join(this.logDir(pod.metadata), container), { recursive: true, mode: 0o755 });
  }

  /** The highest N of `N.log*` of the container, or undefined: survives the loss of every record. */
  async lastLogNumber(pod: Pod, container: string): Promise<number | undefined> {
    const names = await readdir(path.join(this.logDir(pod.metadata), container)).catch(() => []);
    const numbers = names.flatMap((name) => /^(\d+)\.log/.exec(name)?.[1] ?? []).map(Number);
    return numbers.length > 0 ? Math.max(...numbers) : undefined;
  }

  /** A fresh, empty file for the termination message of one run; it goes with the record of the run. */
  async createTerminationLog(pod: Pod, container: string): Promise<string> {
    const dir = path.join(this.podDir(pod.metadata.uid), 'containers', container);
    await mkdir(dir, { recursive: true, mode: 0o750 });
    const file = path.join(dir, randomBytes(4).toString('hex'));
    await writeFile(file, '');
    await chmod(file, 0o666); // whatever the umask: the container's user writes it
    return file;
  }

  /** Removes the termination log of a run, if it is one of ours. */
  async removeTerminationLog(uid: string, file: string | undefined): Promise<void> {
    const own = path.join(this.podDir(uid), 'containers') + path.sep;
    if (file?.startsWith(own)) await rm(file, { force: true });
  }

  /** Writes the pod's hosts file anew, or says that the container gets none. */
  async writeHosts(pod: Pod, podIps: readonly string[]): Promise<string | undefined> {
    const hostNetwork = pod.spec.hostNetwork === true;
    if (!hostNetwork && podIps.length === 0) return undefined;
    const hostFile = hostNetwork ? await readFile('/etc/hosts', 'utf8').catch(() => '') : undefined;
    const file = path.join(this.podDir(pod.metadata.uid), 'etc-hosts');
    await writeFile(
      file,
      hostsText({ pod, podIps, hostFile, clusterDomain: this.#deps.clusterDomain }),
    );
    await chmod(file, 0o644);
    return file;
  }

  symlinkPath(pod: { namespace: string; name: string }, container: string, id: string): string {
    const stem = `${pod.name}_${pod.namespace}_${container}-${id}`;
    return path.join(this.#deps.containerLogsDir, `${stem.slice(0, LONGEST_NAME - 4)}.log`);
  }

  /** Best effort: log collectors look there, the pod itself does not need it. */
  async linkLog(pod: Pod, container: string, id: string, restartCount: number): Promise<void> {
    const target = this.logFile(pod.metadata, container, restartCount);
    if (!(await stat(target).catch(() => undefined))) return;
    const link = this.symlinkPath(pod.metadata, container, id);
    await mkdir(this.#deps.containerLogsDir, { recursive: true, mode: 0o755 });
    await symlink(target, link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }

  /** Removes the log of one run, its rotated parts and its symlink. */
  async removeLog(
    pod: { namespace: string; name: string; uid: string },
    container: string,
    id: string,
    restartCount: number | undefined,
  ): Promise<void> {
    await rm(this.symlinkPath(pod, container, id), { force: true });
    if (restartCount === undefined) return;
    const dir = path.join(this.logDir(pod), container);
    for (const name of await readdir(dir).catch(() => [])) {
      if (name === `${restartCount}.log` || name.startsWith(`${restartCount}.log.`)) {
        await rm(path.join(dir, name), { force: true });
      }
    }
  }

  /** Removes what is left of the logs of runs before number `restartCount`. */
  async removeLogsBefore(
    pod: { namespace: string; name: string; uid: string },
    container: string,
    restartCount: number,
  ): Promise<void> {
    const dir = path.join(this.logDir(pod), container);
    for (const name of await readdir(dir).catch(() => [])) {
      const number = /^(\d+)\.log/.exec(name)?.[1];
      if (number !== undefined && Number(number) < restartCount) {
        await rm(path.join(dir, name), { force: true });
      }
    }
  }

  /** Removes the logs of a pod and every link to them, also of runs that the runtime has forgotten. */
  async removePodLogs(pod: { namespace: string; name: string; uid: string }): Promise<void> {
    const logs = this.logDir(pod);
    const links = this.#deps.containerLogsDir;
    const own = `${pod.name}_${pod.namespace}_`.slice(0, LONGEST_NAME - 4);
    for (const name of await readdir(links).catch(() => [])) {
      if (!name.startsWith(own)) continue;
      const link = path.join(links, name);
      const target = await readlink(link).catch(() => '');
      if (target.startsWith(logs + path.sep)) await rm(link, { force: true });
    }
    await rm(logs, { recursive: true, force: true });
  }
}
