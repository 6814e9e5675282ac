/**
 * Owns: finding logs that no pod has any more: directories of earlier pods, and links in
 * `/var/log/containers` that lead nowhere (spec: gc-logs-images.md §2, steps 7 and 8).
 * Invariant: only what is certainly islet's is named. Unlike the kubelet, which removes the logs of every pod that
 * it does not know: others may have their logs in the same directory. Ours are those of pods that have the
 * name of a wanted one, and those that leftovers.ts tells of.
 */
import { readdir, readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import type { PodRef } from '../pod/ports.ts';

/** Every log directory `<namespace>_<name>_<uid>`, as the pod that it is of. */
export async function podsWithLogs(podLogsDir: string): Promise<PodRef[]> {
  const names = await readdir(podLogsDir).catch(() => []);
  return names.flatMap((name) => podOfDirectory(name) ?? []);
}

/** Logs of earlier pods of a wanted name. `isAlive`: somebody works on the pod, or the runtime has it. */
export function staleLogs(
  logs: readonly PodRef[],
  wantedNames: ReadonlySet<string>,
  isAlive: (uid: string) => boolean,
): PodRef[] {
  return logs.filter(
    ({ uid, name, namespace }) => wantedNames.has(`${name}_${namespace}`) && !isAlive(uid),
  );
}

/**
 * Links below `linksDir` to logs below `podLogsDir` that are not there. A log that is rotated just now is
 * not there either: its container runs.
 */
export async function deadLinks(
  linksDir: string,
  podLogsDir: string,
  isAlive: (uid: string) => boolean,
): Promise<string[]> {
  const names = await readdir(linksDir).catch(() => []);
  const dead: string[] = [];
  for (const name of names.filter((one) => one.endsWith('.log'))) {
    const link = path.join(linksDir, name);
    const target = await readlink(link).catch(() => '');
    if (!target.startsWith(podLogsDir + path.sep)) continue;
    const [directory = ''] = target.slice(podLogsDir.length + 1).split(path.sep);
    if (isAlive(podOfDirectory(directory)?.uid ?? '')) continue;
    const gone = await stat(target).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
    );
    if (gone) dead.push(link);
  }
  return dead;
}

function podOfDirectory(name: string): PodRef | undefined {
  const [namespace, pod, uid, ...more] = name.split('_');
  if (!namespace || !pod || !uid || more.length > 0) return undefined;
  return { namespace, name: pod, uid };
}
