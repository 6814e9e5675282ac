/**
 * Owns: telling cgroup v1 from v2. A hybrid node, with v2 mounted beside v1 but without controllers,
 * counts as v1.
 */
import fs from 'node:fs';
import path from 'node:path';

export type CgroupVersion = 1 | 2;

/** `CGROUP2_SUPER_MAGIC` of statfs(2). */
const CGROUP2_MAGIC = 0x63677270;

/** Version of the hierarchy mounted at `root`; a recorded tree counts by the files it has. */
export function cgroupVersion(root: string): CgroupVersion {
  try {
    if (fs.statfsSync(root).type === CGROUP2_MAGIC) return 2;
  } catch {
    // No such directory: nothing can be limited, whatever the version.
  }
  return fs.existsSync(path.join(root, 'cgroup.controllers')) ? 2 : 1;
}
