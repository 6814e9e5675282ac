import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { containerdConfig, podNetworkConfig } from '../../../src/containerd/config.ts';
import type { ContainerdSettings } from '../../../src/containerd/config.ts';

const SETTINGS: ContainerdSettings = {
  root: '/r/root',
  state: '/r/state',
  socket: '/r/containerd.sock',
  sandboxImage: 'registry.k8s.io/pause:3.6',
  cgroupDriver: 'cgroupfs',
  restrictOomScoreAdj: true,
  snapshotter: 'overlayfs',
  cniBinDir: '/usr/lib/cni',
  cniConfDir: '/r/net.d',
  registryConfigDir: '/r/certs.d',
};

/** `[table]` → its lines `key = value`. */
function tables(toml: string): Map<string, string[]> {
  const out = new Map<string, string[]>([['', []]]);
  let current = '';
  for (const line of toml.split('\n')) {
    const table = /^\[(.+)\]$/.exec(line);
    if (table) out.set((current = table[1] ?? ''), []);
    else if (line !== '' && !line.startsWith('#')) out.get(current)?.push(line);
  }
  return out;
}

const CRI = 'plugins."io.containerd.grpc.v1.cri"';

test('everything that containerd keeps lies where the settings say', () => {
  const t = tables(containerdConfig(SETTINGS));
  assert.ok(t.get('')?.includes('version = 2'));
  assert.ok(t.get('')?.includes('root = "/r/root"'));
  assert.ok(t.get('')?.includes('state = "/r/state"'));
  assert.deepEqual(t.get('grpc'), ['address = "/r/containerd.sock"']);
  assert.deepEqual(t.get(`${CRI}.cni`), ['bin_dir = "/usr/lib/cni"', 'conf_dir = "/r/net.d"']);
  assert.deepEqual(t.get(`${CRI}.registry`), ['config_path = "/r/certs.d"']);
  assert.ok(t.get(CRI)?.includes('netns_mounts_under_state_dir = true'));
  assert.ok(t.get(CRI)?.includes('stream_server_address = "127.0.0.1"'));
  assert.ok(t.get(`${CRI}.containerd.runtimes.runc.options`)?.includes('Root = "/r/state/runc"'));
});

test('what depends on the host follows the settings', () => {
  const options = `${CRI}.containerd.runtimes.runc.options`;
  const systemd = tables(
    containerdConfig({
      ...SETTINGS,
      cgroupDriver: 'systemd',
      restrictOomScoreAdj: false,
      snapshotter: 'native',
      sandboxImage: 'example.test/pause:1',
    }),
  );
  assert.ok(systemd.get(options)?.includes('SystemdCgroup = true'));
  assert.ok(systemd.get(CRI)?.includes('restrict_oom_score_adj = false'));
  assert.ok(systemd.get(CRI)?.includes('sandbox_image = "example.test/pause:1"'));
  assert.ok(systemd.get(`${CRI}.containerd`)?.includes('snapshotter = "native"'));
  const cgroupfs = tables(containerdConfig(SETTINGS));
  assert.ok(cgroupfs.get(options)?.includes('SystemdCgroup = false'));
  assert.ok(cgroupfs.get(CRI)?.includes('restrict_oom_score_adj = true'));
});

test('the snapshotter in use is never among the disabled plugins, CRI is required', () => {
  for (const snapshotter of ['overlayfs', 'native'] as const) {
    const lines = tables(containerdConfig({ ...SETTINGS, snapshotter })).get('') ?? [];
    const disabled = lines.find((line) => line.startsWith('disabled_plugins')) ?? '';
    assert.ok(disabled.includes('snapshotter.v1.'));
    assert.ok(!disabled.includes(`"io.containerd.snapshotter.v1.${snapshotter}"`));
    assert.ok(lines.includes('required_plugins = ["io.containerd.grpc.v1.cri"]'));
  }
});

test('no path can end its string or begin a line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 30 }), (root) => {
      const lines = containerdConfig({ ...SETTINGS, root }).split('\n');
      assert.equal(lines.length, containerdConfig(SETTINGS).split('\n').length);
      const value = /^root = (".*")$/.exec(lines[2] ?? '')?.[1] ?? '';
      assert.equal(JSON.parse(value), root);
    }),
  );
});

test('the pod network is a bridge with leases below state and host ports', () => {
  const network = { name: 'n', bridge: 'br0', subnet: '10.9.0.0/24', leaseDir: '/r/state/leases' };
  const config = JSON.parse(podNetworkConfig(network)) as {
    name: string;
    plugins: {
      type: string;
      bridge?: string;
      forceAddress?: boolean;
      ipam?: object;
      capabilities?: object;
    }[];
  };
  assert.equal(config.name, 'n');
  assert.deepEqual(
    config.plugins.map((plugin) => plugin.type),
    ['bridge', 'portmap'],
  );
  assert.equal(config.plugins[0]?.bridge, 'br0');
  assert.equal(config.plugins[0]?.forceAddress, true);
  assert.deepEqual(config.plugins[0]?.ipam, {
    type: 'host-local',
    dataDir: '/r/state/leases',
    ranges: [[{ subnet: '10.9.0.0/24' }]],
    routes: [{ dst: '0.0.0.0/0' }],
  });
  assert.deepEqual(config.plugins[1]?.capabilities, { portMappings: true });
});
