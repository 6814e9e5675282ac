/** Owns: statistics over recorded trees, a fake runtime and pods made by hand. */
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { Stats } from '../../../src/stats/reader.ts';
import { ManualClock } from '../../support/clock.ts';
import { sandboxConfigOf, containerConfigOf } from '../../support/cri-configs.ts';
import { connect } from '../../support/fake-cri-client.ts';
import type { Connected } from '../../support/fake-cri-client.ts';
import { pod, up } from '../server/support.ts';
import { cgroupV1, cgroupV2, netDev, procFiles, put, temporary } from './support.ts';
import type { CgroupNumbers } from './support.ts';

export const NUMBERS: CgroupNumbers = {
  usage: 1_000_000,
  inactiveFile: 200_000,
  cpu: 5_000_000,
  tasks: 3,
};
export const STARTED = '2026-01-01T00:00:00Z';

export class World {
  readonly clock = new ManualClock();
  readonly signal = new AbortController().signal;
  readonly root: string;
  readonly cri: Connected;
  readonly stats: Stats;
  pods: Pod[] = [];
  readonly #version: 1 | 2;

  private constructor(t: TestContext, version: 1 | 2, cri: Connected) {
    this.root = temporary(t);
    this.cri = cri;
    this.#version = version;
    for (const [name, text] of Object.entries(procFiles())) put(this.root, `proc/${name}`, text);
    put(this.root, 'node/file', 'x');
    this.cgroup('/', { ...NUMBERS, usage: 2_000_000_000 });
    this.cgroup('/kubepods', NUMBERS);
    const stop = new AbortController();
    t.after(() => stop.abort(new Error('the test ends')));
    this.stats = new Stats({
      source: {
        pods: () => this.pods,
        cgroupOf: ({ metadata }) => `/kubepods/pod${metadata.uid}`,
        logDir: ({ metadata }) => path.join(this.root, 'node/logs', metadata.uid),
        hostsFile: ({ metadata }) => path.join(this.root, 'node', metadata.uid, 'etc-hosts'),
        volumes: ({ metadata: { uid }, spec }) =>
          (spec.volumes ?? []).map(({ name, persistentVolumeClaim: claim }) => {
            const dir = path.join(this.root, 'node', uid, name);
            if (!claim) return { name, dir, how: 'walk', local: true };
            return { name, dir, how: 'statfs', local: false, claim: claim.claimName };
          }),
      },
      runtime: cri.runtime,
      imageFs: (signal) => cri.images.fsUsage(signal),
      rootDir: path.join(this.root, 'node'),
      cgroupVersion: version,
      podsCgroup: '/kubepods',
      volumePeriodMs: 60_000,
      clock: this.clock,
      random: () => 0,
      stop: stop.signal,
      cgroupRoot: path.join(this.root, 'cgroup'),
      procDir: path.join(this.root, 'proc'),
    });
  }

  static async make(t: TestContext, version: 1 | 2): Promise<World> {
    return new World(t, version, await connect(t));
  }

  cgroup(name: string, numbers: CgroupNumbers): void {
    const files = this.#version === 1 ? cgroupV1 : cgroupV2;
    for (const [file, text] of Object.entries(files(name, numbers)))
      put(this.root, `cgroup/${file}`, text);
  }

  /** A running pod with one container `app`, in the runtime too; gives the container's id. */
  async run(name: string, cgroups = true): Promise<{ uid: string; id: string }> {
    const uid = `uid-${name}`;
    const { runtime } = this.cri;
    const config = sandboxConfigOf(uid, name);
    const sandbox = await runtime.runPodSandbox(config, '');
    const id = await runtime.createContainer(sandbox, containerConfigOf(uid, 'app'), config);
    await runtime.startContainer(id);
    const containerStatuses = [up('app', { containerID: `containerd://${id}`, image: 'app:1' })];
    this.pods.push(
      pod(name, { status: { phase: 'Running', startTime: STARTED, containerStatuses } }),
    );
    if (!cgroups) return { uid, id };
    const cgroup = `/kubepods/pod${uid}`;
    this.cgroup(cgroup, { ...NUMBERS, usage: 3_000_000, limit: 4_000_000 });
    this.cgroup(`${cgroup}/cri-containerd-${id}.scope`, NUMBERS);
    const procs = `${cgroup}/cri-containerd-${id}.scope/cgroup.procs`;
    put(this.root, this.#version === 1 ? `cgroup/memory${procs}` : `cgroup${procs}`, '4711\n');
    put(this.root, 'proc/4711/net/dev', netDev({ lo: 1, eth0: 55 }));
    return { uid, id };
  }
}
