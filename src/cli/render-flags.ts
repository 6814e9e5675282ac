/**
 * Owns: the options of `islet render` as data, and the reference node that they change. Apart from
 * render-node.ts, so that `--help` and the other commands load nothing for it.
 */
import type { FlagSpec } from '../config/flags.ts';

export const REFERENCE = {
  name: 'edge1',
  rootDir: '/var/lib/kubelet',
  ip: '10.0.0.2',
  cpus: 2,
  memory: 24_683_620 * 1024,
  resolvConf: '/etc/resolv.conf',
  resolvConfText: 'nameserver 192.0.2.53\nsearch example.internal\noptions ndots:1\n',
} as const;

export const NODE_KINDS = ['reference', 'this'] as const;

export const NODE_FLAGS: readonly FlagSpec[] = [
  {
    flags: '--config <file>',
    description: 'KubeletConfiguration and IsletConfiguration of the node',
  },
  {
    flags: '--hostname-override <name>',
    description: `node name (default ${REFERENCE.name}; with --node this the host name)`,
  },
  {
    flags: '--root-dir <dir>',
    description: `root directory of the agent (default ${REFERENCE.rootDir}; with --node this /var/lib/islet)`,
  },
  { flags: '--node-ip <addresses>', description: `node address (default ${REFERENCE.ip})` },
  { flags: '--node-cpus <count>', description: `processor cores (default ${REFERENCE.cpus})` },
  {
    flags: '--node-memory <quantity>',
    description: `memory (default ${REFERENCE.memory / 1024}Ki)`,
  },
  {
    flags: '--cgroup-version <1|2>',
    description: 'cgroup hierarchy, with swap accounting (default 1)',
  },
  {
    flags: '--resolv-conf <file>',
    description: `resolver file of the node (default: nameserver 192.0.2.53, search example.internal)`,
  },
];
