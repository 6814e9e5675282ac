/**
 * Owns: the text of the configuration of a containerd of our own, and of its pod network.
 * Invariants: pure; the same settings give the same text, so a changed text means that a running
 * containerd has to be started anew.
 * Leaves to others: what this host offers (host.ts), where the files live (paths.ts), running it.
 *
 * Version 2 is what containerd 1.6 and 1.7 speak; containerd 2.x still reads it and converts it.
 */

export type CgroupDriver = 'cgroupfs' | 'systemd';
export type Snapshotter = 'overlayfs' | 'native';

/** All paths absolute. */
export interface ContainerdSettings {
  /** Persistent data: images, snapshots, metadata. */
  readonly root: string;
  /** What means nothing after a reboot: bundles, mounts, network namespaces, runc's state. */
  readonly state: string;
  readonly socket: string;
  readonly sandboxImage: string;
  readonly cgroupDriver: CgroupDriver;
  /** True where this process may not lower its oom_score_adj; else no pod would start there. */
  readonly restrictOomScoreAdj: boolean;
  readonly snapshotter: Snapshotter;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  /** Directory of `<registry host>/hosts.toml` files (mirrors, CAs); may be empty. */
  readonly registryConfigDir: string;
}

export interface PodNetwork {
  /** Name of the network, also the mark on its iptables rules. */
  readonly name: string;
  /** Name of the bridge device, at most 15 characters. */
  readonly bridge: string;
  /** IPv4 subnet in CIDR form; its first address is the gateway. */
  readonly subnet: string;
  /** Where host-local keeps its leases; below `state`, so that a power cut leaks no address. */
  readonly leaseDir: string;
}

/** Plugins that a node of static pods never uses; each costs memory or writes outside our root. */
const UNUSED_PLUGINS = [
  'io.containerd.internal.v1.opt',
  'io.containerd.internal.v1.restart',
  'io.containerd.internal.v1.tracing',
  'io.containerd.monitor.v1.cgroups',
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.blockfile',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.tracing.processor.v1.otlp',
] as const;

const CRI = 'io.containerd.grpc.v1.cri';

/** The text of `config.toml`. */
export function containerdConfig(settings: ContainerdSettings): string {
  const other = settings.snapshotter === 'overlayfs' ? 'native' : 'overlayfs';
  const disabled = [...UNUSED_PLUGINS, `io.containerd.snapshotter.v1.${other}`];
  return [
    '# Written by islet at every start; changes made here are lost.',
    'version = 2',
    `root = ${text(settings.root)}`,
    `state = ${text(settings.state)}`,
    // Without its CRI plugin containerd would run on and never answer; this way it ends and says why.
    `required_plugins = [${text(CRI)}]`,
    `disabled_plugins = [${disabled.map(text).join(', ')}]`,
    ...table(['grpc'], { address: settings.socket }),
    ...table(['debug'], { level: 'info' }),
    ...table(['plugins', CRI], {
      sandbox_image: settings.sandboxImage,
      restrict_oom_score_adj: settings.restrictOomScoreAdj,
      netns_mounts_under_state_dir: true,
      disable_tcp_service: true,
      stream_server_address: '127.0.0.1',
      stream_server_port: '0',
    }),
    ...table(['plugins', CRI, 'cni'], {
      bin_dir: settings.cniBinDir,
      conf_dir: settings.cniConfDir,
    }),
    ...table(['plugins', CRI, 'registry'], { config_path: settings.registryConfigDir }),
    ...table(['plugins', CRI, 'containerd'], {
      snapshotter: settings.snapshotter,
      default_runtime_name: 'runc',
    }),
    ...table(['plugins', CRI, 'containerd', 'runtimes', 'runc'], {
      runtime_type: 'io.containerd.runc.v2',
    }),
    // A runc root of our own: another containerd on this host keeps its state out of our way.
    ...table(['plugins', CRI, 'containerd', 'runtimes', 'runc', 'options'], {
      SystemdCgroup: settings.cgroupDriver === 'systemd',
      Root: `${settings.state}/runc`,
    }),
    '',
  ].join('\n');
}

/** The text of the CNI conflist: a bridge with masquerading, host-local addresses, host ports. */
export function podNetworkConfig(network: PodNetwork): string {
  const plugins = [
    {
      type: 'bridge',
      bridge: network.bridge,
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      // The bridge is ours alone: after a change of the subnet it gets the new address, where the
      // plugin would otherwise refuse every pod.
      forceAddress: true,
      ipam: {
        type: 'host-local',
        dataDir: network.leaseDir,
        ranges: [[{ subnet: network.subnet }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ];
  return `${JSON.stringify({ cniVersion: '0.4.0', name: network.name, plugins }, null, 2)}\n`;
}

function table(path: readonly string[], values: Record<string, string | boolean>): string[] {
  const name = path.map((key) => (/^[A-Za-z0-9_-]+$/.test(key) ? key : text(key))).join('.');
  const lines = Object.entries(values).map(
    ([key, value]) => `${key} = ${typeof value === 'string' ? text(value) : String(value)}`,
  );
  return ['', `[${name}]`, ...lines];
}

/** A TOML basic string: JSON's escapes are a subset of TOML's, but TOML escapes DEL too. */
function text(value: string): string {
  return JSON.stringify(value).replaceAll('\x7f', '\\u007f');
}
