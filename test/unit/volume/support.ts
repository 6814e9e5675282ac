/**
 * Owns: a scratch directory per test file, pods with volumes, objects, and a mount namespace check.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigMap, ConfigObjects, Secret } from '../../../src/api/config-object.ts';
import type { Container, Pod, PodSpec } from '../../../src/api/pod.ts';
import type { Volume } from '../../../src/api/volume.ts';
import { createLogger } from '../../../src/util/log.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { VolumeManager } from '../../../src/volume/manager.ts';
import type { VolumeManagerDeps } from '../../../src/volume/manager.ts';
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

export function managerOf(rootDir: string, more: Partial<VolumeManagerDeps> = {}): VolumeManager {
  const logger = createLogger({ sink: { write: () => true }, level: 'error', wall: () => 0 });
  const allocatable = { cpuMilli: 2000, memory: 64 * MIB, ephemeralStorage: 0 };
  return new VolumeManager({
    ...{ rootDir, clock: new SystemClock(), logger, allocatable },
    events: { event: () => undefined },
    persistentVolumeDir: join(rootDir, '../claims'),
    ...more,
  });
}

/** ConfigMaps and Secrets of namespace `default` that a test puts there and takes away. */
export class Objects implements ConfigObjects {
  readonly #configMaps = new Map<string, ConfigMap>();
  readonly #secrets = new Map<string, Secret>();

  configMap(namespace: string, name: string): ConfigMap | undefined {
    return namespace === 'default' ? this.#configMaps.get(name) : undefined;
  }

  secret(namespace: string, name: string): Secret | undefined {
    return namespace === 'default' ? this.#secrets.get(name) : undefined;
  }

  putConfigMap(
    name: string,
    data: Record<string, string>,
    { binaryData = {}, immutable = false }: { binaryData?: object; immutable?: boolean } = {},
  ): void {
    this.#configMaps.set(name, {
      ...{ namespace: 'default', name, immutable },
      data: new Map(Object.entries(data)),
      binaryData: new Map<string, Uint8Array>(Object.entries(binaryData)),
    });
  }

  putSecret(name: string, data: Record<string, string>): void {
    const bytes = Object.entries(data).map(([key, text]) => [key, Buffer.from(text)] as const);
    const type = 'Opaque';
    const secret = { namespace: 'default', name, type, data: new Map(bytes), immutable: false };
    this.#secrets.set(name, secret);
  }

  remove(name: string): void {
    this.#configMaps.delete(name);
    this.#secrets.delete(name);
  }
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
