/**
 * Owns: mounting and unmounting, through mount(8) and umount(8) of util-linux: Node has no mount(2).
 * Leaves to others: what is mounted where, and retrying.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { parseMountInfo } from './mount-table.ts';
import type { MountEntry } from './mount-table.ts';
import { volumeError } from './volume-error.ts';

const run = promisify(execFile);

export interface Mounter {
  /** In the order of mounting; paths are free of symbolic links. */
  list(): Promise<MountEntry[]>;
  mount(
    what: { fsType: string; options: readonly string[] },
    target: string,
    signal: AbortSignal,
  ): Promise<void>;
  /** `source` is used as it is, so it may lead through /proc/<pid>/fd. */
  bind(source: string, target: string, signal: AbortSignal): Promise<void>;
  /** Makes the mount at `target`, and those below it, pass on what is mounted in them. */
  share(target: string, signal: AbortSignal): Promise<void>;
  /** `lazy` takes it out of the tree at once, though somebody still uses it. */
  unmount(target: string, lazy: boolean, signal: AbortSignal): Promise<void>;
}

/** Every call throws IsletError. */
export class SystemMounter implements Mounter {
  async list(): Promise<MountEntry[]> {
    try {
      return parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
    } catch (cause) {
      throw volumeError('reading the mount table', cause);
    }
  }

  async mount(
    what: { fsType: string; options: readonly string[] },
    target: string,
    signal: AbortSignal,
  ): Promise<void> {
    const options = what.options.length === 0 ? [] : ['-o', what.options.join(',')];
    const source = what.fsType === 'hugetlbfs' ? 'nodev' : what.fsType;
    const args = ['-t', what.fsType, ...options, source, target];
    await this.#run(`mounting ${what.fsType} on ${target}`, 'mount', args, signal);
  }

  async bind(source: string, target: string, signal: AbortSignal): Promise<void> {
    const args = ['--no-canonicalize', '--bind', source, target];
    await this.#run(`binding ${source} to ${target}`, 'mount', args, signal);
  }

  async share(target: string, signal: AbortSignal): Promise<void> {
    const args = ['--no-canonicalize', '--make-rshared', target];
    await this.#run(`making ${target} a shared mount`, 'mount', args, signal);
  }

  async unmount(target: string, lazy: boolean, signal: AbortSignal): Promise<void> {
    const args = ['--no-canonicalize', ...(lazy ? ['--lazy'] : []), target];
    await this.#run(`unmounting ${target}`, 'umount', args, signal);
  }

  async #run(doing: string, command: string, args: string[], signal: AbortSignal): Promise<void> {
    try {
      await run(command, args, { signal });
    } catch (cause) {
      const stderr = (cause as { stderr?: unknown }).stderr;
      // What follows the first line is advice to look elsewhere.
      const said = typeof stderr === 'string' ? stderr.trim().split('\n', 1)[0] : '';
      throw volumeError(doing, cause, said === '' ? undefined : said);
    }
  }
}
