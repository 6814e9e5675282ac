/**
 * Owns: where the log of a container's instance lies:
 * `<podLogsDir>/<namespace>_<name>_<uid>/<container>/<attempt>.log`. Spec: cri-mapping.md §2.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../api/pod.ts';
import type { LogInstance } from './log-instance.ts';

/**
 * The path of the log, whether or not the file is there. An instance whose number is known only from
 * above has the newest file that is no younger: numbers are skipped when a container was never made.
 */
export async function logFileOf(
  podLogsDir: string,
  pod: Pod,
  container: string,
  instance: LogInstance,
): Promise<string> {
  const { namespace, name, uid } = pod.metadata;
  const directory = join(podLogsDir, `${namespace}_${name}_${uid}`, container);
  const attempt =
    instance.attemptIs === 'exact'
      ? instance.attempt
      : newestUpTo(instance.attempt, await readdir(directory).catch(() => []));
  return join(directory, `${attempt}.log`);
}

function newestUpTo(most: number, names: readonly string[]): number {
  const numbers = names.flatMap((name) => /^(\d{1,9})\.log$/.exec(name)?.[1] ?? []).map(Number);
  return Math.max(0, ...numbers.filter((n) => n <= most));
}
