/**
 * Owns: the kernel's mount table as /proc/self/mountinfo shows it.
 */

export interface MountEntry {
  readonly mountPoint: string;
  /** The part of the file system that is mounted; `/` unless it is a bind mount of a part. */
  readonly root: string;
  readonly fsType: string;
  /** Of the mount and of the file system together. */
  readonly options: readonly string[];
  /** Whether mounts made below it appear in the other places where it is mounted. */
  readonly shared: boolean;
}

/** In the order in which things were mounted. Lines that cannot be understood are left out. */
export function parseMountInfo(text: string): MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of text.split('\n')) {
    // 36 35 98:0 /root /mount/point rw,noatime shared:1 - ext3 /dev/root rw,errors=continue
    const [own, system] = line.split(' - ', 2);
    const fields = own?.split(' ') ?? [];
    const [root, mountPoint, mountOptions] = [fields[3], fields[4], fields[5]];
    const [fsType, , systemOptions] = system?.split(' ') ?? [];
    if (root === undefined || mountPoint === undefined || fsType === undefined) continue;
    entries.push({
      mountPoint: unescaped(mountPoint),
      root: unescaped(root),
      fsType,
      shared: fields.slice(6).some((field) => field.startsWith('shared:')),
      options: [mountOptions, systemOptions].flatMap((list) => list?.split(',') ?? []),
    });
  }
  return entries;
}

/** Space, tab, newline and backslash are written as three octal digits. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** Mounts at `dir` and below it, those mounted last first: the order in which they can be unmounted. */
export function mountsBelow(entries: readonly MountEntry[], dir: string): MountEntry[] {
  return entries
    .filter(({ mountPoint }) => mountPoint === dir || mountPoint.startsWith(`${dir}/`))
    .reverse();
}

/** What is seen at exactly this path, or undefined when nothing is mounted there. */
export function mountAt(entries: readonly MountEntry[], path: string): MountEntry | undefined {
  return entries.findLast(({ mountPoint }) => mountPoint === path);
}

/** The mount that `path` lies on: of those on the way to it the deepest, and there the last. */
export function mountHolding(entries: readonly MountEntry[], path: string): MountEntry | undefined {
  let found: MountEntry | undefined;
  for (const entry of entries) {
    const { mountPoint } = entry;
    const onTheWay = mountPoint === '/' || path === mountPoint || path.startsWith(`${mountPoint}/`);
    if (onTheWay && mountPoint.length >= (found?.mountPoint.length ?? 0)) found = entry;
  }
  return found;
}
