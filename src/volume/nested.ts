/**
 * Owns: which directories a volume must hold because other volumes are mounted below it: the runtime
 * cannot make them in a volume that is read-only. Pure.
 */
import type { Pod } from '../api/pod.ts';

/** Relative to the volume, the outermost only. */
export function nestedMountPoints(pod: Pod, volume: string): string[] {
  const found = new Set<string>();
  for (const { volumeMounts = [] } of [
    ...(pod.spec.initContainers ?? []),
    ...pod.spec.containers,
  ]) {
    for (const outer of volumeMounts.filter(
      (m) => m.name === volume && !m.subPath && !m.subPathExpr,
    )) {
      const base = outer.mountPath.replace(/\/*$/, '/');
      for (const { mountPath } of volumeMounts) {
        const inner = mountPath.startsWith(base)
          ? mountPath.slice(base.length).replace(/\/+$/, '')
          : '';
        if (inner !== '' && !inner.split('/').includes('..')) found.add(inner);
      }
    }
  }
  return [...found].filter((path) => ![...found].some((other) => path.startsWith(`${other}/`)));
}
