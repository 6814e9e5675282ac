/**
 * Owns: what a volume looks like once it is set up, for those who turn it into mounts of containers.
 * Leaves to others: setting up (manager.ts), CRI mounts (runtime/).
 */

/**
 * - `path`: a path of the host. `readOnly` and `selinuxRelabel` are attributes of the volume kind
 *   (spec: volumes.md §3–5); a mount may ask for read-only on top of it.
 * - `device`: a block device of the host, for `volumeDevices` alone.
 * - `image`: nothing on the host; the runtime mounts the image itself (spec: volumes.md §8).
 */
export type MountedVolume =
  | { kind: 'path'; hostPath: string; readOnly: boolean; selinuxRelabel: boolean }
  | { kind: 'device'; hostPath: string; readOnly: boolean }
  | { kind: 'image'; reference: string };
