/**
 * Owns: a scratch directory per test file, pods with volumes, and a mount namespace check.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container, Pod, PodSpec } from '../../../src/api/pod.ts';
import type { Volume } from '../../../src/api/volume.ts';
import { createLogger } from '../../../src/util/log.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { VolumeManager } from '../../../src/volume/manager.ts';
import { mountsBelow, parseMountInfo } from '../../../src/volume/mount-table.ts';
import type { MountEntry } from '../../../src/volume/mount-table.ts';

export const signal = new AbortController().signal;
export const MIB = 1024 * 1024;

/** Why tests that mount cannot run here, or false. */
export const cannotMount: string | false =
  process.getuid?.() === 0 ? probeMount() : 'mounting needs root';

function probeMount(): string | false {
  const dir = mkdtempSync(join(tmpdir(), 'islet-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', dir], { stdio: 'pipe' });
    execFileSync('umount', [dir]);
    return false;
  } catch {
    return 'this machine lets nobody mount';
  } finally {
    rmSync(dir, { recursive: true });
  }
}

export class Scratch {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), 'islet-volume-')));
  readonly root = join(this.dir, 'root');

  mounts(): MountEntry[] {
    return mountsBelow(parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')), this.dir);
  }

  remove(): void {
    for (const { mountPoint } of this.mounts()) execFileSync('umount', ['-l', mountPoint]);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export function managerOf(rootDir: string, memory = 64 * MIB): VolumeManager {
  const logger = createLogger({ sink: { write: () => true }, level: 'error', wall: () => 0 });
  const allocatable = { cpuMilli: 2000, memory, ephemeralStorage: 0 };
  return new VolumeManager({ rootDir, clock: new SystemClock(), logger, allocatable });
}

export function containerOf(
  mounts: Container['volumeMounts'],
  more: Partial<Container> = {},
): Container {
  return {
    name: 'c',
    image: 'busybox',
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    ...(mounts === undefined ? {} : { volumeMounts: mounts }),
    ...more,
  };
}

/** A pod whose one container mounts every volume at `/<name>`. */
export function podWith(volumes: Volume[], spec: Partial<PodSpec> = {}, uid = 'u1'): Pod {
  const mounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p-node', namespace: 'default', uid },
    spec: {
      containers: [containerOf(mounts)],
      volumes,
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      ...spec,
    },
    status: {},
  };
}
